"""The rows of a committed state nearest to vectors, as every door needs them; keyed names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mirror_index.collection.view import View
from mirror_index.errors import UsageError
from mirror_index.index.exact import Answer, Ranked, exact_search
from mirror_index.store.concepts import KeyedName, keyed_names
from mirror_index.vectors import FloatMatrix, IntVector

if TYPE_CHECKING:
    from mirror_index.index.lone import Nearby
    from mirror_index.index.plain import Plain

FILTER_EXACT_ROWS = 20_000
"""Up to this many rows that pass a filter, all are compared."""

MOST_ANSWERS = 1 << 28
"""Answers of one `Collection.nearest`, 12 bytes each."""

_NO_SCORE = -2.0  # below every cosine


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedNames:
    """All names of live concepts of one committed state.

    Attributes:
        generation: number of the state.
        texts: live texts in it; more than the names have when there are plain records as well.
        names: those of one concept together, the best scope first.
    """

    generation: int
    texts: int
    names: Sequence[KeyedName]

    @classmethod
    def of(cls, view: View) -> KeyedNames:
        """Read the names of a state."""
        return cls(
            generation=view.generation.number,
            texts=view.generation.live_texts,
            names=keyed_names(view.store.connection),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestRows:
    """The texts nearest to each query, as arrays.

    Attributes:
        rows: (q, k) int64 vector rows of distinct texts, best first, equal scores by row; -1 where
            fewer texts match.
        scores: (q, k) float32 cosines, right to 1e-6; -2 where fewer texts match.
        generation: number of the committed state the rows belong to.
        path: how they were found: "exact", "candidates", or "widened" for at least one query.
    """

    rows: IntVector
    scores: FloatMatrix
    generation: int
    path: str


def dense(
    view: View,
    vectors: FloatMatrix,
    k: int,
    allowed: IntVector | None,
    *,
    exact: bool = False,
    prefix: bool = True,
) -> list[Answer]:
    """Return `min(k, allowed rows)` rows or more (ties) for each of some unit vectors.

    Args:
        view: the state to search.
        vectors: (q, dim) float32 unit rows.
        k: rows wanted.
        allowed: ascending row numbers that may be found; None for all.
        exact: leave an approximate index aside.
        prefix: see `approximate_search`.
    """
    index = None if exact or few_rows(allowed) else view.ann
    if index is None:
        gathered = None if allowed is None else view.gathered(allowed)
        ranked = exact_search(vectors, view.vectors, k, allowed, gathered)
        return [Answer(ranked=one, path="exact") for one in ranked]
    from mirror_index.index.approximate import approximate_search  # loads faiss

    return approximate_search(vectors, view.vectors, index, k, allowed, prefix=prefix)


def few_rows(allowed: IntVector | None) -> bool:
    """Say whether so few rows may be found that all of them are compared."""
    return allowed is not None and len(allowed) <= FILTER_EXACT_ROWS


def nearest_rows(
    view: View,
    vectors: FloatMatrix,
    k: int,
    allowed: IntVector | None,
    *,
    exact: bool,
    found: Nearby | None = None,
) -> NearestRows:
    """Return what `dense` finds as arrays of `k` columns, those without a text filled up.

    `found` is what the approximate index answers, where it was asked already.
    """
    plain = None if exact or few_rows(allowed) else _plain(view, vectors, k, allowed, found)
    if plain is not None and plain.unsure is None:  # nothing that a query need not pay for
        number = view.generation.number
        return NearestRows(
            rows=plain.rows, scores=plain.scores, generation=number, path="candidates"
        )
    if len(vectors) * k > MOST_ANSWERS:
        raise UsageError(
            f"{len(vectors)} queries with k={k:,} are more than {MOST_ANSWERS:,} answers",
            value=k,
            remedy="Lower k, or ask some queries at a time",
        )
    rows = np.full((len(vectors), k), -1, dtype=np.int64)
    scores = np.full((len(vectors), k), _NO_SCORE, dtype=np.float32)
    paths, waiting = set(), np.arange(len(vectors))
    if plain is not None and plain.unsure is not None:
        sure, waiting = ~plain.unsure, np.flatnonzero(plain.unsure)
        rows[sure], scores[sure] = plain.rows[sure], plain.scores[sure]
        paths = {"candidates"} if sure.any() else set()
    answers = dense(view, vectors[waiting], k, allowed, exact=exact)
    for place, answer in zip(waiting.tolist(), answers, strict=True):
        count = min(k, len(answer.ranked.rows))
        rows[place, :count] = answer.ranked.rows[:k]
        scores[place, :count] = answer.ranked.scores[:k]
        paths.add(answer.path)
    return _found(view, rows, scores, paths)


def _plain(
    view: View, vectors: FloatMatrix, k: int, allowed: IntVector | None, found: Nearby | None
) -> Plain | None:
    index = view.ann
    if index is None:
        return None
    from mirror_index.index.plain import plain_search  # loads faiss

    return plain_search(vectors, view.vectors, index, k, allowed, found=found)


def _found(view: View, rows: IntVector, scores: FloatMatrix, paths: set[str]) -> NearestRows:
    path = next(iter(paths), "exact") if len(paths) < 2 else "widened"
    return NearestRows(rows=rows, scores=scores, generation=view.generation.number, path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestTexts:
    """Rows for each query, best first with exact cosines, found in the state `generation`."""

    generation: int
    ranked: Sequence[Ranked]
    path: str


def nearest_texts(view: View, vectors: FloatMatrix, k: int, rows: IntVector | None) -> NearestTexts:
    """Return the `k` nearest rows of live texts, and those that tie with the last.

    Args:
        view: the state to search.
        vectors: (q, dim) float32 unit rows.
        k: rows wanted; fewer come back only when there are no more.
        rows: ascending row numbers to stay among; None for all.
    """
    allowed = view.live_rows if rows is None else rows[view.live[rows]]
    if view.ann is None or (rows is not None and len(rows) < len(view.vectors) // 2):
        found = exact_search(vectors, view.vectors, k, allowed)
        return NearestTexts(generation=view.generation.number, ranked=found, path="exact")
    from mirror_index.index.approximate import approximate_search  # loads faiss

    results = approximate_search(vectors, view.vectors, view.ann, k, allowed, prefix=False)
    paths = {one.path for one in results}
    return NearestTexts(
        generation=view.generation.number,
        ranked=[one.ranked for one in results],
        path="widened" if "widened" in paths else next(iter(paths), "candidates"),
    )
