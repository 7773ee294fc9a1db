"""Search: choose the path, rank texts, expand them to records, fuse with keywords."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from mirror_index.collection.fusing import HYBRID_DEPTH, fused_score, places, ranks_by_row
from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.index.exact import Ranked, exact_search, rank
from mirror_index.records import Hit, normalise_text
from mirror_index.store.concepts import stored_scope
from mirror_index.store.expanding import records_of_texts
from mirror_index.store.filter_sql import Predicate
from mirror_index.store.trigrams import spelling_hits
from mirror_index.store.words import word_hits
from mirror_index.vectors import BoolVector, FloatMatrix

FILTER_EXACT_ROWS = 10_000
_decode = json.JSONDecoder().raw_decode  # what was stored has no white space around it


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundText:
    """A text that was found: its row, exact cosine, place in the order, rank in each leg.

    `path` is set where it was found on another path than the rest.
    """

    row: int
    score: float
    order: tuple[float, ...]
    legs: Mapping[str, int] | None = None
    path: str | None = None


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
            found = self._hybrid(vectors, queries)
        else:
            found = [_as_found(one) for one in self._dense(vectors, self._options.k)]
        self._fetch(found)
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

    def _hybrid(self, vectors: FloatMatrix, queries: Sequence[str]) -> list[Found]:
        """Fuse the first ranks of each leg; texts beyond them follow by cosine.

        Neither the fused ones nor the order of the rest depends on k, so the best ten are the same
        for every k: what an approximate index proposes would not be.
        """
        dense = self._dense(vectors, HYBRID_DEPTH)
        found = [
            self._fuse(one, vector, query)
            for one, vector, query in zip(dense, vectors, queries, strict=True)
        ]
        if self._options.k <= HYBRID_DEPTH:
            return found
        deep = exact_search(vectors, self._view.vectors, self._options.k, self._allowed)
        return [_continued(one, more) for one, more in zip(found, deep, strict=True)]

    def _fuse(self, dense: PathRanked, vector: FloatMatrix, query: str) -> Found:
        """Fuse one query's rankings by reciprocal rank."""
        connection, allowed = self._view.store.connection, self._mask
        query = normalise_text(query)
        legs = {
            "dense": _scores(dense.ranked),
            "words": word_hits(connection, query, HYBRID_DEPTH, allowed),
            "trigrams": spelling_hits(connection, query, HYBRID_DEPTH, allowed),
        }
        ranks = ranks_by_row(legs)
        scored = rank(vector, self._view.vectors, np.fromiter(ranks, np.int64, len(ranks)))
        texts = [
            FoundText(
                row=row, score=score, order=(-fused_score(ranks[row]), -score), legs=ranks[row]
            )
            for row, score in _scores(scored).items()
        ]
        texts.sort(key=lambda text: text.order)
        return Found(texts=texts, path=dense.path)

    @cached_property
    def _mask(self) -> BoolVector:
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
                    metadata=_decode(metadata)[0],
                    path=text.path or found.path,
                    concept_id=concept_id,
                    scope=None if scope is None else stored_scope(scope),
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
            if len(rows) > 1:
                rows.sort(key=lambda pair: pair[0][0])
            yield from rows

    def _fetch(self, found: Sequence[Found]) -> None:
        """Read the records of the texts that are sure to be shown, all at once."""
        k = self._options.k
        rows = {text.row for one in found for text in one.texts[:k]}
        self._cache = records_of_texts(
            self._view.store.connection, sorted(rows), self._limit, self._predicate
        )

    @property
    def _limit(self) -> int:
        return min(self._options.k, self._view.generation.live_records)  # 64 bits for SQLite

    def _records_of(self, row: int) -> list[tuple[Any, ...]]:
        if row not in self._cache:
            predicate = self._predicate
            self._cache[row] = self._view.store.records_of_text(
                row, self._limit, predicate.sql, predicate.parameters
            )
        return self._cache[row]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRanked:
    """Ranked rows and the path that found them."""

    ranked: Ranked
    path: str


def _scores(ranked: Ranked) -> dict[int, float]:
    return dict(zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True))


def _continued(found: Found, deep: Ranked) -> Found:
    """Add what a deeper, exact search has beyond the fused texts."""
    fused = {text.row for text in found.texts}
    scores = _scores(deep)
    place = places(scores)
    more = [
        FoundText(
            row=row, score=score, order=(0.0, -score), legs={"dense": place[row]}, path="exact"
        )
        for row, score in scores.items()
        if row not in fused
    ]
    return Found(texts=[*found.texts, *more], path=found.path)


def _as_found(result: PathRanked) -> Found:
    texts = [
        FoundText(row=row, score=score, order=(-score,))
        for row, score in _scores(result.ranked).items()
    ]
    return Found(texts=texts, path=result.path)
