"""What linking reads of a committed state: names with keys, and the rows nearest to vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mirror_index.collection.view import View
from mirror_index.index.exact import Ranked, cut, margin_of, rank_all
from mirror_index.index.halves import near_rows
from mirror_index.store.concepts import KeyedName, keyed_names
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

_SCORES = 1 << 24
"""Scores held at once, 4 bytes each."""

_RUN = 64
"""Neighbouring scores of which only the highest is looked at first."""


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
        found: Sequence[Ranked] = list(_exact(vectors, view.vectors, k, allowed))
        return NearestTexts(generation=view.generation.number, ranked=found, path="exact")
    from mirror_index.index.approximate import approximate_search  # loads faiss

    results = approximate_search(vectors, view.vectors, view.ann, k, allowed)
    paths = {one.path for one in results}
    return NearestTexts(
        generation=view.generation.number,
        ranked=[one.ranked for one in results],
        path="widened" if "widened" in paths else next(iter(paths), "candidates"),
    )


def _exact(
    queries: FloatMatrix, vectors: UnitRows, k: int, allowed: IntVector | None
) -> Iterator[Ranked]:
    """Yield what `exact_search` finds, faster for many queries at once.

    Of each run of scores the highest is taken; the k-th of these bounds the k-th of all from below,
    so that few scores are left to be compared.
    """
    if not len(vectors) or (allowed is not None and not len(allowed)):
        yield from [Ranked(rows=np.empty(0, np.int64), scores=np.empty(0))] * len(queries)
        return
    rows = len(vectors) if allowed is None else len(allowed)
    some = max(1, _SCORES // rows)
    for start in range(0, len(queries), some):
        block = np.ascontiguousarray(queries[start : start + some])
        scores = _scores(block, vectors, allowed)
        runs = scores.reshape(len(block), -1, _RUN)
        best = runs.max(axis=2)
        places = [
            _leading(one, high, k, margin_of(vectors)) for one, high in zip(runs, best, strict=True)
        ]
        candidates = places if allowed is None else [allowed[one] for one in places]
        yield from (cut(ranked, k) for ranked in rank_all(block, vectors, candidates))


def _scores(block: FloatMatrix, vectors: UnitRows, allowed: IntVector | None) -> FloatMatrix:
    """Return (queries, rows) float32 scores, padded with -inf to whole runs."""
    count = len(vectors) if allowed is None else len(allowed)
    scores = np.empty((len(block), -(-count // _RUN) * _RUN), dtype=np.float32)
    scores[:, count:] = -np.inf
    size = max(1024, _SCORES // vectors.shape[1])
    for start in range(0, count, size):
        stop = min(start + size, count)
        chosen = slice(start, stop) if allowed is None else allowed[start:stop]
        np.matmul(block, near_rows(vectors, chosen).T, out=scores[:, start:stop])
    return scores


def _leading(runs: FloatMatrix, best: FloatMatrix, k: int, margin: np.float32) -> IntVector:
    """Return the places that may be among the k highest, given the highest of each run."""
    if len(best) > k:
        floor = np.partition(best, len(best) - k)[len(best) - k] - margin
    else:
        floor = np.float32(-np.inf)
    near = np.flatnonzero(best >= floor)
    run, column = np.nonzero(runs[near] >= floor)
    places, values = near[run] * _RUN + column, runs[near[run], column]
    if len(values) > k:
        kth = np.partition(values, len(values) - k)[len(values) - k]
        places, values = places[values >= kth - margin], values[values >= kth - margin]
    found: IntVector = places[np.isfinite(values)]
    return found
