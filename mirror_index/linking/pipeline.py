"""Linking: mention -> concept of a dictionary, or an honest "none of them"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking.calibration import Calibration, load_calibration
from mirror_index.linking.deciding import Decision, decide, with_label
from mirror_index.linking.dense import Nearest, nearest_concepts
from mirror_index.linking.exact import ExactResult, exact_result
from mirror_index.linking.redirects import Redirects
from mirror_index.linking.spelling import respellings
from mirror_index.names import NormalisedName, normalise_trace
from mirror_index.records import Candidate, Concept, Link, LinkStatus

if TYPE_CHECKING:
    from mirror_index.collection import Collection

_WINDOW = 512
_FEWEST_CONCEPTS = 5  # the decision looks at this many, however few the caller wants to see


def link(
    collection: Collection,
    mentions: Sequence[str],
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
) -> list[Link]:
    """Link mentions to the concepts of a dictionary.

    Args:
        collection: holds names of concepts; plain records in it are passed over.
        mentions: any strings; each is normalised for the look-up and echoed as it came.
        options: candidates wanted, and the thresholds of the decision.

    Returns:
        One link per mention, in order, whatever the mention holds; a repeated one is computed once.

    Raises:
        UsageError: the collection holds records but no concepts.
        EncoderMismatchError: the encoder at hand is not the collection's.
        CollectionError: the stored name keys were made by another version.
    """
    linker = _Linker(collection, options)
    distinct = list(dict.fromkeys(mentions))
    answers: dict[str, Link] = {}
    for start in range(0, len(distinct), _WINDOW):
        answers.update(linker.answers(distinct[start : start + _WINDOW]))
    return [answers[mention] for mention in mentions]


class _Linker:
    """One run of linking over one collection."""

    def __init__(self, collection: Collection, options: LinkOptions) -> None:
        self._collection = collection
        self._options = options
        self._redirects = Redirects(collection)
        self._calibration: Calibration | None = None

    def answers(self, mentions: Sequence[str]) -> Iterator[tuple[str, Link]]:
        """Yield each distinct mention with its link."""
        names = {mention: normalise_trace(mention) for mention in mentions}
        full = [mention for mention in mentions if names[mention].key]
        exact = self._exact(full, names)
        nearest = self._nearest(full)
        self._require_concepts(exact, nearest)
        decisions = {
            mention: self._decide(names[mention], exact[mention], nearest[mention])
            for mention in full
        }
        nil = [m for m in full if decisions[m].status is LinkStatus.NIL and not exact[m].matches]
        for mention, result in self._respelt(nil, names).items():
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
                yield mention, _empty(mention)

    def _exact(
        self, mentions: Sequence[str], names: Mapping[str, NormalisedName]
    ) -> dict[str, ExactResult]:
        keys = [names[mention].key for mention in mentions]
        stored = self._collection.names_by_key(keys)
        return {
            mention: exact_result(mention, stored.get(key, ()), self._redirects)
            for mention, key in zip(mentions, keys, strict=True)
        }

    def _respelt(
        self, mentions: Sequence[str], names: Mapping[str, NormalisedName]
    ) -> dict[str, ExactResult]:
        """Return exact matches one slip of spelling away, for the mentions that have any."""
        found = {}
        for mention in mentions:
            keys = dict.fromkeys(respellings(names[mention].key))
            stored = self._collection.names_by_key(keys) if keys else {}
            matches = [name for key in stored for name in stored[key]]
            if matches:
                found[mention] = exact_result(mention, matches, self._redirects)
        return {mention: result for mention, result in found.items() if result.matches}

    def _nearest(self, mentions: Sequence[str]) -> dict[str, Nearest]:
        if not mentions:
            return {}
        vectors = self._collection.encode(mentions)
        wanted = max(self._options.k, _FEWEST_CONCEPTS)
        return dict(zip(mentions, nearest_concepts(self._collection, vectors, wanted), strict=True))

    def _require_concepts(
        self, exact: Mapping[str, ExactResult], nearest: Mapping[str, Nearest]
    ) -> None:
        if any(one.matches for one in exact.values()) or any(
            one.concepts for one in nearest.values()
        ):
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
        nearest: Nearest,
        *,
        respelt: bool = False,
    ) -> Decision:
        if self._calibration is None:
            self._calibration = load_calibration(self._collection)
        model = self._calibration.model
        return decide(name.key, exact, nearest.concepts, model, self._options, respelt=respelt)

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
        best = candidates[0]
        return Link(
            mention=mention,
            status=decision.status,
            concept_id=best.concept_id,
            label=best.label,
            score=best.score,
            probability=best.probability,
            matched_name=best.matched_name,
            scope=best.scope,
            method=best.method,
            margin=decision.margin,
            candidates=candidates,
            trace=trace,
        )

    def _trace(
        self, name: NormalisedName, exact: ExactResult, nearest: Nearest, decision: Decision
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
            *exact.steps,
            *(found or ["exact: no live name has this key"]),
            f"dense: {nearest.names} names, {len(nearest.concepts)} concepts, path {nearest.path}",
            f"model: {self._source_of_model()}",
            f"decision: {decision.status.value}, {decision.reason}",
        )

    def _source_of_model(self) -> str:
        calibration = self._calibration
        if calibration is None or not calibration.calibrated:
            reason = calibration.reason if calibration is not None else "not loaded"
            return f"default coefficients ({reason})"
        return f"calibrated on {calibration.examples} names of generation {calibration.generation}"


def _label(candidate: Candidate, concepts: Mapping[str, Concept]) -> str:
    concept = concepts.get(candidate.concept_id)
    return concept.label if concept is not None else candidate.matched_name


def _empty(mention: str) -> Link:
    return Link(
        mention=mention,
        status=LinkStatus.EMPTY,
        trace=("key: ''", "decision: empty, the mention holds no letter and no digit"),
    )
