"""Several processes that tune together: who this one is, and the one sum that they share.

``torchrun`` and ``accelerate launch`` start the processes and name them in the environment; alone,
a process is a team of one. See docs/adr for why plain torch.distributed is enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import distributed


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """The processes of a run.

    Attributes:
        rank: number of this process, from 0.
        size: number of processes.
    """

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and reports."""
        return self.rank == 0

    def add_up(self, tensor: torch.Tensor) -> None:
        """Replace `tensor`, in place, by its sum over all processes, the same bits in each."""
        if self.size > 1:
            distributed.all_reduce(tensor)

    def add_up_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Sum the gradients over all processes; what has none in any process stays without."""
        if self.size == 1:
            return
        device = parameters[0].device
        present = torch.tensor([p.grad is not None for p in parameters], device=device).float()
        self.add_up(present)
        used = [p for p, count in zip(parameters, present.tolist(), strict=True) if count]
        if not used:
            return
        flat = torch.cat([_gradient(parameter).flatten() for parameter in used])
        self.add_up(flat)
        parts = torch.split(flat, [parameter.numel() for parameter in used])
        for parameter, part in zip(used, parts, strict=True):
            parameter.grad = part.view_as(parameter)


def _gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


ALONE = Team()


def launched() -> bool:
    """Return whether a launcher started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def device_of(wish: str) -> str:
    """Return the device of this process: each has a GPU of its own where GPUs are used."""
    if not launched() or wish == "cpu" or ":" in wish or not torch.cuda.is_available():
        return wish
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"


@contextmanager
def team(device: torch.device) -> Iterator[Team]:
    """Join the processes that a launcher started, and leave them at the end.

    The keys of the meeting point carry the number of restarts: after one, the addresses that the
    failed processes left there would be taken for those of the new ones.
    """
    if not launched():
        yield ALONE
        return
    from torch.distributed.distributed_c10d import PrefixStore  # some builds of torch lack them
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://"))
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=PrefixStore(f"restart-{restart}", store),
        rank=rank,
        world_size=size,
    )
    try:
        yield Team(rank=rank, size=size)
    finally:
        distributed.destroy_process_group()
