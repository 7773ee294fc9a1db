"""Candidates of mentions: names near in meaning, and names near in spelling.

Both legs give a fixed number of names, so that the candidates of a mention, and what is thought of
them, depend neither on how many are wanted nor on the mentions beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mirror_index.linking.features import Compared, Mentions, Pairs, by_concept, compare
from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.linking.ragged import bounds_of, joined
from mirror_index.linking.space import Cosines, Near, Space
from mirror_index.linking.translations import Translations
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

DENSE_NAMES = 48
MAPPED_NAMES = 64
"""Names near in meaning, by plain cosine, and where a map was learned."""

SPELT_NAMES = 32
SPARE = 2
"""Names fetched for one that is needed, where some may be left out."""

_COMPARED_AT_ONCE = 64

Leave = Callable[[int, IntVector], BoolVector]
"""Tells for the number of a mention and names (by number) which of the names to leave out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The candidates of one mention, in no order.

    Attributes:
        concepts: (n,) numbers of concepts.
        names: (n,) the name that stands for each.
        cosines: (n,) its exact cosine.
        gains: (n,) how much nearer it is by the learned map, 0 without one.
        table: (n, features) features, see `features.FEATURES`.
        spelt: names near in spelling, best first.
        dense: names near in meaning that were looked at.
        path: how those were searched.
    """

    concepts: IntVector
    names: IntVector
    cosines: Floats
    gains: Floats
    table: Floats
    spelt: IntVector
    dense: int
    path: str


class _Sought(NamedTuple):
    """Of each mention the names near in meaning and in spelling, and the path of the search."""

    near: Sequence[Near]
    spelt: Sequence[IntVector]
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """Finds the candidates of mentions in one state of a collection.

    Attributes:
        space: the vectors of the names.
        translations: word pairs for the features.
        allowed: (names,) True for the names to stay among; None for all.
    """

    space: Space
    translations: Translations
    allowed: BoolVector | None = None

    @property
    def lexicon(self) -> Lexicon:
        """The names."""
        return self.space.lexicon

    def pools(self, mentions: Mentions, leave: Leave | None = None) -> list[Pool]:
        """Return the candidates of each mention.

        Args:
            mentions: keys and vectors.
            leave: names to leave out.

        Raises:
            StaleLexiconError: the collection is no longer in the lexicon's state.
        """
        return self.pools_without(mentions, [leave])[0]

    def pools_without(self, mentions: Mentions, leaves: Sequence[Leave | None]) -> list[list[Pool]]:
        """Return the candidates of each mention, once for each choice of names to leave out.

        Names are searched and compared once for all choices.

        Raises:
            StaleLexiconError: the collection is no longer in the lexicon's state.
        """
        sought = self._sought(mentions, 1 if leaves == [None] else SPARE)
        kept = [self._kept(sought, leave) for leave in leaves]
        pools: list[list[Pool]] = [[] for _ in leaves]
        for start in range(0, len(sought.spelt), _COMPARED_AT_ONCE):
            some = slice(start, start + _COMPARED_AT_ONCE)
            block = Mentions(mentions.keys[some], mentions.vectors[some])
            parts = [_Sought(one.near[some], one.spelt[some], one.path) for one in kept]
            for mine, found in zip(pools, self._compared(block, parts), strict=True):
                mine += found
        return pools

    def _sought(self, mentions: Mentions, spare: int) -> _Sought:
        near, path = self.space.near(mentions.vectors, self._wanted * spare, self.allowed)
        ngrams, count = self.lexicon.ngrams, SPELT_NAMES * spare
        return _Sought(near, ngrams.nearest(ngrams.grams(mentions.keys), count, self.allowed), path)

    @property
    def _wanted(self) -> int:
        return DENSE_NAMES if self.space.projection is None else MAPPED_NAMES

    def _kept(self, sought: _Sought, leave: Leave | None) -> _Sought:
        if leave is None:
            return sought
        near = [_first(_left(one, few, leave), self._wanted) for one, few in enumerate(sought.near)]
        spelt = [few[~leave(one, few)][:SPELT_NAMES] for one, few in enumerate(sought.spelt)]
        return _Sought(near, spelt, sought.path)

    def _compared(self, mentions: Mentions, parts: Sequence[_Sought]) -> list[list[Pool]]:
        own = [
            [np.union1d(a.names, b) for a, b in zip(part.near, part.spelt, strict=True)]
            for part in parts
        ]
        names = [reduce(np.union1d, few) for few in zip(*own, strict=True)]
        bounds = bounds_of(names)
        pairs = Pairs(np.repeat(np.arange(len(names)), np.diff(bounds)), joined(names))
        cosines = self.space.cosines(mentions.vectors, pairs.mention, pairs.name)
        compared = compare(self.lexicon, self.translations, mentions, pairs, cosines.nearness)
        pools = []
        for part, mine in zip(parts, own, strict=True):
            places = map(np.searchsorted, names, mine)
            chosen = joined([at + start for at, start in zip(places, bounds[:-1], strict=True)])
            pools.append(_pools(by_concept(self.lexicon, compared, chosen), cosines, part))
        return pools

    def further(
        self, vector: FloatMatrix, one: int, concepts: int, leave: Leave | None
    ) -> list[tuple[int, float]]:
        """Return names by falling cosine, the best of each concept, of `concepts` if there are.

        Args:
            vector: (1, dim) row of the mention.
            one: its number, for `leave`.
            concepts: distinct concepts wanted.
            leave: names to leave out.
        """
        plain = Space(collection=self.space.collection, lexicon=self.lexicon)
        count = DENSE_NAMES
        while True:
            count *= 4
            near = plain.near(vector, count, self.allowed)[0][0]
            found = near if leave is None else _left(one, near, leave)
            first = np.unique(self.lexicon.concept_of[found.names], return_index=True)[1]
            if len(first) >= concepts or count > len(self.lexicon.rows):
                places = sorted(first.tolist())
                return [(int(found.names[at]), float(found.scores[at])) for at in places]


def _pools(found: Compared, cosines: Cosines, sought: _Sought) -> list[Pool]:
    plain = cosines.plain[found.pair]
    gains = cosines.nearness[found.pair] - plain
    bounds = np.searchsorted(found.mention, np.arange(len(sought.spelt) + 1))
    return [
        Pool(
            concepts=found.concept[start:end],
            names=found.name[start:end],
            cosines=plain[start:end],
            gains=gains[start:end],
            table=found.table[start:end],
            spelt=sought.spelt[one],
            dense=len(sought.near[one].names),
            path=sought.path,
        )
        for one, (start, end) in enumerate(pairwise(bounds.tolist()))
    ]


def _left(one: int, near: Near, leave: Leave) -> Near:
    kept = ~leave(one, near.names)
    return Near(near.names[kept], near.scores[kept])


def _first(near: Near, count: int) -> Near:
    """Return the first, and those that tie with the last: the order of rows decides nothing."""
    if len(near.names) <= count:
        return near
    kept = near.scores >= near.scores[count - 1]
    return Near(near.names[kept], near.scores[kept])
