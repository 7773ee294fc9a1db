"""Search: choose the path, rank texts, expand them to records, fuse with keywords."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mirror_index.collection.fusing import HYBRID_DEPTH, fused_score, places, ranks_by_row
from mirror_index.collection.nearest import dense
from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.index.exact import Answer, Ranked, exact_search, rank
from mirror_index.records import Hit, normalise_text
from mirror_index.store.concepts import stored_scope
from mirror_index.store.expanding import records_of_text, records_of_texts
from mirror_index.store.filter_sql import Predicate
from mirror_index.store.trigrams import spelling_hits
from mirror_index.store.words import word_hits
from mirror_index.vectors import BoolVector, FloatMatrix


class FoundText(NamedTuple):
    """A text that was found: its place in the order, row, exact cosine, rank in each leg.

    `path` is set where it was found on another path than the rest.
    """

    order: float | tuple[float, ...]
    row: int
    score: float
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

    def shown(self, found: Found, query: str) -> list[Hit]:
        """Return the hits of texts that were found without a filter."""
        self._fetch([found])
        return self._hits(query, found)

    def _dense(self, vectors: FloatMatrix, k: int, *, prefix: bool = True) -> list[Answer]:
        exact = self._options.exact
        return dense(self._view, vectors, k, self._allowed, exact=exact, prefix=prefix)

    def _hybrid(self, vectors: FloatMatrix, queries: Sequence[str]) -> list[Found]:
        """Fuse the first ranks of each leg; texts beyond them follow by cosine.

        Neither the fused ones nor the order of the rest depends on k, so the best ten are the same
        for every k: what an approximate index proposes would not be.
        """
        dense = self._dense(vectors, HYBRID_DEPTH, prefix=False)
        found = [
            self._fuse(one, vector, query)
            for one, vector, query in zip(dense, vectors, queries, strict=True)
        ]
        if self._options.k <= HYBRID_DEPTH:
            return found
        deep = exact_search(vectors, self._view.vectors, self._options.k, self._allowed)
        return [_continued(one, more) for one, more in zip(found, deep, strict=True)]

    def _fuse(self, dense: Answer, vector: FloatMatrix, query: str) -> Found:
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
            FoundText((-fused_score(ranks[row]), -score), row, score, ranks[row])
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
        """Return the first k records of texts; those of equal order come by id."""
        k = self._options.k
        shown: list[tuple[Any, ...]] = []  # order, id, record, text: no two ids are equal
        last: object = None
        for text in found.texts:
            if len(shown) >= k and text.order != last:
                break
            last = text.order
            for record in self._records_of(text.row):
                shown.append((last, record[1], record, text))
        shown.sort()
        metadata = decode_all([record[3] for _, _, record, _ in shown[:k]])
        return [
            Hit(
                query=query,
                rank=rank,
                id=id_,
                text=shown_text,
                score=text.score,
                metadata=metadata[rank - 1],
                path=text.path or found.path,
                concept_id=concept_id,
                scope=None if scope is None else stored_scope(scope),
                legs=text.legs,
            )
            for rank, (_, id_, (_, _, shown_text, _, concept_id, scope), text) in enumerate(
                shown[:k], 1
            )
        ]

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
            self._cache[row] = records_of_text(
                self._view.store.connection, row, self._limit, self._predicate
            )
        return self._cache[row]


def decode_all(documents: Sequence[str]) -> list[Any]:
    """Decode stored metadata, all at once."""
    found: list[Any] = json.loads(f"[{','.join(documents)}]")
    if len(found) != len(documents):
        found = [json.loads(document) for document in documents]  # one of them is none: it is told
    return found


def _scores(ranked: Ranked) -> dict[int, float]:
    return dict(zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True))


def _continued(found: Found, deep: Ranked) -> Found:
    """Add what a deeper, exact search has beyond the fused texts."""
    fused = {text.row for text in found.texts}
    scores = _scores(deep)
    place = places(scores)
    more = [
        FoundText((0.0, -score), row, score, {"dense": place[row]}, "exact")
        for row, score in scores.items()
        if row not in fused
    ]
    return Found(texts=[*found.texts, *more], path=found.path)


def _as_found(answer: Answer) -> Found:
    pairs = zip(answer.ranked.rows.tolist(), answer.ranked.scores.tolist(), strict=True)
    return Found(texts=[FoundText(-score, row, score) for row, score in pairs], path=answer.path)
