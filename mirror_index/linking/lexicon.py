"""The names of one committed state as arrays, to compare many candidates at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.ngrams import NgramIndex
from mirror_index.linking.ragged import ranges
from mirror_index.linking.strings import Strings
from mirror_index.linking.words import FILLERS, fold, is_negation, is_number, pole
from mirror_index.records import Scope
from mirror_index.vectors import BoolVector, IntVector

if TYPE_CHECKING:
    from mirror_index.collection.nearest import KeyedNames

SCOPES = tuple(Scope)
Floats = NDArray[np.float64]
Array = NDArray[Any]


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
        arrays: all that it is made of, by name, as `lexiconfile` stores it.
        concept_ids: id of each concept.
        concept_of: (names,) number of the concept of each name.
        first: (concepts + 1,) where the names of each concept begin.
        texts: each name as the source spells it.
        keys: key of each name.
        scopes: (names,) rank of the scope.
        rows: (names,) row of its vector.
        ngrams: index of the keys.
        vocabulary: number of each folded word.
        words: of the keys.
        idf: (vocabulary,) inverse document frequency of each word, by name.
        is_number: (vocabulary,) True for words that number things.
        only_rows: ascending rows of names; None where no other text is there.
    """

    def __init__(self, generation: int, texts: int, arrays: Mapping[str, Array]) -> None:
        self.generation = generation
        self.arrays = arrays
        self.concept_ids = _strings(arrays, "concept_ids")
        self.texts = _strings(arrays, "texts")
        self.keys = _strings(arrays, "keys")
        self.scopes: IntVector = arrays["scopes"]
        self.rows: IntVector = arrays["rows"]
        self.concept_of: IntVector = arrays["concept_of"]
        self.first = np.searchsorted(self.concept_of, np.arange(len(self.concept_ids) + 1))
        self.ngrams = NgramIndex.from_arrays(_under(arrays, "ngrams"))
        vocabulary = _strings(arrays, "vocabulary")
        self.vocabulary = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        self.words = Words(**_under(arrays, "words"))
        spread = np.bincount(self.words.ids, minlength=len(self.vocabulary))
        self.idf: Floats = np.log((1.0 + len(self.keys)) / (1.0 + spread)) + 1.0
        self.is_number: BoolVector = arrays["is_number"]
        self._by_key: IntVector = arrays["by_key"]
        self._by_row: IntVector = arrays["by_row"]
        self._sorted_rows = self.rows[self._by_row]
        rows = self._sorted_rows[np.diff(self._sorted_rows, prepend=-1) > 0]
        self.only_rows = None if len(rows) == texts else rows

    @classmethod
    def of(cls, held: KeyedNames) -> Lexicon:
        """Arrange the names of a collection."""
        names = held.names
        keys = [name.key for name in names]
        ranks = {scope.value: scope.rank for scope in SCOPES}
        rows = np.array([name.row for name in names], dtype=np.int64)
        number: dict[str, int] = {}
        concept_of = [number.setdefault(name.concept_id, len(number)) for name in names]
        vocabulary: dict[str, int] = {}
        words = words_of(keys, vocabulary)
        strings = {
            "concept_ids": number,
            "texts": [name.text for name in names],
            "keys": keys,
            "vocabulary": vocabulary,
        }
        arrays: dict[str, Array] = {
            "scopes": np.array([ranks[name.scope] for name in names], dtype=np.int64),
            "rows": rows,
            "concept_of": np.array(concept_of, dtype=np.int64),
            "is_number": np.array([is_number(word) for word in vocabulary], dtype=np.bool_),
            "by_key": np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64),
            "by_row": np.argsort(rows, kind="stable"),
        }
        for name, values in strings.items():
            packed = Strings.of(values)
            arrays |= {f"{name}.data": packed.data, f"{name}.bounds": packed.bounds}
        arrays |= {f"words.{name}": array for name, array in words._asdict().items()}
        ngrams = NgramIndex.of(keys).to_arrays()
        arrays |= {f"ngrams.{name}": array for name, array in ngrams.items()}
        return cls(held.generation, held.texts, arrays)

    def name_of(self, key: str) -> int:
        """Return the first name with a key, -1 when there is none."""
        order, keys = self._by_key, self.keys
        at = bisect_left(order, key, key=keys.__getitem__)
        return int(order[at]) if at < len(order) and keys[order[at]] == key else -1

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


def _strings(arrays: Mapping[str, Array], name: str) -> Strings:
    return Strings(arrays[f"{name}.data"], arrays[f"{name}.bounds"])


def _under(arrays: Mapping[str, Array], group: str) -> dict[str, Array]:
    """Return the arrays whose names begin with that of a group, under the rest of their names."""
    start = f"{group}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


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
