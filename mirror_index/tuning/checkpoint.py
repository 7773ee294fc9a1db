"""A training run on disk: one file from which it goes on exactly where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from mirror_index import durable
from mirror_index.errors import CollectionError, TuningError, UsageError
from mirror_index.progress import Reporter
from mirror_index.tuning.processes import Team

FILE = "checkpoint.safetensors"
MLM_FILE = "masked-language-model.safetensors"
FORMAT_VERSION = 1
_WEIGHT, _STATE = "weight/", "optimiser/"
_SHOWN = 3


def partial_folder(output: Path) -> Path:
    """Return where the checkpoint of a run lies while `output` is not there yet."""
    return output.with_name(f"{output.name}.partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Saves a run now and then, and takes it up again.

    All that is random in a run follows from its seed and the number of the step, so weights,
    optimiser state and the losses so far are the whole state.

    Attributes:
        folder: made when first needed; holds one file.
        every: steps between two saves; 0 saves nothing, yet goes on from what is there.
        request: what the run is: settings, base encoder, texts. Plain JSON values.
        file: of this stage of the run.
    """

    folder: Path
    every: int
    request: Mapping[str, Any]
    file: str = FILE

    def due(self, step: int) -> bool:
        """Return whether to save after so many steps."""
        return self.every > 0 and step % self.every == 0

    def save(
        self, model: torch.nn.Module, optimiser: torch.optim.Optimizer, losses: Sequence[float]
    ) -> None:
        """Write the state; at every instant the file is whole: the one before, or this one.

        Raises:
            TuningError: the system refused to write.
        """
        tensors: dict[str, torch.Tensor] = {}
        for name, weight in model.named_parameters():
            tensors[_WEIGHT + name] = weight.detach().contiguous()
            for key, value in optimiser.state.get(weight, {}).items():
                tensors[f"{_STATE}{key}/{name}"] = value.detach().contiguous()
        about = {"format_version": FORMAT_VERSION, "request": self.request, "losses": list(losses)}
        target = self.folder / self.file
        beside = target.with_suffix(".writing")
        try:
            durable.make_folder(self.folder)
            save_file(tensors, beside, metadata={"run": json.dumps(about, allow_nan=False)})
            durable.sync_file(beside)
            durable.rename(beside, target)
        except (OSError, SafetensorError, CollectionError) as error:
            raise TuningError(
                f"the checkpoint cannot be written: {error}",
                where=str(target),
                remedy="Free space and run it again, or go without: --checkpoint-every 0",
            ) from error

    def load(self, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> tuple[float, ...]:
        """Put the saved state into `model` and `optimiser`; return the losses of the steps done.

        Without a checkpoint nothing changes and there are none.

        Raises:
            UsageError: the checkpoint is another run's.
            TuningError: it cannot be read.
        """
        path = self.folder / self.file
        if not path.is_file():
            return ()
        try:
            with safe_open(path, framework="pt") as file:
                about = json.loads((file.metadata() or {})["run"])
                self._check(about)
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise TuningError(
                f"the checkpoint cannot be read: {error}",
                where=str(path),
                remedy="Remove its folder to start from the beginning",
            ) from error
        _restore(model, optimiser, tensors)
        return tuple(about["losses"])

    def remove(self) -> None:
        """Remove the checkpoints of all stages, and their folder when nothing else is in it."""
        for name in (FILE, MLM_FILE):
            for path in (self.folder / name, (self.folder / name).with_suffix(".writing")):
                durable.remove(path)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            durable.remove(self.folder)

    def _check(self, about: Mapping[str, Any]) -> None:
        if about["format_version"] != FORMAT_VERSION:
            raise ValueError(f"format {about['format_version']}, not {FORMAT_VERSION}")
        changes = differences(about["request"], self.request)
        if changes:
            raise UsageError(
                "a run with other settings or texts was interrupted here: "
                + ", ".join(changes[:_SHOWN])
                + (f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""),
                where=str(self.folder),
                remedy="Run it with its own settings to finish it, or remove the folder",
            )


def go_on(
    checkpoint: Checkpoint | None,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    steps: int,
    *,
    team: Team,
    reporter: Reporter,
) -> list[float]:
    """Take a checkpoint up, the same one in every process; return the losses of the steps done.

    Raises:
        TuningError: it cannot be read, or the processes do not see the same one.
        UsageError: it is another run's.
    """
    if checkpoint is None:
        return []
    losses = list(checkpoint.load(model, optimiser))
    seen = torch.tensor([float(len(losses))], device=next(model.parameters()).device)
    team.add_up(seen)
    if seen.item() != team.size * len(losses):
        raise TuningError(
            "the processes do not see the same checkpoint",
            where=str(checkpoint.folder),
            remedy="Write to a folder that all machines share",
        )
    if losses:
        reporter.note(f"Going on after step {len(losses)} of {steps}: {checkpoint.folder}")
    return losses


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say how two requests differ, a phrase a setting."""
    return [
        f"{name} was {before.get(name)!r}, is {now.get(name)!r}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def _restore(
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    tensors: Mapping[str, torch.Tensor],
) -> None:
    weights = dict(model.named_parameters())
    for key, tensor in tensors.items():
        if key.startswith(_WEIGHT):
            weight = weights[key.removeprefix(_WEIGHT)]
            with torch.no_grad():
                weight.copy_(tensor)
            continue
        kind, _, name = key.removeprefix(_STATE).partition("/")
        weight = weights[name]
        optimiser.state[weight][kind] = tensor.to(weight.device)
