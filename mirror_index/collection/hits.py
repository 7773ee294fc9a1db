"""Making hits: a search makes many, and a frozen dataclass is slow to fill."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mirror_index.records import Hit, Metadata
from mirror_index.store.concepts import stored_scope


class _Open:
    """A hit while it is filled: the same slots, which may be set; a third of the time."""

    __slots__ = tuple(Hit.__dataclass_fields__)


def hit_of(
    query: str,
    rank: int,
    id_: str,
    text: str,
    score: float,
    metadata: Metadata,
    path: str,
    concept_id: str | None,
    scope: str | None,
    legs: Mapping[str, int] | None,
) -> Hit:
    """Return `Hit` of these values; `scope` is as it is stored.

    Raises:
        CollectionCorruptError: there is no such scope.
    """
    made: Any = _Open()
    made.query = query
    made.rank = rank
    made.id = id_
    made.text = text
    made.score = score
    made.metadata = metadata
    made.path = path
    made.concept_id = concept_id
    made.scope = None if scope is None else stored_scope(scope)
    made.legs = legs
    made.__class__ = Hit
    hit: Hit = made
    return hit
