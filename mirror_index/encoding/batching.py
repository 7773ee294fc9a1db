"""Token-budget batches over length-sorted texts. No torch here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.vectors import IntVector


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of the input that share one forward pass.

    Attributes:
        rows: (batch,) positions in the input.
        ids: (batch, length) int64 token ids, padded on the right.
        mask: (batch, length) int64, 1 for real tokens.
    """

    rows: IntVector
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]


FULL_ENOUGH = 0.3
"""Share of the budget from which a batch ends where the length changes, to hold no padding."""


def token_budget_batches(
    tokens: Sequence[Sequence[int]], budget: int, pad_id: int
) -> Iterator[Batch]:
    """Yield batches of at most `budget` tokens, padding included, from short texts to long ones.

    A batch that is full enough takes no longer text in, so most batches of short texts hold no
    padding at all. A single text longer than the budget makes a batch of its own.
    """
    lengths = np.fromiter((len(ids) for ids in tokens), dtype=np.int64, count=len(tokens))
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order].tolist()
    start = 0
    for stop in range(1, len(ordered) + 1):
        if stop < len(ordered) and _goes_on(stop - start, ordered[stop - 1], ordered[stop], budget):
            continue
        yield _pad(order[start:stop], tokens, ordered[stop - 1], pad_id)
        start = stop


def _goes_on(texts: int, length: int, following: int, budget: int) -> bool:
    """Whether a batch of so many texts, the longest of `length`, takes the following one in."""
    if (texts + 1) * following > budget:
        return False
    return following == length or texts * length < FULL_ENOUGH * budget


def _pad(rows: IntVector, tokens: Sequence[Sequence[int]], length: int, pad_id: int) -> Batch:
    ids = np.full((len(rows), length), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for position, row in enumerate(rows):
        text = tokens[row]
        ids[position, : len(text)] = text
        mask[position, : len(text)] = 1
    return Batch(rows, ids, mask)
