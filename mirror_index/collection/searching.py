"""Search: choose the path, rank texts, expand them to records, fuse with keywords."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.index.exact import Ranked, exact_search, rank
from mirror_index.records import Hit, Scope
from mirror_index.store.filter_sql import Predicate
from mirror_index.store.words import word_hits
from mirror_index.vectors import FloatMatrix

HYBRID_DEPTH = 100
RECIPROCAL_RANK = 60
FILTER_EXACT_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """A text that was found: its row, exact cosine, place in the order, rank in each leg."""

    row: int
    score: float
    order: tuple[float, ...]
    legs: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The texts found for one query, best first, and the path that found them."""

    texts: Sequence[FoundText]
    path: str


class Search:
    """One search over one committed state; the caller holds the state's snapshot."""

    def __init__(self, view: View, options: SearchOptions) -> None:
        self._view = view
        self._options = options
        self._predicate: Predicate = view.predicate(options.where)
        self._allowed = view.allowed(self._predicate)
        self._cache: dict[int, list[tuple[Any, ...]]] = {}

    def run(self, vectors: FloatMatrix, queries: Sequence[str]) -> list[list[Hit]]:
        """Return the hits of each query; `vectors` holds its unit row."""
        if self._options.hybrid:
            depth = max(HYBRID_DEPTH, self._options.k)
            dense = self._dense(vectors, depth)
            found = [
                self._fuse(one, vector, query, depth)
                for one, vector, query in zip(dense, vectors, queries, strict=True)
            ]
        else:
            found = [_as_found(one) for one in self._dense(vectors, self._options.k)]
        return [self._hits(query, one) for query, one in zip(queries, found, strict=True)]

    def _dense(self, vectors: FloatMatrix, k: int) -> list[PathRanked]:
        view = self._view
        few = self._allowed is not None and len(self._allowed) <= FILTER_EXACT_ROWS
        index = None if self._options.exact or few else view.ann
        if index is None:
            ranked = exact_search(vectors, view.vectors, k, self._allowed)
            return [PathRanked(ranked=one, path="exact") for one in ranked]
        from mirror_index.index.approximate import approximate_search  # loads faiss

        results = approximate_search(vectors, view.vectors, index, k, self._allowed)
        return [PathRanked(ranked=one.ranked, path=one.path) for one in results]

    def _fuse(self, dense: PathRanked, vector: FloatMatrix, query: str, depth: int) -> Found:
        """Fuse the dense and keyword rankings by reciprocal rank (Cormack, SIGIR 2009)."""
        rows = dense.ranked.rows
        words = word_hits(self._view.store.connection, query, depth, self._mask())
        legs: dict[int, dict[str, int]] = {}
        scores = dict(zip(rows.tolist(), (-dense.ranked.scores).tolist(), strict=True))
        for name, ranking in (("dense", scores), ("words", words)):
            for row, place in _places(ranking).items():
                legs.setdefault(row, {})[name] = place
        scored = rank(vector, self._view.vectors, np.fromiter(legs, np.int64, len(legs)))
        texts = []
        for row, score in zip(scored.rows.tolist(), scored.scores.tolist(), strict=True):
            fused = sum(1.0 / (RECIPROCAL_RANK + place) for place in legs[row].values())
            texts.append(FoundText(row=row, score=score, order=(-fused, -score), legs=legs[row]))
        texts.sort(key=lambda text: text.order)
        return Found(texts=texts, path=dense.path)

    def _mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        if self._allowed is None:
            return self._view.live
        mask = np.zeros(len(self._view.vectors), dtype=np.bool_)
        mask[self._allowed] = True
        return mask

    def _hits(self, query: str, found: Found) -> list[Hit]:
        hits: list[Hit] = []
        for row, text in self._records(found.texts):
            id_, shown, metadata, concept_id, scope = row
            hits.append(
                Hit(
                    query=query,
                    rank=len(hits) + 1,
                    id=id_,
                    text=shown,
                    score=text.score,
                    metadata=json.loads(metadata),
                    path=found.path,
                    concept_id=concept_id,
                    scope=None if scope is None else Scope(scope),
                    legs=text.legs,
                )
            )
            if len(hits) == self._options.k:
                break
        return hits

    def _records(self, texts: Iterable[FoundText]) -> Iterator[tuple[tuple[Any, ...], FoundText]]:
        """Yield the records of texts; those of equal order come by id."""
        for _, group in groupby(texts, key=lambda text: text.order):
            rows = [(record, text) for text in group for record in self._records_of(text.row)]
            rows.sort(key=lambda pair: pair[0][0])
            yield from rows

    def _records_of(self, row: int) -> list[tuple[Any, ...]]:
        if row not in self._cache:
            predicate = self._predicate
            limit = min(self._options.k, self._view.generation.live_records)  # 64 bits for SQLite
            self._cache[row] = self._view.store.records_of_text(
                row, limit, predicate.sql, predicate.parameters
            )
        return self._cache[row]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRanked:
    """Ranked rows and the path that found them."""

    ranked: Ranked
    path: str


def _places(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the place of each row from 1; equal scores share a place."""
    places: dict[int, int] = {}
    previous, place = None, 0
    for count, (row, score) in enumerate(scores.items(), 1):
        if score != previous:
            previous, place = score, count
        places[row] = place
    return places


def _as_found(result: PathRanked) -> Found:
    pairs = zip(result.ranked.rows.tolist(), result.ranked.scores.tolist(), strict=True)
    texts = [FoundText(row=row, score=score, order=(-score,)) for row, score in pairs]
    return Found(texts=texts, path=result.path)
