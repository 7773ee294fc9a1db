"""The training loop: batches of pairs through the encoder, InfoNCE, AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass

import numpy as np
import torch

from mirror_index.config import MirrorConfig, Precision
from mirror_index.encoding.batching import token_budget_batches
from mirror_index.encoding.pooling import pool
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import TuningError, UsageError
from mirror_index.progress import Reporter
from mirror_index.tuning.noise import drophead, dropout
from mirror_index.tuning.objective import mirror_loss
from mirror_index.tuning.pairs import Pair, PairSampler

_CPU_TOKENS = 2048


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What happened in training: the loss of every step, and whether all numbers stayed finite."""

    losses: tuple[float, ...]
    finite: bool


def plan(sampler: PairSampler, config: MirrorConfig, device: torch.device) -> Optimisation:
    """Choose the settings of a run.

    The synonym settings are used where synonyms lead (`PairSampler.synonyms_lead`); fewer would not
    carry a learning rate that is made for them.

    Raises:
        UsageError: a precision that cannot be trained in.
    """
    synonyms = sampler.synonyms_lead
    pairs = sampler.synonym_pairs + sampler.identity_pairs
    return Optimisation(
        tau=config.synonym_tau if synonyms else config.tau,
        learning_rate=config.synonym_learning_rate if synonyms else config.learning_rate,
        warmup=config.synonym_warmup if synonyms else config.warmup,
        batch_size=min(config.batch_size, pairs),
        steps=config.epochs * len(batch_bounds(pairs, config.batch_size)),
        dtype=_training_dtype(config.precision, device),
    )


def batch_bounds(pairs: int, batch_size: int) -> list[tuple[int, int]]:
    """Return start and stop of every batch; a single pair left over joins the batch before it."""
    starts = list(range(0, pairs, batch_size))
    if len(starts) > 1 and pairs - starts[-1] < 2:
        starts.pop()
    return list(zip(starts, [*starts[1:], pairs], strict=True))


def train(
    encoder: TransformerEncoder,
    sampler: PairSampler,
    config: MirrorConfig,
    optimisation: Optimisation,
    reporter: Reporter,
) -> Trace:
    """Tune the encoder's model in place.

    Seeded: on the CPU two runs give the same weights bit for bit, and the caller's random state is
    left as it was. Training stops at the first loss that is not finite.

    Raises:
        TuningError: the device has too little memory, or drophead does not know the model.
    """
    devices = [encoder.device] if encoder.device.type == "cuda" else []
    generator = np.random.default_rng(config.seed)
    losses: list[float] = []
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices))
        torch.manual_seed(config.seed)
        stack.enter_context(dropout(encoder.model, config.dropout))
        stack.enter_context(drophead(encoder.model, config.drophead))
        stack.callback(encoder.model.eval)
        advance = stack.enter_context(reporter.stage("tune", optimisation.steps, "steps"))
        step = _Step(encoder, sampler, config, optimisation)
        try:
            for batch in _batches(sampler, config, generator):
                losses.append(step(batch))
                advance(1)
                if not math.isfinite(losses[-1]):
                    break
        except torch.OutOfMemoryError as error:
            raise TuningError(
                "the device has too little memory for this batch",
                value=config.batch_size,
                remedy="Use a smaller batch size or --device cpu",
            ) from error
    finite = math.isfinite(losses[-1]) and all(
        bool(torch.isfinite(weights).all()) for weights in encoder.model.parameters()
    )
    return Trace(losses=tuple(losses), finite=finite)


class _Step:
    """One optimiser step on a batch of pairs."""

    def __init__(
        self,
        encoder: TransformerEncoder,
        sampler: PairSampler,
        config: MirrorConfig,
        optimisation: Optimisation,
    ) -> None:
        self._encoder = encoder
        self._sampler = sampler
        self._tau = optimisation.tau
        self._mixed = optimisation.dtype == "bfloat16"
        self._optimiser = torch.optim.AdamW(
            parameter_groups(encoder.model, config.weight_decay),
            lr=optimisation.learning_rate,
            fused=True,
        )
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimiser, lambda step: rate_factor(step, optimisation)
        )
        encoder.model.train()

    def __call__(self, batch: Sequence[Pair]) -> float:
        relations = self._sampler.relations(batch)
        device = self._encoder.device
        rows = self.forward([pair.left for pair in batch] + [pair.right for pair in batch])
        loss = mirror_loss(
            rows,
            torch.from_numpy(relations.positives).to(device),
            torch.from_numpy(relations.negatives).to(device),
            self._tau,
        )
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        self._schedule.step()
        return float(loss.detach())

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Return (len(texts), dim) unit rows with gradient.

        On a GPU this is one padded pass. On a CPU the batch is cut into passes over texts of like
        length, which skips most of the padding and changes nothing else: rows meet only in the
        loss.
        """
        encoder = self._encoder
        ids = encoder.tokenise(texts).ids
        budget = _CPU_TOKENS if encoder.device.type == "cpu" else len(ids) * max(map(len, ids))
        parts: list[torch.Tensor] = []
        order: list[int] = []
        for chunk in token_budget_batches(ids, budget, encoder.tokenizer.pad_token_id or 0):
            mask = torch.from_numpy(chunk.mask).to(encoder.device)
            inputs = torch.from_numpy(chunk.ids).to(encoder.device)
            with self._arithmetic():
                hidden = encoder.model(input_ids=inputs, attention_mask=mask).last_hidden_state
            parts.append(pool(hidden, mask, encoder.recipe.pooling))
            order += chunk.rows.tolist()
        return torch.cat(parts)[torch.from_numpy(np.argsort(order)).to(encoder.device)]

    def _arithmetic(self) -> AbstractContextManager[object]:
        if not self._mixed:
            return nullcontext()
        return torch.autocast(self._encoder.device.type, dtype=torch.bfloat16)


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


def _batches(
    sampler: PairSampler, config: MirrorConfig, generator: np.random.Generator
) -> Iterator[list[Pair]]:
    for _ in range(config.epochs):
        pairs = sampler.epoch(generator)
        for start, stop in batch_bounds(len(pairs), config.batch_size):
            yield pairs[start:stop]


def _training_dtype(precision: Precision, device: torch.device) -> str:
    if precision is Precision.FLOAT16:
        raise UsageError(
            "tuning runs in float32 or bfloat16",
            value=precision.value,
            remedy="Use --precision auto, float32 or bfloat16",
        )
    if precision is Precision.AUTO:
        return "bfloat16" if _has_bfloat16(device) else "float32"
    return str(precision.value)


def _has_bfloat16(device: torch.device) -> bool:
    """Whether the hardware itself multiplies bfloat16 matrices; emulation is slow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    ask: Callable[[], dict[str, object]] = getattr(
        torch.cpu, "get_capabilities", dict
    )  # new in 2.9
    capabilities = ask()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_tile"))
