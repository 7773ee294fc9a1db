"""Exact search: blocked products over the vector file, then scores in float64.

The float32 product only proposes: its error for unit rows is below 1e-6 (rows stored as float16
add `halves.NEARNESS`), so the top k and everything within a margin of the k-th hold the true top k.
The second scoring sums each row on its own, so a score depends on nothing but the query and the
row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirror_index.index.few import SCORE_DECIMALS, SCORE_UNITS, rank_few
from mirror_index.index.halves import near_error, near_rows
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

MARGIN = 1e-5
_QUERY_BLOCK = 256
_BLOCK_FLOATS = 1 << 22
_GATHER_SHARE = 0.3
_GATHER_ROWS = 1024
"""Scattered rows that are copied at once: they stay in the second-level cache."""
_RUN = 64
"""Scores of which only the highest is looked at first."""
_FEW = 64
"""Up to so many rows are put in order as a list."""
_LOWEST = np.finfo(np.float32).min
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The rows found for one query, and the path that found them.

    `path` is "exact", "candidates" (proposed by an approximate index) or "widened" (the index had
    to be asked again, or a deeper search went on where the first ended).
    """

    ranked: Ranked
    path: str


def rescore(query: FloatMatrix, rows: FloatMatrix) -> ScoreVector:
    """Return the cosines of one (dim,) unit query with (n, dim) unit rows, in float64.

    Scores are given to six decimals: float32 vectors of one text encoded in batches of different
    shapes agree no further, and a tie must not be decided by that noise.
    """
    products = np.vecdot(rows.astype(np.float64), query.astype(np.float64))
    scores: ScoreVector = products.round(SCORE_DECIMALS)
    np.minimum(np.maximum(scores, -1.0, out=scores), 1.0, out=scores)
    scores += 0.0  # no minus zero
    return scores


def rank(query: FloatMatrix, vectors: UnitRows, candidates: IntVector) -> Ranked:
    """Score `candidates` (row numbers) of `vectors` exactly and order them."""
    few = rank_few(query, vectors, candidates) if len(candidates) <= _FEW else None
    if few is not None:
        ordered = np.array([row for _, row in few], dtype=np.int64)
        return Ranked(rows=ordered, scores=np.array([-score for score, _ in few]) / SCORE_UNITS)
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
    """Rank the candidates of each query."""
    pairs = zip(queries, candidates, strict=True)
    return [rank(query, vectors, rows) for query, rows in pairs]


def exact_search(
    queries: FloatMatrix,
    vectors: UnitRows,
    k: int,
    allowed: IntVector | None = None,
    gathered: FloatMatrix | None = None,
) -> list[Ranked]:
    """Return for each query its best rows: the true top `k`, and every row that ties with the k-th.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) unit rows, usually a memory map.
        k: rows wanted; fewer come back only when fewer are allowed.
        allowed: ascending row numbers that may be found; None for all.
        gathered: what `near_rows` gives for `allowed`, where it is there already.
    """
    found: list[Ranked] = []
    k = min(k, len(vectors) if allowed is None else len(allowed))  # a wish may be any number
    for start in range(0, len(queries) if k else 0, _QUERY_BLOCK):
        block = np.ascontiguousarray(queries[start : start + _QUERY_BLOCK])
        candidates = _candidates(block, vectors, k, allowed, gathered)
        found.extend(cut(ranked, k) for ranked in rank_all(block, vectors, candidates))
    nothing = Ranked(rows=np.empty(0, dtype=np.int64), scores=np.empty(0))
    return found or [nothing] * len(queries)


