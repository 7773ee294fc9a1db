"""Exact search: blocked products over the vector file, then scores in float64.

The float32 product only proposes: its error for unit rows is below 1e-6 (rows stored as float16
add `halves.NEARNESS`), so the top k and everything within a margin of the k-th hold the true top k.
The second scoring sums each row on its own, so a score depends on nothing but the query and the
row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.index.halves import near_error, near_rows
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

MARGIN = 1e-5
SCORE_DECIMALS = 6
_QUERY_BLOCK = 256
_BLOCK_FLOATS = 1 << 22
_GATHER_SHARE = 0.3
_RESCORE_FLOATS = 1 << 20

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
    return _rescore_pairs(query[None, :], rows)


def _rescore_pairs(queries: FloatMatrix, rows: FloatMatrix) -> ScoreVector:
    products = rows.astype(np.float64) * queries.astype(np.float64)
    exact: ScoreVector = np.add.reduce(products, axis=1)
    rounded = np.round(exact, SCORE_DECIMALS)
    scores: ScoreVector = np.minimum(np.maximum(rounded, -1.0), 1.0) + 0.0  # + 0.0: no minus zero
    return scores


def rank(query: FloatMatrix, vectors: UnitRows, candidates: IntVector) -> Ranked:
    """Score `candidates` (row numbers) of `vectors` exactly and order them."""
    rows = np.sort(candidates)
    # Not np.unique, which loads numpy.ma and costs a cold start 30 ms.
    repeated = rows[1:] == rows[:-1]
    if repeated.any():
        rows = rows[np.concatenate(([True], ~repeated))]
    scores = rescore(query, vectors[rows])
    order = np.argsort(-scores, kind="stable")
    return Ranked(rows=rows[order], scores=scores[order])


def rank_all(
    queries: FloatMatrix, vectors: UnitRows, candidates: Sequence[IntVector]
) -> list[Ranked]:
    """Rank the candidates of each query; many short lists cost little more than one long one."""
    if len(candidates) == 1:
        return [rank(queries[0], vectors, candidates[0])]
    ranked: list[Ranked] = []
    counts = np.fromiter((len(rows) for rows in candidates), np.int64, len(candidates))
    for first, last in _groups(counts, _RESCORE_FLOATS // vectors.shape[1]):
        ranked.extend(_rank_group(queries[first:last], vectors, candidates[first:last]))
    return ranked


def _groups(counts: IntVector, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of lists with at most `most` rows together, or of one list."""
    first, rows = 0, 0
    for place, count in enumerate(counts.tolist()):
        if rows + count > most and place > first:
            yield first, place
            first, rows = place, 0
        rows += count
    if first < len(counts):
        yield first, len(counts)


def _rank_group(
    queries: FloatMatrix, vectors: UnitRows, candidates: Sequence[IntVector]
) -> Iterator[Ranked]:
    counts = np.fromiter((len(rows) for rows in candidates), np.int64, len(candidates))
    owners = np.repeat(np.arange(len(candidates)), counts)
    rows = np.concatenate(candidates)
    scores = _rescore_pairs(queries[owners], vectors[rows])
    order = np.lexsort((rows, -scores, owners))
    rows, scores, owners = rows[order], scores[order], owners[order]
    # A repeated row has the same score both times and so stands beside itself.
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = (rows[1:] != rows[:-1]) | (owners[1:] != owners[:-1])
    rows, scores, owners = rows[fresh], scores[fresh], owners[fresh]
    bounds = np.searchsorted(owners, np.arange(len(candidates) + 1)).tolist()
    for start, stop in itertools.pairwise(bounds):
        yield Ranked(rows=rows[start:stop], scores=scores[start:stop])


def exact_search(
    queries: FloatMatrix, vectors: UnitRows, k: int, allowed: IntVector | None = None
) -> list[Ranked]:
    """Return for each query its best rows: the true top `k`, and every row that ties with the k-th.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) unit rows, usually a memory map.
        k: rows wanted; fewer come back only when fewer are allowed.
        allowed: ascending row numbers that may be found; None for all.
    """
    found: list[Ranked] = []
    for start in range(0, len(queries), _QUERY_BLOCK):
        block = np.ascontiguousarray(queries[start : start + _QUERY_BLOCK])
        candidates = _candidates(block, vectors, k, allowed)
        found.extend(cut(ranked, k) for ranked in rank_all(block, vectors, candidates))
    return found


