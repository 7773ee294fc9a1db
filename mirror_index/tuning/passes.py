"""How a batch goes through the model: in passes, each with a random state of its own.

The noise of a pass follows from the seed, the step and the pass alone. So a pass can be run again
and gives the same rows, whichever process runs it: gradient caching, several processes and resumed
runs all rest on that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mirror_index.encoding.batching import Batch, token_budget_batches
from mirror_index.encoding.pooling import pool
from mirror_index.encoding.transformer import TransformerEncoder

CPU_TOKENS = 2048
"""Tokens of a pass on a CPU, padding included."""

_FREE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Pass:
    """Texts of like length that go through the model together, and the seed of their noise."""

    batch: Batch
    seed: int

    @property
    def rows(self) -> torch.Tensor:
        """Positions of the texts in the whole batch."""
        return torch.from_numpy(self.batch.rows)


class Passes:
    """Cuts batches into passes and runs them.

    Args:
        encoder: its model is in training mode.
        mixed: bfloat16 arithmetic over float32 weights.
        micro_batch: pairs of a pass at most; None leaves the size to the device.
        seed: of the run.
        processes: at least so many passes a batch, where it has so many texts.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        *,
        mixed: bool,
        micro_batch: int | None = None,
        seed: int = 0,
        processes: int = 1,
    ) -> None:
        self.encoder = encoder
        self._mixed = mixed
        self._micro_batch = micro_batch
        self._seed = seed
        self._processes = processes

    def cut(self, texts: Sequence[str], step: int) -> list[Pass]:
        """Return the passes of a step over `texts`, from short texts to long ones.

        On a GPU they are few and large, at least one for each process. On a CPU they are small and
        over texts of like length, which skips most of the padding. Nothing else changes: rows meet
        only in the loss.
        """
        ids = self.encoder.tokenise(texts).ids
        budget = CPU_TOKENS
        if self.encoder.device.type == "cuda":
            budget = -(-len(ids) * max(map(len, ids)) // self._processes)
        batches = token_budget_batches(ids, budget, self.encoder.tokenizer.pad_token_id or 0)
        pieces = [piece for batch in batches for piece in self._pieces(batch)]
        return [
            Pass(batch, noise_seed(self._seed, step, place)) for place, batch in enumerate(pieces)
        ]

    def run(self, one: Pass) -> torch.Tensor:
        """Return the (texts, dim) unit rows of a pass: the same ones every time."""
        mask = torch.from_numpy(one.batch.mask).to(self.encoder.device)
        return pool(self.states(one), mask, self.encoder.recipe.pooling)

    def states(self, one: Pass) -> torch.Tensor:
        """Return the (texts, length, dim) last hidden states of a pass."""
        device = self.encoder.device
        self._noise(one.seed)
        mask = torch.from_numpy(one.batch.mask).to(device)
        inputs = torch.from_numpy(one.batch.ids).to(device)
        found: torch.Tensor = self.encoder.model(
            input_ids=inputs, attention_mask=mask
        ).last_hidden_state
        return found

    def arithmetic(self) -> AbstractContextManager[object]:
        """Enter the arithmetic of training; while inside, weights are converted only once."""
        if not self._mixed:
            return nullcontext()
        return torch.autocast(self.encoder.device.type, dtype=torch.bfloat16)

    def plain_arithmetic(self) -> AbstractContextManager[object]:
        """Leave the arithmetic of training for a backward pass, and keep its converted weights."""
        if not self._mixed:
            return nullcontext()
        return torch.autocast(self.encoder.device.type, enabled=False)

    def too_large(self, passes: Sequence[Pass]) -> bool:
        """Return whether the passes of this process must be run twice instead of being kept.

        That is so when a micro-batch is asked for, else when what the backward pass needs of them
        would take more than half of the free memory.
        """
        if self._micro_batch is not None:
            return True
        needed = sum(
            activation_bytes(self.encoder.model.config, one, self._mixed) for one in passes
        )
        free = free_memory(self.encoder.device)
        return free is not None and needed > _FREE_SHARE * free

    def _noise(self, seed: int) -> None:
        torch.default_generator.manual_seed(seed)
        if self.encoder.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _pieces(self, batch: Batch) -> Iterator[Batch]:
        size = len(batch.rows) if self._micro_batch is None else 2 * self._micro_batch
        for start in range(0, len(batch.rows), size):
            stop = start + size
            yield Batch(batch.rows[start:stop], batch.ids[start:stop], batch.mask[start:stop])


def noise_seed(seed: int, step: int, place: int) -> int:
    """Return the seed of the noise of one pass: unlike that of every other one."""
    (word,) = np.random.SeedSequence([seed, step, place]).generate_state(1, np.uint64)
    return int(word) >> 1  # torch takes 63 bits everywhere


def activation_bytes(config: object, one: Pass, mixed: bool) -> int:
    """Estimate what the backward pass keeps of a forward pass.

    ``length * texts * hidden * layers * (34 + 5 * heads * length / hidden)`` bytes in 16-bit
    arithmetic (Korthikanti et al., arXiv 2205.05198, equation 2), and twice that in 32-bit.
    """
    texts, length = one.batch.ids.shape
    hidden, layers, heads = (
        int(getattr(config, name))
        for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")
    )
    size: int = texts * length * layers * (34 * hidden + 5 * heads * length)
    return size if mixed else 2 * size


def free_memory(device: torch.device) -> int | None:
    """Return the free bytes of a GPU or of this machine; None where the system does not say."""
    if device.type == "cuda":
        free: int = torch.cuda.mem_get_info(device)[0]
        return free
    info = Path("/proc/meminfo")
    if info.is_file():
        for line in info.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None
