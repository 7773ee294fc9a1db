"""Held-out synonyms as mentions: the examples that ranking and calibration learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mirror_index.linking.candidates import Finder, Pool
from mirror_index.linking.features import FEATURES, Mentions
from mirror_index.linking.fitting import Choices, fit_confidence, fit_ranking, ranking_loss
from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.linking.model import LinkModel, confidence_features, softmax
from mirror_index.linking.network import fit_network
from mirror_index.linking.projection import Projection, learn
from mirror_index.linking.space import Space
from mirror_index.linking.translations import Seen, Translations
from mirror_index.vectors import BoolVector, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection

FEWEST = 50
_BLOCK = 256
_WORD_PAIRS = FEATURES.index("word pairs")


def eligible(lexicon: Lexicon) -> IntVector:
    """Return the names that can stand for mentions, ascending.

    Those are names of concepts that have a name with another key, and other words than they: one
    that only orders them anew teaches nothing about mentions. Labels serve where there are too few
    others, since it shows in a concept that its label is held out.
    """
    places: dict[str, int] = {}
    keys = np.array([places.setdefault(key, len(places)) for key in lexicon.keys], dtype=np.int64)
    bags = _groups(lexicon.concept_of, lexicon.words.bag)
    helpful = (_distinct(lexicon.concept_of, keys) > 1) & (_distinct(bags, keys) == 1)
    synonyms = helpful & (lexicon.scopes > 0)
    found: IntVector = np.flatnonzero(synonyms if synonyms.sum() >= FEWEST else helpful)
    return found


def _groups(first: IntVector, second: IntVector) -> IntVector:
    """Return equal numbers where both values are equal."""
    order = np.lexsort((second, first))
    fresh = (np.diff(first[order], prepend=-1) != 0) | (np.diff(second[order], prepend=0) != 0)
    groups = np.empty(len(first), dtype=np.int64)
    groups[order] = np.cumsum(fresh)
    return groups


def _distinct(groups: IntVector, keys: IntVector) -> IntVector:
    """Return for each name how many distinct keys the names of its group have."""
    order = np.lexsort((keys, groups))
    owners = groups[order]
    fresh = (np.diff(owners, prepend=-1) != 0) | (np.diff(keys[order], prepend=-1) != 0)
    counts: IntVector = np.bincount(owners[fresh])[groups] if len(groups) else groups
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Claimed probabilities of best candidates, whether they were right, and their weights.

    `accuracy` is the share of the names with a concept whose best candidate was right.
    """

    claimed: Floats
    right: BoolVector
    weights: Floats
    accuracy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Held-out names, each searched without itself, and without its concept.

    Attributes:
        pools: what was found; none of them is empty.
        concepts: number of the right concept, -1 where it was left out.
        second: True for the half of the concepts that a first fit does not see.
        projection: the map by which mentions are to be searched, None for none.
        seen: what speaks for word pairs in the whole dictionary.
    """

    pools: Sequence[Pool]
    concepts: IntVector
    second: BoolVector
    projection: Projection | None
    seen: Seen

    def of(self, chosen: BoolVector) -> Examples:
        """Return some of them."""
        return replace(
            self,
            pools=[self.pools[place] for place in np.flatnonzero(chosen).tolist()],
            concepts=self.concepts[chosen],
            second=self.second[chosen],
        )

    def without_word_pairs(self) -> Examples:
        """Return them with that feature set to zero."""
        pools = []
        for pool in self.pools:
            table = pool.table.copy()
            table[:, _WORD_PAIRS] = 0.0
            pools.append(replace(pool, table=table))
        return replace(self, pools=pools)

    def gain_of_word_pairs(self) -> float:
        """Return the share of the loss on the second half that the word pairs save."""
        without = self.without_word_pairs()._loss_of_linear()
        return 1.0 - self._loss_of_linear() / max(without, 1e-9)

    def _loss_of_linear(self) -> float:
        """Return the loss on the second half of a linear ranking fitted on the first."""
        first, second = self.of(~self.second).choices(), self.of(self.second).choices()
        return ranking_loss(second, second.table @ np.array(fit_ranking(first)))

    def loss(self, model: LinkModel) -> float:
        """Return the ranking loss of a model on these examples."""
        choices = self.choices()
        utilities = [
            model.utilities(choices.table[start:end], choices.gains[start:end])
            for start, end in pairwise(choices.bounds.tolist())
        ]
        return ranking_loss(choices, np.concatenate([*utilities, np.zeros(0)]))

    def choices(self) -> Choices:
        """Return the examples whose right concept was found."""
        tables, gains, bounds, right = [], [], [0], []
        for pool, concept in zip(self.pools, self.concepts.tolist(), strict=True):
            place = np.flatnonzero(pool.concepts == concept)
            if len(place):
                right.append(bounds[-1] + int(place[0]))
                bounds.append(bounds[-1] + len(pool.concepts))
                tables.append(pool.table)
                gains.append(pool.gains)
        return Choices(
            table=np.concatenate([*tables, np.zeros((0, len(FEATURES)))]),
            gains=np.concatenate([*gains, np.zeros(0)]),
            bounds=np.array(bounds, dtype=np.int64),
            right=np.array(right, dtype=np.int64),
        )

    def fitted(
        self, nil_share: float, *, network: bool, ranking: tuple[float, ...] | None = None
    ) -> LinkModel:
        """Fit both models.

        Args:
            nil_share: see `weights`.
            network: whether the ranking has one.
            ranking: weights of its linear part, where they were fitted before.
        """
        choices = self.choices()
        ranking = ranking or fit_ranking(choices)
        plain = LinkModel(
            ranking=ranking,
            confidence=(),
            bias=0.0,
            network=fit_network(choices, ranking) if network else None,
        )
        table, right = [], []
        for pool, concept in zip(self.pools, self.concepts.tolist(), strict=True):
            shares = softmax(plain.utilities(pool.table, pool.gains))
            top = int(np.argmax(shares))
            gain = float(pool.gains[top])
            table.append(confidence_features(pool.table[top], float(shares[top]), gain))
            right.append(float(pool.concepts[top] == concept))
        found = fit_confidence(np.array(table), np.array(right), self.weights(nil_share))
        return replace(plain, confidence=found.weights, bias=found.bias)

    def judged(self, model: LinkModel, nil_share: float) -> Judged:
        """Return what a model claims of them and what is true."""
        claims = [model.probabilities(pool.table, pool.gains) for pool in self.pools]
        tops = [int(np.argmax(claim)) for claim in claims]
        right = np.array(
            [
                pool.concepts[top] == concept
                for pool, top, concept in zip(self.pools, tops, self.concepts.tolist(), strict=True)
            ]
        )
        named = self.concepts >= 0
        return Judged(
            claimed=np.array([claim[top] for claim, top in zip(claims, tops, strict=True)]),
            right=right,
            weights=self.weights(nil_share),
            accuracy=float(right[named].mean()) if named.any() else 0.0,
        )

    def weights(self, nil_share: float) -> Floats:
        """Weigh the kinds so that those without a concept make up `nil_share`; the mean is 1."""
        nil = self.concepts < 0
        nils, others = max(1, int(nil.sum())), max(1, int((~nil).sum()))
        share = np.where(nil, nil_share / nils, (1.0 - nil_share) / others)
        return np.asarray(share * len(nil), dtype=np.float64)


def examples_of(
    collection: Collection, lexicon: Lexicon, names: IntVector, rng: np.random.Generator
) -> Examples:
    """Search with stored names for mentions; nothing is encoded.

    The map and the word pairs are learned from the half of the concepts that a mention is not of,
    since it must not have taught what it is judged by.
    """
    half = rng.integers(0, 2, len(lexicon.concept_ids)).astype(np.bool_)
    maps = learn(collection, lexicon, half, rng)
    seen = [Seen.of(lexicon, half == side) for side in (False, True)]
    pools: list[Pool] = []
    concepts: list[int] = []
    second: list[bool] = []
    for side in (False, True):
        projection = None if maps is None else (maps.first if side else maps.second)
        finder = Finder(
            space=Space.of(collection, lexicon, projection),
            translations=Translations.learn(lexicon, seen[not side]),
        )
        mine = names[half[lexicon.concept_of[names]] == side]
        for pool, concept in _searched(finder, mine):
            if len(pool.concepts):
                pools.append(pool)
                concepts.append(concept)
                second.append(side)
    return Examples(
        pools=pools,
        concepts=np.array(concepts, dtype=np.int64),
        second=np.array(second, dtype=np.bool_),
        projection=None if maps is None else maps.whole,
        seen=seen[0].and_of(seen[1]),
    )


def _searched(finder: Finder, names: IntVector) -> Iterator[tuple[Pool, int]]:
    """Yield what each name finds and its concept (-1 where it is left out)."""
    lexicon = finder.lexicon
    keys = np.array(list(lexicon.keys), dtype=object)
    for start in range(0, len(names), _BLOCK):
        block = names[start : start + _BLOCK]
        vectors = finder.space.collection.vectors_of(lexicon.rows[block])
        mentions = Mentions([lexicon.keys[name] for name in block.tolist()], vectors)
        concepts = lexicon.concept_of[block]

        def same_key(one: int, found: IntVector, block: IntVector = block) -> BoolVector:
            same: BoolVector = keys[found] == keys[block[one]]
            return same

        def same_concept(one: int, found: IntVector, block: IntVector = block) -> BoolVector:
            same: BoolVector = lexicon.concept_of[found] == lexicon.concept_of[block[one]]
            return same | same_key(one, found, block)

        known, unknown = finder.pools_without(mentions, [same_key, same_concept])
        yield from zip(known, concepts.tolist(), strict=True)
        yield from zip(unknown, [-1] * len(block), strict=True)
