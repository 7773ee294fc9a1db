"""Linking: mention -> concept of a dictionary, or an honest "none of them"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking.deciding import Decision, decide, link_to_best, with_label
from mirror_index.linking.exact import ExactResult, exact_result
from mirror_index.linking.overrides import Judge
from mirror_index.linking.proposals import Ranked
from mirror_index.linking.ranking import Ranker
from mirror_index.linking.redirects import Redirects
from mirror_index.linking.widening import FEWEST_CANDIDATES, Row, Widener
from mirror_index.names import NormalisedName, name_key, normalise_trace
from mirror_index.records import Candidate, Concept, Link, LinkStatus, several

if TYPE_CHECKING:
    from mirror_index.collection import Collection

_WINDOW = 2048


def link(
    collection: Collection,
    mentions: Sequence[str],
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
    *,
    contexts: Sequence[str | None] | None = None,
) -> list[Link]:
    """Link mentions to the concepts of a dictionary.

    Args:
        collection: holds names of concepts; plain records in it are passed over.
        mentions: any strings; each is normalised for the look-up and echoed as it came.
        options: candidates wanted, and the thresholds of the decision.
        contexts: the text that each mention stands in (a sentence, or a whole document), None for
            none; abbreviations that it defines are also read as their long forms.

    Returns:
        One link per mention, in order, whatever the mention holds; a repeated one is computed once.

    Raises:
        UsageError: the collection holds records but no concepts, one mention instead of a list, or
            the contexts are not as many as the mentions.
        EncoderMismatchError: the encoder at hand is not the collection's.
        CollectionError: the stored name keys were made by another version.
    """
    if contexts is not None and len(contexts) != len(mentions):
        raise UsageError(
            f"{len(contexts)} contexts for {len(mentions)} mentions",
            remedy="Pass one for each, None where there is none",
        )
    rows = list(map(Row, several(mentions), repeat(None) if contexts is None else contexts))
    linker = _Linker(collection, replace(options, k=max(options.k, FEWEST_CANDIDATES)))
    widener = Widener(linker.known_answers, linker.names_of, linker.options)
    distinct = list(dict.fromkeys(rows))
    answers: dict[Row, Link] = {}
    for start in range(0, len(distinct), _WINDOW):
        for row, answer in widener.answers(distinct[start : start + _WINDOW]).items():
            answers[row] = linker.allowed(row.mention, answer)
    shown = {row: _shortened(answer, options.k) for row, answer in answers.items()}
    return [shown[row] for row in rows]


def _shortened(answer: Link, k: int) -> Link:
    if len(answer.candidates) <= k and not answer.parts:
        return answer
    parts = tuple(_shortened(part, k) for part in answer.parts)
    return replace(answer, candidates=answer.candidates[:k], parts=parts)


class _Linker:
    """One run of linking over one collection."""

    def __init__(self, collection: Collection, options: LinkOptions) -> None:
        self._collection = collection
        self._options = options
        self._redirects = Redirects(collection)
        self._judge = Judge(collection, self._redirects)
        self._decided: dict[str, Link] = {}
        self._ranker = Ranker(collection, options)
        self._answers: dict[str, Link] = {}

    @property
    def options(self) -> LinkOptions:
        """The options, with the threshold that a wished precision stands for."""
        return self._ranker.options

    def known_answers(self, mentions: Sequence[str]) -> Mapping[str, Link]:
        """Return the answers for distinct mentions; none is computed twice in a run."""
        new = [mention for mention in mentions if mention not in self._answers]
        for start in range(0, len(new), _WINDOW):
            self._answers.update(self.answers(new[start : start + _WINDOW]))
        return {mention: self._answers[mention] for mention in mentions}

    def allowed(self, mention: str, answer: Link) -> Link:
        """Return the answer, or that for the mention as it stands where an override is against."""
        if not self._judge:
            return answer
        against = mention in self._decided or not self._judge.allows(answer, name_key(mention))
        return self._answers[mention] if against else answer

    def names_of(self, keys: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Return the names with these keys, as the dictionary spells them."""
        stored = self._collection.names_by_key(keys)
        return {key: [name.text for name in names] for key, names in stored.items()}

    def answers(self, mentions: Sequence[str]) -> Iterator[tuple[str, Link]]:
        """Yield each distinct mention with its link."""
        names = {mention: normalise_trace(mention) for mention in mentions}
        self._decided.update(self._judge.verdicts({m: name.key for m, name in names.items()}))
        full = [m for m in mentions if names[m].key and m not in self._decided]
        exact = self._exact(full, names)
        nearest = self._nearest(full, names)
        self._require_concepts(nearest)
        decisions = {
            mention: self._decide(names[mention], exact[mention], nearest[mention])
            for mention in full
        }
        nil = [m for m in full if decisions[m].status is LinkStatus.NIL and not exact[m].matches]
        for mention, result in self._respelt(nil, names, nearest).items():
            exact[mention] = result
            decisions[mention] = self._decide(
                names[mention], result, nearest[mention], respelt=True
            )
        labels = self._labels(decisions)
        for mention in mentions:
            if mention in decisions:
                yield (
                    mention,
                    self._answer(
                        mention,
                        decisions[mention],
                        labels,
                        self._trace(
                            names[mention], exact[mention], nearest[mention], decisions[mention]
                        ),
                    ),
                )
            else:
                yield mention, self._decided.get(mention) or _empty(mention)

    def _exact(
        self, mentions: Sequence[str], names: Mapping[str, NormalisedName]
    ) -> dict[str, ExactResult]:
        keys = [names[mention].key for mention in mentions]
        stored = self._collection.names_by_key(keys)
        return {
            mention: self._judge.without(
                self._ranker.of_wanted_types(
                    exact_result(mention, stored.get(key, ()), self._redirects)
                ),
                key,
            )
            for mention, key in zip(mentions, keys, strict=True)
        }

    def _respelt(
        self,
        mentions: Sequence[str],
        names: Mapping[str, NormalisedName],
        nearest: Mapping[str, Ranked],
    ) -> dict[str, ExactResult]:
        """Return names one slip of spelling away, for the mentions that have any."""
        found = {}
        for mention in mentions:
            key = names[mention].key
            result = exact_result(mention, nearest[mention].respelt(), self._redirects)
            found[mention] = self._judge.without(result, key)
        return {mention: result for mention, result in found.items() if result.matches}

    def _nearest(
        self, mentions: Sequence[str], names: Mapping[str, NormalisedName]
    ) -> dict[str, Ranked]:
        keys = [names[mention].key for mention in mentions]
        barred = [self._judge.barred(key) for key in keys]
        return dict(zip(mentions, self._ranker.ranked(mentions, keys, barred), strict=True))

    def _require_concepts(self, nearest: Mapping[str, Ranked]) -> None:
        if not nearest or any(one.proposals for one in nearest.values()):
            return
        held = self._collection.info()
        if held["records"] and not held["concepts"]:
            raise UsageError(
                "the collection holds no concepts to link to",
                where=held["name"],
                remedy="Build it from an ontology, or from a table with a concept column",
            )

    def _decide(
        self,
        name: NormalisedName,
        exact: ExactResult,
        nearest: Ranked,
        *,
        respelt: bool = False,
    ) -> Decision:
        return decide(
            name.key,
            exact,
            nearest.proposals,
            self.options,
            respelt=respelt,
            careful=not self._ranker.calibrated,
        )

    def _labels(self, decisions: Mapping[str, Decision]) -> dict[str, Concept]:
        shown = (
            candidate.concept_id
            for decision in decisions.values()
            for candidate in decision.candidates[: self._options.k]
        )
        return self._redirects.concepts(shown)

    def _answer(
        self,
        mention: str,
        decision: Decision,
        concepts: Mapping[str, Concept],
        trace: tuple[str, ...],
    ) -> Link:
        candidates = tuple(
            with_label(candidate, _label(candidate, concepts))
            for candidate in decision.candidates[: self._options.k]
        )
        if decision.status is LinkStatus.NIL:
            return Link(
                mention=mention,
                status=decision.status,
                margin=decision.margin,
                candidates=candidates,
                trace=trace,
            )
        return link_to_best(mention, decision.status, candidates, decision.margin, trace)

    def _trace(
        self, name: NormalisedName, exact: ExactResult, nearest: Ranked, decision: Decision
    ) -> tuple[str, ...]:
        spelt = bool(decision.candidates) and decision.candidates[0].method == "spelling"
        layer = "spelling, one slip away" if spelt else "exact"
        found = [
            f"{layer}: {match.scope.value} of {match.concept_id}, {match.matched_name!r}"
            for match in exact.matches
        ]
        return (
            *map(str, name.steps),
            f"key: {name.key!r}",
            *self._judge.notes(name.key),
            *exact.steps,
            *(found or ["exact: no live name has this key"]),
            f"near: {nearest}",
            f"model: {self._ranker.source}",
            f"decision: {decision.status.value}, {decision.reason}",
        )


def _label(candidate: Candidate, concepts: Mapping[str, Concept]) -> str:
    concept = concepts.get(candidate.concept_id)
    return concept.label if concept is not None else candidate.matched_name


def _empty(mention: str) -> Link:
    return Link(
        mention=mention,
        status=LinkStatus.EMPTY,
        trace=("key: ''", "decision: empty, the mention holds no letter and no digit"),
    )