def cut(ranked: Ranked, k: int) -> Ranked:
    """Drop what scores below the k-th; ties with it stay, to be ordered by record id."""
    if len(ranked.rows) <= k:
        return ranked
    keep = k
    if ranked.scores[k] == ranked.scores[k - 1]:
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
    queries: FloatMatrix,
    vectors: UnitRows,
    k: int,
    allowed: IntVector | None,
    gathered: FloatMatrix | None,
) -> list[IntVector]:
    """Return per query the rows whose float32 score reaches the k-th best less the margin.

    Of each run of scores the highest is looked at first: the k-th of these bounds the k-th of all
    from below, and runs that do not reach the bound are not looked into.
    """
    margin = margin_of(vectors)
    tops = np.full((len(queries), k), _LOWEST, dtype=np.float32)
    floor = tops[:, 0]
    kept: list[_Scored] = []
    for rows, runs in _score_blocks(queries, vectors, allowed, gathered):
        best = np.fmax.reduce(runs, axis=1)  # a damaged row (NaN) hides only itself
        pool = best if best.shape[1] > k else np.fmax(runs, _LOWEST).reshape(len(queries), -1)
        pool = np.concatenate([tops, pool], axis=1)
        tops = np.partition(pool, pool.shape[1] - k, axis=1)[:, -k:]
        floor = np.maximum(tops.min(axis=1) - margin, _LOWEST)
        owner, run = np.nonzero(best >= floor[:, None])
        inner = runs[owner, :, run]
        hit, place = np.nonzero(inner >= floor[owner, None])
        found = rows[place * best.shape[1] + run[hit]]
        kept.append(_Scored(owner[hit], found, inner[hit, place]))
    return _by_owner(kept, floor)


class _Scored(NamedTuple):
    """Rows that may be among the best of their owners (queries), and their float32 scores."""

    owners: IntVector
    rows: IntVector
    scores: FloatMatrix


def _by_owner(found: Sequence[_Scored], floor: FloatMatrix) -> list[IntVector]:
    """Return the rows of each owner that reach its floor."""
    if not found:
        return [np.empty(0, dtype=np.int64)] * len(floor)
    owners, rows, scores = (np.concatenate(part) for part in zip(*found, strict=True))
    keep = scores >= floor[owners]
    owners, rows = owners[keep], rows[keep]
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(1, len(floor)))
    return np.split(rows[order], bounds)


def _score_blocks(
    queries: FloatMatrix,
    vectors: UnitRows,
    allowed: IntVector | None,
    gathered: FloatMatrix | None,
) -> Iterator[tuple[IntVector, FloatMatrix]]:
    """Yield row numbers and their (q, `_RUN`, runs) float32 scores, -inf past the last row.

    A run is every so many-th row. The scores stand in one buffer that the next block overwrites.
    """
    total = len(vectors)
    size = max(1024, _BLOCK_FLOATS // max(1, max(len(queries), vectors.shape[1])))
    size = -(-min(size, max(1, total)) // _RUN) * _RUN
    buffer = np.empty((len(queries), size), dtype=np.float32)
    few = allowed is not None and len(allowed) < _GATHER_SHARE * total
    if allowed is not None and (few or gathered is not None):
        size = size if gathered is not None else min(size, _GATHER_ROWS)
        for start in range(0, len(allowed), size):
            rows = allowed[start : start + size]
            block = near_rows(vectors, rows) if gathered is None else gathered[start : start + size]
            yield rows, _runs(queries, block, buffer)
        return
    for start in range(0, total, size):
        rows = np.arange(start, min(start + size, total), dtype=np.int64)
        runs = _runs(queries, near_rows(vectors, slice(start, start + size)), buffer)
        if allowed is not None:
            first, last = np.searchsorted(allowed, (start, start + len(rows)))
            others = np.ones(size, dtype=np.bool_)
            others[allowed[first:last] - start] = False
            buffer[:, others] = -np.inf
        yield rows, runs


def _runs(queries: FloatMatrix, block: FloatMatrix, buffer: FloatMatrix) -> FloatMatrix:
    count = len(block)
    width = -(-count // _RUN) * _RUN
    np.matmul(queries, block.T, out=buffer[:, :count])
    buffer[:, count:width] = -np.inf
    return buffer[:, :width].reshape(len(queries), _RUN, -1)
