"""Approximate search that keeps its word: exact scores, and as many as asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from mirror_index.index.ann import AnnIndex, Proposed
from mirror_index.index.exact import Answer, Ranked, cut, exact_search, nearest, rank_all
from mirror_index.index.plain import quick_answer
from mirror_index.index.tails import FEW_ROWS, Tail, least_breadth, tail_of
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

_WIDENINGS = (1, 4, 16)
_EXACT_FACTOR = 4


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
    first, *deeper = index.depths(k)
    if len(queries) == 1 and not deeper:
        quick = quick_answer(queries, vectors, index, k, allowed)
        if quick is not None:
            return [quick]
    search = _Search(queries, vectors, index, allowed)
    if deeper and not prefix:
        return search.answers(deeper[0], k)
    if not deeper:
        return search.answers(first, k)
    found = search.answers(first, first)
    for depth in deeper:
        found = search.continued(found, search.answers(depth, None), first, depth)
    return [Answer(ranked=cut(one.ranked, k), path=one.path) for one in found]


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
        if self._matching <= FEW_ROWS:
            return self._exact(waiting, k)
        tail = tail_of(queries, self._vectors, index.rows, depth, self._allowed)
        needed = min(depth, self._matching)
        least = least_breadth(index, self._allowed)
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


def _enough(
    waiting: Sequence[int], proposed: Proposed, tail: Tail, needed: int
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
