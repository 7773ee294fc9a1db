"""The names of one committed state as arrays, to compare many candidates at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.ngrams import NgramIndex
from mirror_index.linking.words import FILLERS, fold, is_negation, is_number, pole
from mirror_index.records import Scope
from mirror_index.vectors import BoolVector, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection
    from mirror_index.collection.nearest import KeyedNames

SCOPES = tuple(Scope)
Floats = NDArray[np.float64]


class Words(NamedTuple):
    """The distinct folded words of several keys; those of key i lie at ``bounds[i]:bounds[i + 1]``.

    Attributes:
        bounds: (keys + 1,) int64.
        ids: ascending word numbers within a key; words that no name holds are past the vocabulary.
        bag: (keys,) equal for keys of the same words in any order.
        numbers: (keys,) how many of the words number things.
        poles: (2, keys) bit sets: of which pairs of opposites a key holds one or the other side.
        negated: (keys,) True where a word says that something is absent.
    """

    bounds: IntVector
    ids: IntVector
    bag: IntVector
    numbers: IntVector
    poles: NDArray[np.uint64]
    negated: BoolVector


class Lexicon:
    """All names of live concepts, those of one concept side by side.

    Attributes:
        generation: number of the committed state.
        concept_ids: id of each concept.
        concept_of: (names,) number of the concept of each name.
        first: (concepts + 1,) where the names of each concept begin.
        texts: each name as the source spells it.
        keys: key of each name.
        scopes: (names,) rank of the scope.
        rows: (names,) row of its vector.
        ngrams: index of the keys.
        name_of: the first name of each key.
        vocabulary: number of each folded word.
        words: of the keys.
        idf: (vocabulary,) inverse document frequency of each word, by name.
        is_number: (vocabulary,) True for words that number things.
        only_rows: ascending rows of names; None where no other text is there.
    """

    def __init__(self, held: KeyedNames) -> None:
        names = held.names
        self.generation = held.generation
        self.texts = [name.text for name in names]
        self.keys = [name.key for name in names]
        ranks = {scope.value: scope.rank for scope in SCOPES}
        self.scopes = np.array([ranks[name.scope] for name in names], dtype=np.int64)
        self.rows = np.array([name.row for name in names], dtype=np.int64)
        number: dict[str, int] = {}
        self.concept_of = np.array(
            [number.setdefault(name.concept_id, len(number)) for name in names], dtype=np.int64
        )
        self.concept_ids = list(number)
        self.first = np.searchsorted(self.concept_of, np.arange(len(number) + 1))
        self.ngrams = NgramIndex.of(self.keys)
        self.name_of = {key: name for name, key in reversed(list(enumerate(self.keys)))}
        self.vocabulary: dict[str, int] = {}
        self.words = words_of(self.keys, self.vocabulary)
        spread = np.bincount(self.words.ids, minlength=len(self.vocabulary))
        self.idf: Floats = np.log((1.0 + len(names)) / (1.0 + spread)) + 1.0
        self.is_number = np.array([is_number(word) for word in self.vocabulary], dtype=np.bool_)
        self._by_row = np.argsort(self.rows, kind="stable")
        self._sorted_rows = self.rows[self._by_row]
        rows = np.unique(self.rows)
        self.only_rows = None if len(rows) == held.texts else rows

    def words_of(self, keys: Sequence[str]) -> Words:
        """Return the words of other keys; unknown ones get numbers past the vocabulary."""
        return words_of(keys, dict(self.vocabulary))

    def count_of_rows(self, rows: IntVector) -> IntVector:
        """Return how many names have their vectors at each row."""
        ends = np.searchsorted(self._sorted_rows, rows, side="right")
        counts: IntVector = ends - np.searchsorted(self._sorted_rows, rows, side="left")
        return counts

    def names_of_rows(self, rows: IntVector) -> IntVector:
        """Return the names whose vectors are at the rows, in the order of the rows."""
        starts = np.searchsorted(self._sorted_rows, rows, side="left")
        ends = np.searchsorted(self._sorted_rows, rows, side="right")
        names: IntVector = self._by_row[ranges(starts, ends)]
        return names

    def rows_of(self, allowed: BoolVector) -> IntVector:
        """Return the ascending rows of some names, given as a mask."""
        rows: IntVector = np.unique(self.rows[allowed])
        return rows


_KEPT: WeakKeyDictionary[Collection, Lexicon] = WeakKeyDictionary()


def lexicon_of(collection: Collection, generation: int | None = None) -> Lexicon:
    """Return the lexicon of a collection, made once for each committed state.

    Args:
        collection: a dictionary.
        generation: the state wanted; None takes the one made last, if any.
    """
    held = _KEPT.get(collection)
    if held is None or (generation is not None and held.generation != generation):
        held = Lexicon(collection.keyed_names())
        _KEPT[collection] = held
    return held


def ranges(starts: IntVector, ends: IntVector) -> IntVector:
    """Return ``[*range(starts[0], ends[0]), *range(starts[1], ends[1]), ...]``."""
    lengths = ends - starts
    stops = np.cumsum(lengths)
    total = int(stops[-1]) if len(stops) else 0
    places: IntVector = np.arange(total) + np.repeat(starts - (stops - lengths), lengths)
    return places


def sums(places: IntVector, values: Floats, count: int) -> Floats:
    """Return the (count,) sums of the values at each place."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)


def words_of(keys: Sequence[str], vocabulary: dict[str, int]) -> Words:
    """Return the words of keys; words that `vocabulary` lacks are added to it."""
    bounds = np.zeros(len(keys) + 1, dtype=np.int64)
    bag = np.zeros(len(keys), dtype=np.int64)
    numbers = np.zeros(len(keys), dtype=np.int64)
    poles = np.zeros((2, len(keys)), dtype=np.uint64)
    negated = np.zeros(len(keys), dtype=np.bool_)
    ids: list[int] = []
    for place, key in enumerate(keys):
        raw = key.split()
        words = [fold(word) for word in raw if word not in FILLERS] or raw
        own = [vocabulary.setdefault(word, len(vocabulary)) for word in words]
        ids.extend(sorted(set(own)))
        bounds[place + 1] = len(ids)
        bag[place] = hash(tuple(sorted(own)))
        numbers[place] = sum(map(is_number, set(words)))
        for word in raw:
            side = pole(word)
            if side is not None:
                poles[side.side, place] |= np.uint64(1 << side.pair)
            if is_negation(word):
                negated[place] = True
    return Words(
        bounds=bounds,
        ids=np.array(ids, dtype=np.int64),
        bag=bag,
        numbers=numbers,
        poles=poles,
        negated=negated,
    )
