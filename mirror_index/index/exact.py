"""Exact search: blocked products over the vector file, then scores in float64.

The float32 product only proposes: its error for unit rows is below 1e-6, so the top k and
everything within `MARGIN` of the k-th hold the true top k. The second scoring sums each row on its
own, so a score depends on nothing but the query and the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.vectors import FloatMatrix, IntVector

MARGIN = 1e-5
SCORE_DECIMALS = 6
_QUERY_BLOCK = 256
_BLOCK_FLOATS = 1 << 22
_GATHER_SHARE = 0.3

ScoreVector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Rows found for one query, best first, equal scores by row number.

    Attributes:
        rows: (n,) int64 row numbers in the vector file.
        scores: (n,) float64 cosines in [-1, 1].
    """

    rows: IntVector
    scores: ScoreVector


def rescore(query: FloatMatrix, rows: FloatMatrix) -> ScoreVector:
    """Return the cosines of one (dim,) unit query with (n, dim) unit rows, in float64.

    Scores are given to six decimals: float32 vectors of one text encoded in batches of different
    shapes agree no further, and a tie must not be decided by that noise.
    """
    products = rows.astype(np.float64) * query.astype(np.float64)
    exact: ScoreVector = np.add.reduce(products, axis=1)
    scores: ScoreVector = np.clip(np.round(exact, SCORE_DECIMALS), -1.0, 1.0) + 0.0
    return scores


def rank(query: FloatMatrix, vectors: FloatMatrix, candidates: IntVector) -> Ranked:
    """Score `candidates` (row numbers) of `vectors` exactly and order them."""
    rows = np.sort(candidates)
    # Not np.unique, which loads numpy.ma and costs a cold start 30 ms.
    rows = rows[np.concatenate(([True], rows[1:] != rows[:-1]))] if len(rows) else rows
    scores = rescore(query, vectors[rows])
    order = np.lexsort((rows, -scores))
    return Ranked(rows=rows[order], scores=scores[order])


def exact_search(
    queries: FloatMatrix, vectors: FloatMatrix, k: int, allowed: IntVector | None = None
) -> list[Ranked]:
    """Return for each query its best rows: the true top `k`, and every row that ties with the k-th.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) float32 unit rows, usually a memory map.
        k: rows wanted; fewer come back only when fewer are allowed.
        allowed: ascending row numbers that may be found; None for all.
    """
    found: list[Ranked] = []
    for start in range(0, len(queries), _QUERY_BLOCK):
        block = np.ascontiguousarray(queries[start : start + _QUERY_BLOCK])
        candidates = _candidates(block, vectors, k, allowed)
        found.extend(
            cut(rank(query, vectors, rows), k)
            for query, rows in zip(block, candidates, strict=True)
        )
    return found


def cut(ranked: Ranked, k: int) -> Ranked:
    """Drop what scores below the k-th; ties with it stay, to be ordered by record id."""
    if len(ranked.rows) <= k:
        return ranked
    keep = int(np.searchsorted(-ranked.scores, -ranked.scores[k - 1], side="right"))
    return Ranked(rows=ranked.rows[:keep], scores=ranked.scores[:keep])


def _candidates(
    queries: FloatMatrix, vectors: FloatMatrix, k: int, allowed: IntVector | None
) -> list[IntVector]:
    """Return per query the rows whose float32 score reaches the k-th best less `MARGIN`."""
    floor = np.full(len(queries), -np.inf, dtype=np.float32)
    kept: list[list[IntVector]] = [[] for _ in range(len(queries))]
    kept_scores: list[list[FloatMatrix]] = [[] for _ in range(len(queries))]
    for rows, scores in _score_blocks(queries, vectors, allowed):
        if len(rows) > k:
            best = np.partition(scores, len(rows) - k, axis=1)[:, len(rows) - k]
            floor = np.maximum(floor, best - np.float32(MARGIN))
        for index, column in _at_least(scores, floor):
            kept[index].append(rows[column])
            kept_scores[index].append(scores[index, column])
            floor[index] = _raise_floor(kept[index], kept_scores[index], k, floor[index])
    empty = np.empty(0, dtype=np.int64)
    return [np.concatenate(parts) if parts else empty for parts in kept]


def _at_least(scores: FloatMatrix, floor: FloatMatrix) -> Iterator[tuple[int, IntVector]]:
    where, columns = np.nonzero(scores >= floor[:, None])
    bounds = np.searchsorted(where, np.arange(len(scores) + 1))
    for index in range(len(scores)):
        if bounds[index] < bounds[index + 1]:
            yield index, columns[bounds[index] : bounds[index + 1]]


def _raise_floor(
    rows: list[IntVector], scores: list[FloatMatrix], k: int, floor: np.float32
) -> np.float32:
    """Merge what was kept for one query and drop what can no longer be among the top k."""
    merged_rows, merged = np.concatenate(rows), np.concatenate(scores)
    if len(merged) > k:
        best = np.partition(merged, len(merged) - k)[len(merged) - k]
        floor = np.maximum(floor, best - np.float32(MARGIN))
        keep = merged >= floor
        merged_rows, merged = merged_rows[keep], merged[keep]
    rows[:], scores[:] = [merged_rows], [merged]
    return floor


def _score_blocks(
    queries: FloatMatrix, vectors: FloatMatrix, allowed: IntVector | None
) -> Iterator[tuple[IntVector, FloatMatrix]]:
    """Yield (row numbers, (q, rows) float32 scores) over all allowed rows, block by block."""
    total = len(vectors)
    size = max(1024, _BLOCK_FLOATS // max(1, max(len(queries), vectors.shape[1])))
    if allowed is not None and len(allowed) < _GATHER_SHARE * total:
        for start in range(0, len(allowed), size):
            rows = allowed[start : start + size]
            yield rows, queries @ vectors[rows].T
        return
    for start in range(0, total, size):
        stop = min(start + size, total)
        scores = queries @ vectors[start:stop].T
        rows = np.arange(start, stop, dtype=np.int64)
        if allowed is not None:
            first, last = np.searchsorted(allowed, (start, stop))
            if last - first < len(rows):
                rows = allowed[first:last]
                scores = scores[:, rows - start]
        if len(rows):
            yield rows, scores
