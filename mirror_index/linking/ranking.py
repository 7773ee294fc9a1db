"""Ranking mentions' candidates in the newest state of a collection, with its calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking.calibration import Calibration, load_calibration
from mirror_index.linking.candidates import Finder, Leave
from mirror_index.linking.deciding import Proposal
from mirror_index.linking.exact import ExactResult
from mirror_index.linking.features import Mentions
from mirror_index.linking.lexicon import SCOPES, Lexicon
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.proposals import Proposals, Ranked, respelt
from mirror_index.linking.space import StaleLexiconError, space_of
from mirror_index.linking.translations import Translations
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection


class _WordPairs(NamedTuple):
    """Word pairs, and the lexicon that numbers their words."""

    lexicon: Lexicon
    translations: Translations


class Ranker:
    """Ranks candidates for one run of linking.

    Attributes:
        options: as given, with the threshold that a wished precision stands for.
    """

    def __init__(self, collection: Collection, options: LinkOptions) -> None:
        self._collection = collection
        self.options = options
        self._word_pairs: _WordPairs | None = None
        if options.precision is not None:
            threshold = self._calibration.threshold_for(options.precision)
            self.options = replace(options, min_probability=threshold)

    @cached_property
    def _calibration(self) -> Calibration:
        return load_calibration(self._collection)

    def _translations(self, lexicon: Lexicon) -> Translations:
        """Return the word pairs of the calibration in the numbers of a lexicon."""
        if self._word_pairs is None or self._word_pairs.lexicon is not lexicon:
            self._word_pairs = _WordPairs(lexicon, self._calibration.translations(lexicon))
        return self._word_pairs.translations

    @property
    def calibrated(self) -> bool:
        """Whether the model was learned from this dictionary."""
        return self._calibration.calibrated

    @property
    def source(self) -> str:
        """Where the model comes from, for the trace."""
        calibration = self._calibration
        if not calibration.calibrated:
            return f"default coefficients ({calibration.reason})"
        pairs = f", {len(calibration.word_pairs)} word pairs" if calibration.word_pairs else ""
        return (
            f"calibrated on {calibration.examples} names of generation "
            f"{calibration.generation}{pairs}"
        )

    def ranked(
        self, mentions: Sequence[str], keys: Sequence[str], barred: Sequence[frozenset[str]]
    ) -> list[Ranked]:
        """Rank the candidates of each mention.

        Args:
            mentions: the raw strings.
            keys: their keys, none of them empty.
            barred: concepts that each mention never means.
        """
        if not mentions:
            return []
        generation = None
        while True:
            lexicon = lexicon_of(self._collection, generation)
            vectors = self._vectors(lexicon, mentions, keys)
            try:
                return self._ranked(lexicon, Mentions(keys, vectors), barred)
            except StaleLexiconError as stale:
                generation = stale.generation

    def _vectors(
        self, lexicon: Lexicon, mentions: Sequence[str], keys: Sequence[str]
    ) -> FloatMatrix:
        """Return the stored vectors of the mentions that are names, and encode the others."""
        names = np.array([lexicon.name_of(key) for key in keys], dtype=np.int64)
        new = np.flatnonzero(names < 0).tolist()
        encoded = self._collection.encode([mentions[one] for one in new])
        vectors = np.empty((len(keys), encoded.shape[1]), dtype=np.float32)
        vectors[new] = encoded
        known = names >= 0
        vectors[known] = self._collection.vectors_of(lexicon.rows[names[known]].tolist())
        return vectors

    def _ranked(
        self, lexicon: Lexicon, mentions: Mentions, barred: Sequence[frozenset[str]]
    ) -> list[Ranked]:
        if not lexicon.texts:
            nothing = Ranked(proposals=(), respelt=list, dense=0, spelt=0, path="exact")
            return [nothing] * len(mentions.keys)
        finder = Finder(
            space=space_of(self._collection, lexicon, self._calibration.projection),
            translations=self._translations(lexicon),
            allowed=self._allowed(lexicon),
        )
        leave = _leaving(lexicon, barred)
        pools = finder.pools(mentions, leave)
        ranked = [
            Ranked(
                proposals=Proposals(lexicon, pool, self._calibration.model),
                respelt=partial(respelt, lexicon, pool, key),
                dense=pool.dense,
                spelt=len(pool.spelt),
                path=pool.path,
            )
            for key, pool in zip(mentions.keys, pools, strict=True)
        ]
        return [
            self._with_more(finder, mentions.vectors[place : place + 1], one, leave, place)
            for place, one in enumerate(ranked)
        ]

    def _with_more(
        self, finder: Finder, vector: FloatMatrix, ranked: Ranked, leave: Leave | None, one: int
    ) -> Ranked:
        """Add concepts by cosine until there are as many as wanted, with probability zero.

        They lie beyond the names that are compared, so that a larger `k` only appends.
        """
        lexicon = finder.lexicon
        lacking = min(self.options.k, len(lexicon.concept_ids)) - len(ranked.proposals)
        if lacking <= 0:
            return ranked
        known = {proposal.concept_id for proposal in ranked.proposals}
        further = [
            Proposal(
                concept_id=lexicon.concept_ids[lexicon.concept_of[name]],
                matched_name=lexicon.texts[name],
                scope=SCOPES[lexicon.scopes[name]],
                cosine=cosine,
                probability=0.0,
            )
            for name, cosine in finder.further(vector, one, self.options.k, leave)
        ]
        more = [proposal for proposal in further if proposal.concept_id not in known]
        return replace(ranked, proposals=[*ranked.proposals, *more[:lacking]])

    def of_wanted_types(self, result: ExactResult) -> ExactResult:
        """Return exact matches less those of other semantic types than the wanted ones."""
        if not self.options.types:
            return result
        concepts = self._collection.concepts([match.concept_id for match in result.matches])
        wanted = {one.casefold() for one in self.options.types}
        kept = tuple(
            match
            for match in result.matches
            if wanted & {one.casefold() for one in concepts[match.concept_id].semantic_types}
        )
        return replace(result, matches=kept)

    def _allowed(self, lexicon: Lexicon) -> BoolVector | None:
        """Return which names are of the wanted semantic types, None where none is wanted."""
        if not self.options.types:
            return None
        concepts = self._collection.concepts(lexicon.concept_ids)
        types = [
            {one.casefold() for one in concepts[identifier].semantic_types}
            if identifier in concepts
            else set()
            for identifier in lexicon.concept_ids
        ]
        known = sorted({one for several in types for one in several})
        for wanted in self.options.types:
            if wanted.casefold() not in known:
                raise UsageError(
                    "no concept is of this semantic type",
                    value=wanted,
                    remedy=f"Known types: {', '.join(known[:20]) or 'none'}",
                )
        asked = {one.casefold() for one in self.options.types}
        mask = np.array([bool(asked & several) for several in types], dtype=np.bool_)
        allowed: BoolVector = mask[lexicon.concept_of]
        return allowed


def _leaving(lexicon: Lexicon, barred: Sequence[frozenset[str]]) -> Leave | None:
    if not any(barred):
        return None

    def leave(one: int, names: IntVector) -> BoolVector:
        ids = (lexicon.concept_ids[concept] for concept in lexicon.concept_of[names].tolist())
        return np.array([identifier in barred[one] for identifier in ids], dtype=np.bool_)

    return leave
