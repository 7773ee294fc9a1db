"""What the breadth of an index does not settle: filters, and the rows after its last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mirror_index.index.ann import AnnIndex
from mirror_index.index.exact import Ranked, exact_search
from mirror_index.index.halves import later_rows
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

FEW_ROWS = 256
"""Up to so many matching rows, comparing with all of them costs less than any index."""
_MOST_BREADTH = 32.0
_GRAPH_POWER = 0.62
_LISTS_POWER = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Per query the best of the rows that the index lacks, and how many of these are allowed."""

    ranked: Sequence[Ranked]
    found: int


def least_breadth(index: AnnIndex, allowed: IntVector | None) -> float:
    """Return how many times as broadly to search where a filter leaves out most rows.

    A graph or a list then leads to fewer rows that count. To keep to a recall of 0.95 with a fifth,
    a tenth, a twentieth and a fiftieth of the rows, HNSW takes 2, 3.7, 5.7 and 11 times the
    breadth, inverted lists take 1.25, 1.25, 1.6 and 2.1 times; at a million rows, 1.5 times reached
    0.948 with a tenth of them, so lists get a little more.
    """
    if allowed is None or not len(allowed):
        return 1.0
    power = _GRAPH_POWER if index.knob == "efSearch" else _LISTS_POWER
    return max(1.0, min(_MOST_BREADTH, math.pow(index.rows / len(allowed), power)))


def tail_of(
    queries: FloatMatrix, vectors: UnitRows, start: int, k: int, allowed: IntVector | None
) -> Tail:
    """Return the best rows after the index's last for each query."""
    if allowed is None:
        later = later_rows(vectors, start)
        if not len(later):
            return Tail(ranked=(), found=0)
        found = exact_search(queries, later, k)
        ranked = [Ranked(rows=one.rows + start, scores=one.scores) for one in found]
        return Tail(ranked=ranked, found=len(later))
    rows = allowed[np.searchsorted(allowed, start) :]
    if not len(rows):
        return Tail(ranked=(), found=0)
    return Tail(ranked=exact_search(queries, vectors, k, rows), found=len(rows))
