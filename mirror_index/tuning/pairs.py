"""Positive pairs for one epoch, and which rows of a batch are positives or negatives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mirror_index.config import MaskUnit, MirrorConfig
from mirror_index.tuning.augment import Span, mask_span, mask_units, respell, words_of
from mirror_index.tuning.strings import Split, near_key
from mirror_index.vectors import BoolVector

MAX_PAIRS_PER_CONCEPT = 20
"""Pairs a concept can have in an epoch, so that a few large concepts do not crowd out the rest."""

IDENTITY_SHARE = 5
"""Where synonyms lead, one identity pair for so many of them: they teach more in the same time."""

ENOUGH_SYNONYMS = 10
"""Synonyms lead when there is at least one pair of them for so many strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two strings that mean the same; `left_text` and `right_text` are they before any mask."""

    left: str
    right: str
    left_text: str
    right_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """How the 2n rows of a batch stand to each other: n left views, then their n right views.

    A pair of rows that is in neither matrix is left out of the loss.

    Attributes:
        positives: (2n, 2n) bool, symmetric, diagonal False.
        negatives: (2n, 2n) bool, symmetric, diagonal False.
    """

    positives: BoolVector
    negatives: BoolVector


class PairSampler:
    """Draws the pairs of each epoch: identity pairs, and pairs of names of one concept.

    Args:
        split: strings and concepts to train on.
        config: span mask, whether to use synonyms, and how many.
        mask_token: of the tokenizer; None if it has none.
        token_spans: where the tokens of a text stand; only asked when tokens are masked.
    """

    def __init__(
        self,
        split: Split,
        config: MirrorConfig,
        mask_token: str | None,
        token_spans: Callable[[str], Sequence[Span]] = words_of,
    ) -> None:
        self._token_spans = token_spans
        self._strings = split.strings
        self._config = config
        self._mask_token = mask_token
        self._groups = [names for names in split.concepts.values() if len(names) > 1]
        self._bearers = _bearers(split.concepts)
        if not config.synonyms:
            self._groups = []

    @property
    def synonym_pairs(self) -> int:
        """Pairs of names in an epoch."""
        available = sum(
            min(len(names) * (len(names) - 1) // 2, MAX_PAIRS_PER_CONCEPT) for names in self._groups
        )
        return min(available, self._config.synonym_pairs)

    @property
    def synonyms_lead(self) -> bool:
        """Whether synonyms are the main signal: at least a tenth as many pairs as strings."""
        return self.synonym_pairs * ENOUGH_SYNONYMS >= max(len(self._strings), 1)

    @property
    def identity_pairs(self) -> int:
        """Identity pairs in an epoch: all strings, or a fifth of the synonyms where they lead."""
        if self.synonyms_lead:
            return min(len(self._strings), -(-self.synonym_pairs // IDENTITY_SHARE))
        return len(self._strings)

    def epoch(self, generator: np.random.Generator) -> list[Pair]:
        """Return the pairs of one epoch in random order; masks are drawn anew."""
        chosen = generator.permutation(len(self._strings))[: self.identity_pairs]
        pairs = [self._identity(self._strings[index], generator) for index in chosen]
        pairs += self._synonyms(generator)
        return [pairs[index] for index in generator.permutation(len(pairs))]

    def relations(self, pairs: Sequence[Pair]) -> Relations:
        """Return positives and negatives of a batch.

        Rows of one pair are positives. Rows whose texts are names of one concept are positives when
        synonyms are used, else they are left out. Rows that are near-identical (`near_key`) in any
        other way are left out. All the rest are negatives.
        """
        keys = [near_key(pair.left_text) for pair in pairs]
        keys += [near_key(pair.right_text) for pair in pairs]
        number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
        identity = np.array([number[key] for key in keys])
        left_out = identity[:, None] == identity[None, :]
        related = self._related(keys)
        half = len(pairs)
        positives = np.zeros_like(left_out)
        rows = np.arange(half)
        positives[rows, rows + half] = positives[rows + half, rows] = True
        if self._config.synonyms:
            positives |= related
        np.fill_diagonal(positives, val=False)
        return Relations(positives=positives, negatives=~(positives | left_out | related))

    def _related(self, keys: Sequence[str]) -> BoolVector:
        rows: dict[str, list[int]] = defaultdict(list)
        for row, key in enumerate(keys):
            for concept_id in self._bearers.get(key, ()):
                rows[concept_id].append(row)
        related = np.zeros((len(keys), len(keys)), dtype=np.bool_)
        for members in rows.values():
            related[np.ix_(members, members)] = True
        return related

    def _identity(self, text: str, generator: np.random.Generator) -> Pair:
        right = text
        if self._config.noise and generator.random() < self._config.noise:
            right = respell(right, generator)
        right = self._masked(right, generator)
        return Pair(left=text, right=right, left_text=text, right_text=text)

    def _masked(self, text: str, generator: np.random.Generator) -> str:
        if len(text) < self._config.mask_from:
            return text
        length, unit = self._config.span_mask, self._config.mask
        if unit is MaskUnit.CHAR:
            return mask_span(text, length, self._mask_token, generator)
        spans = self._token_spans if unit is MaskUnit.TOKEN else words_of
        return mask_units(text, spans(text), length, self._mask_token, generator)

    def _synonyms(self, generator: np.random.Generator) -> Iterator[Pair]:
        drawn = [pair for names in self._groups for pair in _pairs_of(names, generator)]
        chosen = generator.permutation(len(drawn))[: self._config.synonym_pairs]
        for index in chosen:
            left, right = drawn[index]
            yield Pair(left=left, right=right, left_text=left, right_text=right)


def _pairs_of(names: Sequence[str], generator: np.random.Generator) -> list[tuple[str, str]]:
    """Return every pair of `names`, or as many random ones as a concept can have."""
    if len(names) * (len(names) - 1) // 2 <= MAX_PAIRS_PER_CONCEPT:
        return list(combinations(names, 2))
    drawn: set[tuple[int, int]] = set()
    while len(drawn) < MAX_PAIRS_PER_CONCEPT:
        first, second = sorted(
            int(place) for place in generator.choice(len(names), 2, replace=False)
        )
        drawn.add((first, second))
    return [(names[first], names[second]) for first, second in sorted(drawn)]


def _bearers(concepts: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    bearers: dict[str, list[str]] = defaultdict(list)
    for concept_id, names in concepts.items():
        for key in {near_key(name): None for name in names}:
            bearers[key].append(concept_id)
    return dict(bearers)
