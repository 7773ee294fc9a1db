"""Words that stand for one another in a dictionary, learned from the names of its concepts.

Where a concept is called "renal cyst" and "kidney cyst", what differs is taken as a translation:
"renal" for "kidney". Pairs seen in many concepts weigh more. It is the first step of the alignment
of Brown et al. (Computational Linguistics 19(2), 1993), on differences only, which names are
short enough for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.vectors import BoolVector, IntVector

_MOST_NAMES = 12
_MOST_WORDS = 4
_SMOOTHING = 0.5
_LEAST = 0.05
_MOST_PAIRS = 100_000


class Seen(NamedTuple):
    """How much speaks for word pairs in the names of some concepts, and for the words in all.

    Attributes:
        pairs: weight by the numbers of a word and of what stood for it.
        words: weight by the number of the word.
    """

    pairs: dict[tuple[int, int], float]
    words: dict[int, float]

    @classmethod
    def of(cls, lexicon: Lexicon, concepts: BoolVector | None = None) -> Seen:
        """Count in the names of some concepts (a mask), None for all."""
        pairs: dict[tuple[int, int], float] = defaultdict(float)
        words: dict[int, float] = defaultdict(float)
        for mine, theirs, weight in _differences(lexicon, concepts):
            for word in mine:
                words[word] += weight * len(theirs)
                for other in theirs:
                    pairs[word, other] += weight
        return cls(pairs, words)

    def and_of(self, other: Seen) -> Seen:
        """Return what speaks for them here and there, in disjoint sets of concepts."""
        pairs, words = defaultdict(float, self.pairs), defaultdict(float, self.words)
        for pair, weight in other.pairs.items():
            pairs[pair] += weight
        for word, weight in other.words.items():
            words[word] += weight
        return Seen(pairs, words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translations:
    """Word pairs with weights in (0, 1), in both directions.

    Attributes:
        bounds: (vocabulary + 1,) where the translations of each word begin.
        words: their numbers.
        weights: how often the one stood where the other did.
    """

    bounds: IntVector
    words: IntVector
    weights: Floats

    @classmethod
    def learn(cls, lexicon: Lexicon, seen: Seen) -> Translations:
        """Keep the word pairs of a lexicon that were seen often enough."""
        count = len(seen.pairs)
        first = np.fromiter((word for word, _ in seen.pairs), dtype=np.int64, count=count)
        second = np.fromiter((other for _, other in seen.pairs), dtype=np.int64, count=count)
        together = np.fromiter(seen.pairs.values(), dtype=np.float64, count=count)
        whole = np.array([seen.words[word] for word in first.tolist()], dtype=np.float64)
        return cls.of(lexicon, first, second, together / (whole + _SMOOTHING))

    @classmethod
    def of(
        cls, lexicon: Lexicon, first: IntVector, second: IntVector, weights: Floats
    ) -> Translations:
        """Keep the pairs that weigh enough, the heavier direction for both.

        Args:
            lexicon: names the words.
            first: (n,) numbers of words.
            second: (n,) the words that stand for them.
            weights: (n,) how often they do.
        """
        size = len(lexicon.vocabulary)
        heavy = weights >= _LEAST
        one, other = first[heavy], second[heavy]
        codes = np.concatenate([one * size + other, other * size + one])
        both = np.tile(weights[heavy], 2)
        order = np.lexsort((-both, codes))
        order = order[np.diff(codes[order], prepend=-1) > 0]
        if len(order) > _MOST_PAIRS:
            order = order[np.lexsort((codes[order], -both[order]))[:_MOST_PAIRS]]
            order = order[np.argsort(codes[order])]
        left, right = np.divmod(codes[order], max(1, size))
        return cls(
            bounds=np.searchsorted(left, np.arange(size + 1)), words=right, weights=both[order]
        )

    @classmethod
    def none(cls, lexicon: Lexicon) -> Translations:
        """Return a table that holds nothing."""
        nothing = np.empty(0, dtype=np.int64)
        return cls.of(lexicon, nothing, nothing, np.empty(0))

    def to_json(self, lexicon: Lexicon) -> list[Any]:
        """Return ``[word, word, weight]`` triples, each pair once."""
        spelt = list(lexicon.vocabulary)
        firsts = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        triples = zip(firsts.tolist(), self.words.tolist(), self.weights.tolist(), strict=True)
        return [[spelt[a], spelt[b], round(weight, 4)] for a, b, weight in triples if a < b]

    @classmethod
    def from_json(cls, lexicon: Lexicon, triples: list[Any]) -> Translations:
        """Return what `to_json` gave; pairs with a word that no name holds any more are gone."""
        number = lexicon.vocabulary.get
        first = np.array([number(triple[0], -1) for triple in triples], dtype=np.int64)
        second = np.array([number(triple[1], -1) for triple in triples], dtype=np.int64)
        weights = np.array([triple[2] for triple in triples], dtype=np.float64)
        known = (first >= 0) & (second >= 0)
        return cls.of(lexicon, first[known], second[known], weights[known])


def _differences(
    lexicon: Lexicon, concepts: BoolVector | None
) -> Iterator[tuple[set[int], set[int], float]]:
    """Yield what two names of a concept do not share, and the weight of one word pair."""
    bounds, ids = lexicon.words.bounds, lexicon.words.ids
    for concept, (start, end) in enumerate(zip(lexicon.first[:-1], lexicon.first[1:], strict=True)):
        if concepts is not None and not concepts[concept]:
            continue
        names = [
            set(ids[bounds[name] : bounds[name + 1]].tolist())
            for name in range(start, min(end, start + _MOST_NAMES))
        ]
        for one, other in permutations(names, 2):
            mine, theirs = one - other, other - one
            if 0 < len(mine) <= _MOST_WORDS and 0 < len(theirs) <= _MOST_WORDS:
                yield mine, theirs, 1.0 / (max(1, len(names) - 1) * len(mine) * len(theirs))
