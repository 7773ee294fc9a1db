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


def token_budget_batches(
    tokens: Sequence[Sequence[int]], budget: int, pad_id: int
) -> Iterator[Batch]:
    """Yield batches of at most `budget` tokens, padding included, from short texts to long ones.

    A single text longer than the budget makes a batch of its own.
    """
    lengths = np.fromiter((len(ids) for ids in tokens), dtype=np.int64, count=len(tokens))
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop - start + 1) * lengths[order[stop]] <= budget:
            stop += 1
        yield _pad(order[start:stop], tokens, int(lengths[order[stop - 1]]), pad_id)
        start = stop


def _pad(rows: IntVector, tokens: Sequence[Sequence[int]], length: int, pad_id: int) -> Batch:
    ids = np.full((len(rows), length), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for position, row in enumerate(rows):
        text = tokens[row]
        ids[position, : len(text)] = text
        mask[position, : len(text)] = 1
    return Batch(rows, ids, mask)
