"""What a step of either stage is made of: passes, AdamW, the learning rate's course."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from mirror_index.config import MirrorConfig
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import TuningError
from mirror_index.tuning.passes import Passes
from mirror_index.tuning.processes import Team


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimisation:
    """The settings a run uses, after synonyms and hardware are known.

    Attributes:
        tau: temperature.
        learning_rate: peak learning rate.
        warmup: share of steps it rises over; 0 keeps it constant.
        batch_size: pairs a step.
        steps: optimiser steps in all.
        dtype: "float32" or "bfloat16" (mixed precision; the weights stay float32).
    """

    tau: float
    learning_rate: float
    warmup: float
    batch_size: int
    steps: int
    dtype: str


class Stepper:
    """The passes and the optimiser of a stage; puts the trained model into training mode.

    Args:
        encoder: whose body the passes run.
        model: what is trained: the body, with or without a head.
        config: weight decay and micro-batch.
        settings: of the stage.
        team: the processes that share the work.
        seed: of the noise of the passes.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        model: torch.nn.Module,
        config: MirrorConfig,
        settings: Optimisation,
        team: Team,
        *,
        seed: int,
    ) -> None:
        self.model = model
        self.settings = settings
        self.team = team
        self.passes = Passes(
            encoder,
            mixed=settings.dtype == "bfloat16",
            micro_batch=config.micro_batch,
            seed=seed,
            processes=team.size,
        )
        self.optimiser = torch.optim.AdamW(
            parameter_groups(model, config.weight_decay), lr=settings.learning_rate, fused=True
        )
        model.train()

    def take(self, number: int, backward: Callable[[], float]) -> float:
        """Take step `number`, from 0; `backward` adds the gradients and returns the loss.

        Raises:
            TuningError: the device has too little memory.
        """
        try:
            self.optimiser.zero_grad(set_to_none=True)
            loss = backward()
            self.team.add_up_gradients(
                [weights for group in self.optimiser.param_groups for weights in group["params"]]
            )
            rate = self.settings.learning_rate * rate_factor(number, self.settings)
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.optimiser.step()
        except torch.OutOfMemoryError as error:
            raise TuningError(
                "the device has too little memory for this batch",
                value=self.settings.batch_size,
                remedy="Use --micro-batch 16, a smaller batch size or --device cpu",
            ) from error
        return loss


def parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Split parameters into matrices, which decay, and biases and norms, which do not."""
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": weight_decay},
        {"params": [w for w in weights if w.ndim <= 1], "weight_decay": 0.0},
    ]


def rate_factor(step: int, optimisation: Optimisation) -> float:
    """Return the share of the peak learning rate at a step that counts from 0."""
    if optimisation.warmup == 0:
        return 1.0
    rise = max(1, round(optimisation.warmup * optimisation.steps))
    if step < rise:
        return (step + 1) / rise
    return max(0.0, (optimisation.steps - step) / max(1, optimisation.steps - rise))
