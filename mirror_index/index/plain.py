"""Approximate search where what FAISS answers will do: no more is done to it than is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirror_index.index.ann import PREFIX_ROWS, AnnIndex, Nearby
from mirror_index.index.exact import MARGIN, Answer, cut, rank
from mirror_index.index.later import JoinedSearch, LaterRows, OneByOne
from mirror_index.index.tails import FEW_ROWS, least_breadth, tail_of
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector, UnitRows

_ONE = np.float32(1.0)
_NO_SCORE = -2.0


def lone_search(
    vectors: UnitRows, index: AnnIndex, k: int, allowed: IntVector | None
) -> OneByOne | None:
    """Return how to look for `k` rows for a query by itself, None where there is more to it.

    There is nothing more where the index holds its rows as they are, and a graph is asked for few.
    The search serves as long as the parameters of the index are the same.
    """
    depth, *deeper = index.depths(k)
    matching = len(vectors) if allowed is None else len(allowed)
    whole = index.faithful and index.selects
    if deeper or not whole or k > PREFIX_ROWS or matching <= max(FEW_ROWS, depth):
        return None
    search = index.lone(depth, allowed, widen=least_breadth(index, allowed))
    if index.rows == len(vectors):
        return search
    return JoinedSearch(search, LaterRows(vectors, index.rows, allowed))


def quick_answer(
    query: FloatMatrix, vectors: UnitRows, index: AnnIndex, k: int, allowed: IntVector | None
) -> Answer | None:
    """Return what `approximate_search` gives a query by itself whose candidates come in order.

    None where they do not, or there is more to look at.
    """
    lone = lone_search(vectors, index, k, allowed)
    if lone is None:
        return None
    lone(query)
    near = lone.near(k, MARGIN)
    if near is None:
        return None
    return Answer(ranked=cut(rank(query[0], vectors, near), k), path="candidates")


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
    *,
    found: Nearby | None = None,
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
        found: what the index answers, where it was asked already.
    """
    depth, *deeper = index.depths(k)
    matching = len(vectors) if allowed is None else len(allowed)
    whole = index.faithful and index.selects and isinstance(vectors, np.ndarray)
    if deeper or not whole or matching <= max(FEW_ROWS, depth):
        return None
    if found is None:
        widen = least_breadth(index, allowed)
        found = index.nearby(queries, depth, allowed, widen=widen)
    scores, rows = found
    if rows.shape[1] <= k:
        return None
    unsure = _incomplete(rows, index.rows)
    last = scores[:, -1]
    if index.rows < len(vectors):
        scores, rows = _with_tail(Nearby(scores, rows), queries, vectors, index.rows, k, allowed)
    if not (scores[:, :k] > scores[:, 1 : k + 1]).all():
        tied = _settle_ties(scores, rows, k, last)
        unsure = tied if unsure is None else unsure | tied
    if unsure is not None and not unsure.any():
        unsure = None
    best = np.ascontiguousarray(rows[:, :k])
    return Plain(best, np.minimum(scores[:, :k], _ONE), unsure)


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
