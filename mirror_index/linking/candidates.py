"""Candidates of mentions: names near in meaning, and names near in spelling.

Both legs give a fixed number of names, so that the candidates of a mention, and what is thought of
them, depend neither on how many are wanted nor on the mentions beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mirror_index.index.exact import rescore
from mirror_index.linking.features import Mentions, Pairs, compare
from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.linking.translations import Translations
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection
    from mirror_index.index.exact import Ranked

DENSE_NAMES = 48
SPELT_NAMES = 32
_SPARE = 2  # names fetched for one that is needed, where some may be left out

Leave = Callable[[int, IntVector], BoolVector]
"""Tells for the number of a mention and names (by number) which of the names to leave out."""


class StaleLexiconError(Exception):
    """The collection moved on to another committed state; `generation` says which."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.generation = generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The candidates of one mention, in no order.

    Attributes:
        concepts: (n,) numbers of concepts.
        names: (n,) the name that stands for each.
        cosines: (n,) its exact cosine.
        table: (n, features) features, see `features.FEATURES`.
        spelt: names near in spelling, best first.
        dense: names near in meaning that were looked at.
        path: how those were searched.
    """

    concepts: IntVector
    names: IntVector
    cosines: Floats
    table: Floats
    spelt: IntVector
    dense: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finder:
    """Finds the candidates of mentions in one state of a collection.

    Attributes:
        collection: searched for near vectors.
        lexicon: its names.
        translations: word pairs for the features.
        allowed: (names,) True for the names to stay among; None for all.
    """

    collection: Collection
    lexicon: Lexicon
    translations: Translations
    allowed: BoolVector | None = None

    def pools(self, mentions: Mentions, leave: Leave | None = None) -> list[Pool]:
        """Return the candidates of each mention.

        Args:
            mentions: keys and vectors.
            leave: names to leave out.

        Raises:
            StaleLexiconError: the collection is no longer in the lexicon's state.
        """
        count = DENSE_NAMES * (1 if leave is None else _SPARE)
        near = self.collection.nearest_texts(mentions.vectors, count, self._rows())
        if near.generation != self.lexicon.generation:
            raise StaleLexiconError(near.generation)
        dense = [self._dense(one, found, leave) for one, found in enumerate(near.ranked)]
        spelt = self._spelt(mentions.keys, leave)
        names = [np.union1d(a.names, b) for a, b in zip(dense, spelt, strict=True)]
        counts = np.array([len(one) for one in names], dtype=np.int64)
        pairs = Pairs(np.repeat(np.arange(len(names)), counts), _joined(names))
        cosines = self._cosines(mentions, dense, names)
        found = compare(self.lexicon, self.translations, mentions, pairs, cosines)
        bounds = np.searchsorted(found.mention, np.arange(len(names) + 1))
        return [
            Pool(
                concepts=found.concept[start:end],
                names=found.name[start:end],
                cosines=found.cosine[start:end],
                table=found.table[start:end],
                spelt=spelt[one],
                dense=len(dense[one].names),
                path=near.path,
            )
            for one, (start, end) in enumerate(pairwise(bounds.tolist()))
        ]

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
        count = DENSE_NAMES
        while True:
            count *= 4
            near = self.collection.nearest_texts(vector, count, self._rows())
            if near.generation != self.lexicon.generation:
                raise StaleLexiconError(near.generation)
            found = self._near(one, near.ranked[0], leave)
            first = np.unique(self.lexicon.concept_of[found.names], return_index=True)[1]
            if len(first) >= concepts or len(near.ranked[0].rows) < count:
                places = sorted(first.tolist())
                return [(int(found.names[at]), float(found.scores[at])) for at in places]

    def _rows(self) -> IntVector | None:
        return (
            self.lexicon.only_rows if self.allowed is None else self.lexicon.rows_of(self.allowed)
        )

    def _kept(self, one: int, names: IntVector, leave: Leave | None) -> IntVector:
        if self.allowed is not None:
            names = names[self.allowed[names]]
        return names if leave is None else names[~leave(one, names)]

    def _dense(self, one: int, found: Ranked, leave: Leave | None) -> _Near:
        names, scores = self._near(one, found, leave)
        # Ties with the last one stay, so that nothing is decided by the order of rows.
        if len(names) > DENSE_NAMES:
            some = scores >= scores[DENSE_NAMES - 1]
            names, scores = names[some], scores[some]
        return _Near(names, scores)

    def _near(self, one: int, found: Ranked, leave: Leave | None) -> _Near:
        counts = self.lexicon.count_of_rows(found.rows)
        names = self.lexicon.names_of_rows(found.rows)
        scores = np.repeat(found.scores, counts)
        if self.allowed is not None or leave is not None:
            kept = self._kept(one, names, leave)
            scores = scores[np.isin(names, kept)]
            names = kept
        return _Near(names, scores)

    def _spelt(self, keys: Sequence[str], leave: Leave | None) -> list[IntVector]:
        ngrams = self.lexicon.ngrams
        grams = ngrams.grams(keys)
        count = SPELT_NAMES * (1 if leave is None else _SPARE)
        found = [ngrams.nearest(grams, one, count, self.allowed) for one in range(len(keys))]
        return [self._kept(one, names, leave)[:SPELT_NAMES] for one, names in enumerate(found)]

    def _cosines(
        self, mentions: Mentions, dense: Sequence[_Near], names: Sequence[IntVector]
    ) -> Floats:
        """Return the cosines of all pairs; those of the dense leg are known."""
        new = [np.setdiff1d(all_, near.names) for all_, near in zip(names, dense, strict=True)]
        parts = []
        for one, near in enumerate(dense):
            rows = self.collection.vectors_of(self.lexicon.rows[new[one]].tolist())
            scores = rescore(mentions.vectors[one], rows)
            order = np.argsort(np.concatenate([near.names, new[one]]), kind="stable")
            parts.append(np.concatenate([near.scores, scores])[order])
        return np.concatenate(parts) if parts else np.zeros(0)


class _Near(NamedTuple):
    """Names of the dense leg, best first, and their exact cosines."""

    names: IntVector
    scores: Floats


def _joined(parts: Sequence[IntVector]) -> IntVector:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
