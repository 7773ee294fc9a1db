"""Approximate search where what FAISS answers will do: no more is done to it than is needed.

Between two searches of a graph the processor's caches hold the graph, and a call of numpy costs two
or three times what it costs by itself. So lists stand for arrays where there are few rows.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import neg
from typing import NamedTuple

import numpy as np

from mirror_index.index.ann import AnnIndex, Nearby
from mirror_index.index.exact import MARGIN, Answer, cut, rank
from mirror_index.index.tails import FEW_ROWS, least_breadth, tail_of
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector, UnitRows

_ONE = np.float32(1.0)
_NO_SCORE = -2.0


def quick_answer(
    query: FloatMatrix, vectors: UnitRows, index: AnnIndex, k: int, allowed: IntVector | None
) -> Answer | None:
    """Return what `approximate_search` gives a query by itself whose candidates come in order.

    None where they do not, or there is more to look at.
    """
    depth, matching = index.depths(k)[0], len(vectors) if allowed is None else len(allowed)
    whole = index.faithful and index.selects and index.rows == len(vectors)
    if not whole or matching <= max(FEW_ROWS, depth):
        return None
    scores, rows = index.nearby(query, depth, allowed, widen=least_breadth(index, allowed))
    best, numbers = scores[0].tolist(), rows[0].tolist()
    damaged = min(numbers) < 0 or max(numbers) >= index.rows
    if damaged or len(best) <= k or sorted(best, reverse=True) != best:
        return None
    near = bisect_right(best, MARGIN - best[k - 1], key=neg)
    return Answer(ranked=cut(rank(query[0], vectors, rows[0, :near]), k), path="candidates")


class Plain(NamedTuple):
    """(q, k) rows, best first, equal scores by row, and their cosines as the index gives them.

    `unsure` says for which of the queries that is not enough; None stands for none of them.
    """

    rows: IntVector
    scores: FloatMatrix
    unsure: BoolVector | None


def plain_search(
    queries: FloatMatrix,
    vectors: UnitRows,
    index: AnnIndex,
    k: int,
    allowed: IntVector | None = None,
) -> Plain | None:
    """Return what `approximate_search` does, as FAISS scored it, or None where that will not do.

    It does where FAISS holds the rows as they are stored: its float32 cosines are right to 1e-6.
    A query is left unsure when it gets too few rows, or one past these may tie with the k-th.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) unit rows; the index holds the first of them.
        index: the approximate index.
        k: rows wanted.
        allowed: ascending row numbers that may be found; None for all.
    """
    depth, *deeper = index.depths(k)
    matching = len(vectors) if allowed is None else len(allowed)
    whole = index.faithful and index.selects and isinstance(vectors, np.ndarray)
    if deeper or not whole or matching <= max(FEW_ROWS, depth):
        return None
    scores, rows = index.nearby(queries, depth, allowed, widen=least_breadth(index, allowed))
    if rows.shape[1] <= k:
        return None
    if index.rows == len(vectors) and _one_in_order(scores, rows, k, index.rows):
        return Plain(rows[:, :k], scores[:, :k], None)
    unsure = _incomplete(rows, index.rows)
    last = scores[:, -1]
    if index.rows < len(vectors):
        scores, rows = _with_tail(Nearby(scores, rows), queries, vectors, index.rows, k, allowed)
    if not (scores[:, :k] > scores[:, 1 : k + 1]).all():
        tied = _settle_ties(scores, rows, k, last)
        unsure = tied if unsure is None else unsure | tied
    best = np.ascontiguousarray(rows[:, :k])
    return Plain(best, np.minimum(scores[:, :k], _ONE), unsure)


def _one_in_order(scores: FloatMatrix, rows: IntVector, k: int, count: int) -> bool:
    """Say whether a query by itself has all rows in order; lists cost less than calls of numpy."""
    if len(rows) != 1:
        return False
    numbers, best = rows[0].tolist(), scores[0, : k + 1].tolist()
    if min(numbers) < 0 or max(numbers) >= count or best[0] > 1.0:
        return False
    return sorted(set(best), reverse=True) == list(best)


def _incomplete(rows: IntVector, count: int) -> BoolVector | None:
    """Return which queries have a row that is not there, None where all of all are there."""
    numbers = rows.view(np.uint64)  # -1 is a large number, too
    return None if numbers.max(initial=0) < count else numbers.max(axis=1) >= count


def _settle_ties(scores: FloatMatrix, rows: IntVector, k: int, last: FloatMatrix) -> BoolVector:
    """Order rows of equal scores by number, in place; return where ties may go on past `last`."""
    unordered = (scores[:, :k] <= scores[:, 1 : k + 1]).any(axis=1)
    beyond: BoolVector = unordered & (scores[:, k - 1] <= last)
    for query in np.flatnonzero(unordered & ~beyond):
        order = np.lexsort((rows[query], -scores[query]))
        rows[query], scores[query] = rows[query][order], scores[query][order]
    return beyond


def _with_tail(
    nearby: Nearby,
    queries: FloatMatrix,
    vectors: UnitRows,
    start: int,
    k: int,
    allowed: IntVector | None,
) -> Nearby:
    """Add the best rows after the index's last to what it answered; the best stand first."""
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    scores = np.full((len(queries), k), _NO_SCORE, dtype=np.float32)
    for place, one in enumerate(tail_of(queries, vectors, start, k, allowed).ranked):
        count = min(k, len(one.rows))
        rows[place, :count], scores[place, :count] = one.rows[:k], one.scores[:k]
    scores = np.concatenate([nearby.scores, scores], axis=1)
    rows = np.concatenate([nearby.rows, rows], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    return Nearby(
        np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)
    )