def cut(ranked: Ranked, k: int) -> Ranked:
    """Drop what scores below the k-th; ties with it stay, to be ordered by record id."""
    if len(ranked.rows) <= k:
        return ranked
    keep = int(np.searchsorted(-ranked.scores, -ranked.scores[k - 1], side="right"))
    return Ranked(rows=ranked.rows[:keep], scores=ranked.scores[:keep])


def margin_of(vectors: UnitRows) -> np.float32:
    """Return how far below the k-th float32 score a row of the true top k may lie."""
    return np.float32(MARGIN + 2 * near_error(vectors))


def nearest(query: FloatMatrix, vectors: UnitRows, rows: IntVector, k: int) -> IntVector:
    """Return those of `rows` that may be among the `k` best of them, ties with the k-th included.

    Args:
        query: (dim,) float32 unit row.
        vectors: (n, dim) unit rows.
        rows: row numbers, not repeated.
        k: rows wanted.
    """
    if len(rows) <= k:
        return rows
    scores = near_rows(vectors, rows) @ query
    best = np.partition(scores, len(rows) - k)[len(rows) - k]
    near: IntVector = rows[scores >= best - margin_of(vectors)]
    return near


def _candidates(
    queries: FloatMatrix, vectors: UnitRows, k: int, allowed: IntVector | None
) -> list[IntVector]:
    """Return per query the rows whose float32 score reaches the k-th best less the margin."""
    margin = margin_of(vectors)
    floor = np.full(len(queries), -np.inf, dtype=np.float32)
    kept: list[list[IntVector]] = [[] for _ in range(len(queries))]
    kept_scores: list[list[FloatMatrix]] = [[] for _ in range(len(queries))]
    for rows, scores in _score_blocks(queries, vectors, allowed):
        if len(rows) > k:
            best = np.partition(scores, len(rows) - k, axis=1)[:, len(rows) - k]
            floor = np.maximum(floor, best - margin)
        for index, column in _at_least(scores, floor):
            kept[index].append(rows[column])
            kept_scores[index].append(scores[index, column])
            floor[index] = _raise_floor(kept[index], kept_scores[index], k, floor[index], margin)
    empty = np.empty(0, dtype=np.int64)
    return [np.concatenate(parts) if parts else empty for parts in kept]


def _at_least(scores: FloatMatrix, floor: FloatMatrix) -> Iterator[tuple[int, IntVector]]:
    where, columns = np.nonzero(scores >= floor[:, None])
    bounds = np.searchsorted(where, np.arange(len(scores) + 1))
    for index in range(len(scores)):
        if bounds[index] < bounds[index + 1]:
            yield index, columns[bounds[index] : bounds[index + 1]]


def _raise_floor(
    rows: list[IntVector],
    scores: list[FloatMatrix],
    k: int,
    floor: np.float32,
    margin: np.float32,
) -> np.float32:
    """Merge what was kept for one query and drop what can no longer be among the top k."""
    merged_rows, merged = np.concatenate(rows), np.concatenate(scores)
    if len(merged) > k:
        best = np.partition(merged, len(merged) - k)[len(merged) - k]
        floor = np.maximum(floor, best - margin)
        keep = merged >= floor
        merged_rows, merged = merged_rows[keep], merged[keep]
    rows[:], scores[:] = [merged_rows], [merged]
    return floor


def _score_blocks(
    queries: FloatMatrix, vectors: UnitRows, allowed: IntVector | None
) -> Iterator[tuple[IntVector, FloatMatrix]]:
    """Yield (row numbers, (q, rows) float32 scores) over all allowed rows, block by block."""
    total = len(vectors)
    size = max(1024, _BLOCK_FLOATS // max(1, max(len(queries), vectors.shape[1])))
    if allowed is not None and len(allowed) < _GATHER_SHARE * total:
        for start in range(0, len(allowed), size):
            rows = allowed[start : start + size]
            yield rows, queries @ near_rows(vectors, rows).T
        return
    for start in range(0, total, size):
        stop = min(start + size, total)
        scores = queries @ near_rows(vectors, slice(start, stop)).T
        rows = np.arange(start, stop, dtype=np.int64)
        if allowed is not None:
            first, last = np.searchsorted(allowed, (start, stop))
            if last - first < len(rows):
                rows = allowed[first:last]
                scores = scores[:, rows - start]
        if len(rows):
            yield rows, scores
