"""Approximate search that keeps its word: exact scores, and as many as asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mirror_index.index.ann import AnnIndex
from mirror_index.index.exact import Ranked, cut, exact_search, rank
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

_WIDENINGS = (1, 4, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximate:
    """The rows found for one query and the path: "candidates", "widened" or "exact"."""

    ranked: Ranked
    path: str


def approximate_search(
    queries: FloatMatrix,
    vectors: FloatMatrix,
    index: AnnIndex,
    k: int,
    allowed: IntVector | None = None,
) -> list[Approximate]:
    """Return `min(k, allowed rows)` rows or more (ties) for each query, exactly scored.

    The index proposes at least `index.fetch` candidates, so that the best ten are the same for
    every small k; the rows it does not hold yet are searched exactly; a query left with too few is
    asked again, wider, and at last answered exactly.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) float32 unit rows; the index holds the first of them.
        index: the approximate index.
        k: rows wanted.
        allowed: ascending row numbers that may be found; None for all.
    """
    tail = _tail(queries, vectors, index.rows, k, allowed)
    mask = _mask(index.rows, allowed)
    needed = min(k, len(vectors) if allowed is None else len(allowed))
    found: dict[int, Approximate] = {}
    waiting = list(range(len(queries)))
    for widen in _WIDENINGS:
        if not waiting:
            break
        fetch = max(index.fetch, 2 * k) * widen
        proposed = index.candidates(queries[waiting], fetch, mask, widen=widen)
        path = "candidates" if widen == 1 else "widened"
        for query, rows in zip(waiting, proposed, strict=True):
            ranked = rank(queries[query], vectors, np.concatenate([rows, tail[query]]))
            if len(ranked.rows) >= needed:
                found[query] = Approximate(ranked=cut(ranked, k), path=path)
        waiting = [query for query in waiting if query not in found]
    if waiting:
        exact = exact_search(queries[waiting], vectors, k, allowed)
        for query, ranked in zip(waiting, exact, strict=True):
            found[query] = Approximate(ranked=ranked, path="exact")
    return [found[query] for query in range(len(queries))]


def _tail(
    queries: FloatMatrix, vectors: FloatMatrix, start: int, k: int, allowed: IntVector | None
) -> Sequence[IntVector]:
    """Return the best rows after the index's last for each query."""
    if allowed is None:
        rows = np.arange(start, len(vectors), dtype=np.int64)
    else:
        rows = allowed[np.searchsorted(allowed, start) :]
    if not len(rows):
        return [rows] * len(queries)
    return [ranked.rows for ranked in exact_search(queries, vectors, k, rows)]


def _mask(rows: int, allowed: IntVector | None) -> BoolVector | None:
    if allowed is None:
        return None
    mask = np.zeros(rows, dtype=np.bool_)
    mask[allowed[: np.searchsorted(allowed, rows)]] = True
    return mask
