"""Which names of a dictionary lie nearest to mentions, and how near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mirror_index.index.exact import Ranked, exact_search, nearest, rescore
from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.linking.projection import Projection
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection

MOST_HELD = 1 << 18
"""Names whose mapped vectors are held in memory, 0.5 KB each. Of larger dictionaries the index of
the collection proposes names, which are mapped as they are needed."""

SHARE = 0.7
"""Of the cosine after the map in the nearness, the rest being the plain cosine.

More is better for held-out names of HPO, less for mentions in text; see docs/linking.md."""

_PROPOSED = 3  # names by plain cosine for one that is wanted
_ROWS_AT_ONCE = 8192


class Near(NamedTuple):
    """Names near to a mention, best first, and the cosines by which they are."""

    names: IntVector
    scores: Floats


class StaleLexiconError(Exception):
    """The collection moved on to another committed state; `generation` says which."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.generation = generation


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Space:
    """The vectors of a dictionary's names, with a map learned from it or without.

    Attributes:
        collection: holds the vectors.
        lexicon: its names.
        projection: the map; None for plain cosines.
        held: (names, rank) mapped vectors of all names; None without a map or for too many names.
    """

    collection: Collection
    lexicon: Lexicon
    projection: Projection | None = None
    held: FloatMatrix | None = None

    @classmethod
    def of(cls, collection: Collection, lexicon: Lexicon, projection: Projection | None) -> Space:
        """Map the names of a dictionary; HPO takes 0.1 s."""
        held = None
        if projection is not None and 0 < len(lexicon.rows) <= MOST_HELD:
            parts = [
                projection.of(collection.vectors_of(lexicon.rows[start : start + _ROWS_AT_ONCE]))
                for start in range(0, len(lexicon.rows), _ROWS_AT_ONCE)
            ]
            held = np.concatenate(parts)
        return cls(collection=collection, lexicon=lexicon, projection=projection, held=held)

    def near(
        self, vectors: FloatMatrix, count: int, allowed: BoolVector | None
    ) -> tuple[list[Near], str]:
        """Return the names nearest to each vector, ties with the last included, and the path.

        Args:
            vectors: (n, dim) unit rows.
            count: names wanted.
            allowed: (names,) True for the names to stay among; None for all.

        Raises:
            StaleLexiconError: the collection is no longer in the lexicon's state.
        """
        if self.projection is None:
            return self._plain(vectors, count, allowed)
        mapped = self.projection.of(vectors)
        if self.held is None:
            proposed, path = self._plain(vectors, _PROPOSED * count, allowed)
            return self._mapped(mapped, proposed, count), path
        self._require_fresh(self.collection.committed().number)
        some = None if allowed is None else np.flatnonzero(allowed)
        found = exact_search(mapped, self.held, count, some)
        return [Near(one.rows, one.scores) for one in found], "exact"

    def _plain(
        self, vectors: FloatMatrix, count: int, allowed: BoolVector | None
    ) -> tuple[list[Near], str]:
        rows = self.lexicon.only_rows if allowed is None else self.lexicon.rows_of(allowed)
        found = self.collection.nearest_texts(vectors, count, rows)
        self._require_fresh(found.generation)
        return [self._named(one, allowed) for one in found.ranked], found.path

    def _named(self, found: Ranked, allowed: BoolVector | None) -> Near:
        names = self.lexicon.names_of_rows(found.rows)
        scores = np.repeat(found.scores, self.lexicon.count_of_rows(found.rows))
        if allowed is not None:
            kept = allowed[names]
            names, scores = names[kept], scores[kept]
        return Near(names, scores)

    def _mapped(self, mapped: FloatMatrix, proposed: Sequence[Near], count: int) -> list[Near]:
        ranked = []
        for vector, near in zip(mapped, proposed, strict=True):
            rows = self._rows_after(near.names)
            places = nearest(vector, rows, np.arange(len(rows)), count)
            scores = rescore(vector, rows[places])
            order = np.lexsort((near.names[places], -scores))
            ranked.append(Near(near.names[places][order], scores[order]))
        return ranked

    def _rows_after(self, names: IntVector) -> FloatMatrix:
        """Return the mapped vectors of some names."""
        if self.held is not None:
            return self.held[names]
        assert self.projection is not None
        return self.projection.of(self.collection.vectors_of(self.lexicon.rows[names]))

    def _require_fresh(self, generation: int) -> None:
        if generation != self.lexicon.generation:
            raise StaleLexiconError(generation)

    def cosines(self, vectors: FloatMatrix, owners: IntVector, names: IntVector) -> Cosines:
        """Compare pairs of a mention and a name.

        Args:
            vectors: (n, dim) unit rows of the mentions.
            owners: (pairs,) ascending number of the mention.
            names: (pairs,) number of the name.
        """
        bounds = np.searchsorted(owners, np.arange(len(vectors) + 1))
        rows = self.collection.vectors_of(self.lexicon.rows[names])
        plain = _paired(vectors, rows, bounds)
        if self.projection is None:
            return Cosines(plain, plain)
        after = _paired(self.projection.of(vectors), self._rows_after(names), bounds)
        return Cosines(plain, (1.0 - SHARE) * plain + SHARE * after)


class Cosines(NamedTuple):
    """Of pairs: the plain cosines, and the nearness, which the map has its share in."""

    plain: Floats
    nearness: Floats


def _paired(vectors: FloatMatrix, rows: FloatMatrix, bounds: IntVector) -> Floats:
    parts = [
        rescore(vector, rows[start:end])
        for vector, start, end in zip(vectors, bounds[:-1], bounds[1:], strict=True)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


_KEPT: WeakKeyDictionary[Lexicon, tuple[Projection, FloatMatrix | None]] = WeakKeyDictionary()


def space_of(collection: Collection, lexicon: Lexicon, projection: Projection | None) -> Space:
    """Return the space of a lexicon, whose names are mapped once as long as the map is the same."""
    if projection is None:
        return Space(collection=collection, lexicon=lexicon)
    known = _KEPT.get(lexicon)
    if known is not None and known[0] == projection:
        return Space(collection=collection, lexicon=lexicon, projection=projection, held=known[1])
    made = Space.of(collection, lexicon, projection)
    _KEPT[lexicon] = (projection, made.held)
    return made
