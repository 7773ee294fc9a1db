"""Approximate search that keeps its word: exact scores, and as many as asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mirror_index.index.ann import AnnIndex, Nearby, Proposed
from mirror_index.index.exact import Answer, Ranked, cut, exact_search, nearest, rank_all
from mirror_index.index.halves import later_rows
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector, UnitRows

_WIDENINGS = (1, 4, 16)
_MOST_BREADTH = 32.0
_GRAPH_POWER = 0.62
_LISTS_POWER = 0.18
_FEW_ROWS = 256
"""Up to so many matching rows, comparing with all of them costs less than any index."""
_EXACT_FACTOR = 4
_ONE = np.float32(1.0)
_NO_SCORE = -2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """Per query the best of the rows that the index lacks, and how many of these are allowed."""

    ranked: Sequence[Ranked]
    found: int


def approximate_search(
    queries: FloatMatrix,
    vectors: UnitRows,
    index: AnnIndex,
    k: int,
    allowed: IntVector | None = None,
    *,
    prefix: bool = True,
) -> list[Answer]:
    """Return `min(k, allowed rows)` rows or more (ties) for each query, exactly scored.

    The rows that the index does not hold yet are searched exactly; a query left with too few rows
    is asked again, wider, and at last answered exactly. Up to a k of `PREFIX_ROWS` neither the
    candidates nor what counts as too few depends on k, so the best ten are the same for all these;
    the first `FIRST_ROWS` of a graph are the same for every k.

    Args:
        queries: (q, dim) float32 unit rows.
        vectors: (n, dim) unit rows; the index holds the first of them.
        index: the approximate index.
        k: rows wanted.
        allowed: ascending row numbers that may be found; None for all.
        prefix: False saves a search where nobody compares answers of different k.
    """
    search = _Search(queries, vectors, index, allowed)
    first, *deeper = index.depths(k)
    if deeper and not prefix:
        return search.answers(deeper[0], k)
    if not deeper:
        return search.answers(first, k)
    found = search.answers(first, first)
    for depth in deeper:
        found = search.continued(found, search.answers(depth, None), first, depth)
    return [Answer(ranked=cut(one.ranked, k), path=one.path) for one in found]


class Plain(NamedTuple):
    """(q, k) rows, best first, equal scores by row, and their cosines as the index gives them.

    `unsure` says for which of the queries that is not enough.
    """

    rows: IntVector
    scores: FloatMatrix
    unsure: BoolVector


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
    if deeper or not whole or matching <= max(_FEW_ROWS, depth):
        return None
    scores, rows = index.nearby(queries, depth, allowed, widen=_least_breadth(index, allowed))
    if rows.shape[1] <= k:
        return None
    unsure = rows.view(np.uint64).max(axis=1) >= index.rows  # -1 is a large number, too
    last = scores[:, -1]
    if index.rows < len(vectors):
        scores, rows = _with_tail(Nearby(scores, rows), queries, vectors, index.rows, k, allowed)
    unordered = (scores[:, :k] <= scores[:, 1 : k + 1]).any(axis=1)
    if unordered.any():
        unsure |= unordered & (scores[:, k - 1] <= last)
        for query in np.flatnonzero(unordered & ~unsure):
            order = np.lexsort((rows[query], -scores[query]))
            rows[query], scores[query] = rows[query][order], scores[query][order]
    best = np.ascontiguousarray(rows[:, :k])
    return Plain(best, np.minimum(scores[:, :k], _ONE), unsure)


class _Search:
    """Searches of one set of queries, each for another number of rows."""

    def __init__(
        self, queries: FloatMatrix, vectors: UnitRows, index: AnnIndex, allowed: IntVector | None
    ) -> None:
        self._queries = queries
        self._vectors = vectors
        self._index = index
        self._allowed = allowed
        self._matching = len(vectors) if allowed is None else len(allowed)

    def answers(self, depth: int, keep: int | None) -> list[Answer]:
        """Look for `depth` rows; return the best `keep` (None: all that were found), and ties."""
        queries, index, k = self._queries, self._index, keep or depth
        found: dict[int, Answer] = {}
        waiting = list(range(len(queries)))
        if self._matching <= _FEW_ROWS:
            return self._exact(waiting, k)
        tail = _tail(queries, self._vectors, index.rows, depth, self._allowed)
        needed = min(depth, self._matching)
        least = _least_breadth(index, self._allowed)
        for step in _WIDENINGS:
            asked = queries if len(waiting) == len(queries) else queries[waiting]
            proposed = index.candidates(asked, depth, self._allowed, keep=keep, widen=least * step)
            rows = _enough(waiting, proposed, tail, needed)
            path = "candidates" if step == 1 else "widened"
            for query, ranked in _best(queries, self._vectors, index, keep, rows):
                kept = ranked if keep is None else cut(ranked, keep)
                found[query] = Answer(ranked=kept, path=path)
            waiting = [query for query in waiting if query not in found]
            if not waiting:
                break
        found.update(zip(waiting, self._exact(waiting, k), strict=True))
        return [found[query] for query in range(len(queries))]

    def _exact(self, rows: Sequence[int], k: int) -> list[Answer]:
        ranked = exact_search(self._queries[rows], self._vectors, k, self._allowed)
        return [Answer(ranked=one, path="exact") for one in ranked]

    def continued(
        self, found: Sequence[Answer], deeper: Sequence[Answer], first: int, depth: int
    ) -> list[Answer]:
        """Return the best `first` rows as they were found, then what a deeper search has below.

        A row that only the deeper search found above the last of these is left out: an answer
        that begins another way for another k would be worse.
        """
        needed = min(depth, self._matching)
        answers = []
        for query, (one, more) in enumerate(zip(found, deeper, strict=True)):
            joined = one if len(one.ranked.rows) < first else _joined(one, more)
            if len(joined.ranked.rows) < needed:
                (exact,) = self._exact([query], _EXACT_FACTOR * depth)
                joined = _joined(one, exact)
            answers.append(joined if len(joined.ranked.rows) >= needed else exact)
        return answers


def _joined(first: Answer, deeper: Answer) -> Answer:
    """Return the rows of `first`, then those of `deeper` with lower scores than all of them."""
    one, more = first.ranked, deeper.ranked
    start = int(np.searchsorted(-more.scores, -one.scores[-1], side="right"))
    ranked = Ranked(
        rows=np.concatenate([one.rows, more.rows[start:]]),
        scores=np.concatenate([one.scores, more.scores[start:]]),
    )
    same = first.path == deeper.path
    return Answer(ranked=ranked, path=first.path if same else "widened")


def _least_breadth(index: AnnIndex, allowed: IntVector | None) -> float:
    """Return how many times as broadly to search where a filter leaves out most rows.

    A graph or a list then leads to fewer rows that count. To keep to a recall of 0.95 with a fifth,
    a tenth, a twentieth and a fiftieth of the rows, HNSW takes 2, 3.7, 5.7 and 11 times the
    breadth, inverted lists take 1.25, 1.25, 1.6 and 2.1 times.
    """
    if allowed is None or not len(allowed):
        return 1.0
    power = _GRAPH_POWER if index.knob == "efSearch" else _LISTS_POWER
    return max(1.0, min(_MOST_BREADTH, math.pow(index.rows / len(allowed), power)))


def _enough(
    waiting: Sequence[int], proposed: Proposed, tail: _Tail, needed: int
) -> dict[int, IntVector]:
    """Return the candidates, with those of the tail, of the queries that have as many as needed."""
    pairs = zip(waiting, proposed.rows, proposed.found, strict=True)
    if not tail.found:
        return {query: rows for query, rows, count in pairs if count >= needed}
    return {
        query: np.concatenate([rows, tail.ranked[query].rows])
        for query, rows, count in pairs
        if count + tail.found >= needed
    }


def _best(
    queries: FloatMatrix,
    vectors: UnitRows,
    index: AnnIndex,
    keep: int | None,
    candidates: Mapping[int, IntVector],
) -> Iterable[tuple[int, Ranked]]:
    """Return the queries that have candidates, each with these ranked."""
    rows = list(candidates.values())
    asked = list(candidates)
    if not index.faithful and keep is not None:
        pairs = zip(asked, rows, strict=True)
        rows = [nearest(queries[query], vectors, each, keep) for query, each in pairs]
    chosen = queries if len(asked) == len(queries) else queries[asked]
    return zip(asked, rank_all(chosen, vectors, rows), strict=True)


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
    for place, one in enumerate(_tail(queries, vectors, start, k, allowed).ranked):
        count = min(k, len(one.rows))
        rows[place, :count], scores[place, :count] = one.rows[:k], one.scores[:k]
    scores = np.concatenate([nearby.scores, scores], axis=1)
    rows = np.concatenate([nearby.rows, rows], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")
    return Nearby(
        np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)
    )


def _tail(
    queries: FloatMatrix, vectors: UnitRows, start: int, k: int, allowed: IntVector | None
) -> _Tail:
    """Return the best rows after the index's last for each query."""
    if allowed is None:
        later = later_rows(vectors, start)
        if not len(later):
            return _Tail(ranked=(), found=0)
        found = exact_search(queries, later, k)
        ranked = [Ranked(rows=one.rows + start, scores=one.scores) for one in found]
        return _Tail(ranked=ranked, found=len(later))
    rows = allowed[np.searchsorted(allowed, start) :]
    if not len(rows):
        return _Tail(ranked=(), found=0)
    return _Tail(ranked=exact_search(queries, vectors, k, rows), found=len(rows))
