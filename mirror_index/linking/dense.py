"""Dense candidates: the nearest names, grouped into distinct concepts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mirror_index.config import SearchOptions
from mirror_index.records import Hit, Scope
from mirror_index.vectors import FloatMatrix

if TYPE_CHECKING:
    from mirror_index.collection import Collection

SCOPE_PENALTY = {
    Scope.LABEL: 0.0,
    Scope.EXACT: 0.005,
    Scope.NARROW: 0.01,
    Scope.BROAD: 0.01,
    Scope.RELATED: 0.01,
}
"""Taken off the cosine for ordering: as near a name, but one that says less about its concept.

Larger penalties cost accuracy on phenotype and disease mentions, these gain up to .01.
"""

_NAMES_PER_CONCEPT = 8
_CONCEPTS_ONLY = "concept_id IS NOT NULL"

Skip = Callable[[int, Hit], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptHit:
    """A concept with its best name: `cosine` is exact, `score` is less the scope's penalty."""

    concept_id: str
    matched_name: str
    scope: Scope
    cosine: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest concepts of one query, best first; `names` were looked at, found by `path`."""

    concepts: tuple[ConceptHit, ...] = field(default=())
    names: int = 0
    path: str = "exact"


def nearest_concepts(
    collection: Collection, vectors: FloatMatrix, k: int, skip: Skip | None = None
) -> list[Nearest]:
    """Return the `k` nearest distinct concepts of each vector, fewer only when there are no more.

    More names are fetched until no name further away could change the first `k` concepts, so that a
    larger `k` only appends.

    Args:
        collection: a dictionary; records without a concept are passed over.
        vectors: (q, dim) float32 unit rows.
        k: distinct concepts wanted.
        skip: names to leave out, told by the number of the query and the hit.
    """
    answers: list[Nearest] = [Nearest()] * len(vectors)
    waiting = list(range(len(vectors)))
    size = _NAMES_PER_CONCEPT * k
    where: str | None = None
    while waiting:
        found = collection.search_vectors(vectors[waiting], SearchOptions(k=size, where=where))
        if where is None and any(hit.concept_id is None for hits in found for hit in hits):
            where = _CONCEPTS_ONLY
            continue
        unfinished: list[int] = []
        for query, hits in zip(waiting, found, strict=True):
            kept = [hit for hit in hits if skip is None or not skip(query, hit)]
            concepts = _grouped(kept)
            if len(hits) < size or _settled(concepts, k, hits[-1].score):
                path = hits[0].path if hits else "exact"
                answers[query] = Nearest(concepts=concepts[:k], names=len(hits), path=path)
            else:
                unfinished.append(query)
        waiting = unfinished
        size *= 4
    return answers


def _settled(concepts: Sequence[ConceptHit], k: int, last_cosine: float) -> bool:
    return len(concepts) >= k and concepts[k - 1].score > last_cosine


def _grouped(hits: Sequence[Hit]) -> tuple[ConceptHit, ...]:
    best: dict[str, ConceptHit] = {}
    for hit in hits:
        concept_id = hit.concept_id
        if concept_id is None:
            continue
        scope = hit.scope or Scope.EXACT
        score = hit.score - SCOPE_PENALTY[scope]
        held = best.get(concept_id)
        if held is None or (-score, scope.rank, hit.text) < (
            -held.score,
            held.scope.rank,
            held.matched_name,
        ):
            best[concept_id] = ConceptHit(
                concept_id=concept_id,
                matched_name=hit.text,
                scope=scope,
                cosine=hit.score,
                score=score,
            )
    return tuple(sorted(best.values(), key=lambda c: (-c.score, c.scope.rank, c.concept_id)))
