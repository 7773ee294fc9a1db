"""Annotation: the concepts of a dictionary that a running text names, and where."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from mirror_index.annotation.branches import Branch
from mirror_index.annotation.occurrences import NameIndex, Place, words_of
from mirror_index.annotation.plausible import is_plausible, is_short
from mirror_index.annotation.sentences import Sentences
from mirror_index.errors import UsageError
from mirror_index.linking.abbreviations import definitions
from mirror_index.linking.exact import ExactMatch, ExactResult, exact_result
from mirror_index.linking.overrides import METHOD, Judge
from mirror_index.linking.redirects import AnyCase, Redirects
from mirror_index.names import name_key
from mirror_index.records import Link, LinkStatus, Scope, several

if TYPE_CHECKING:
    from mirror_index.collection import Collection, StoredName
    from mirror_index.records import Concept

PROBABILITY = {"exact": 0.75, "variant": 0.75, "abbreviation": 0.8, "reordered": 0.5}
"""Chance that a concept is meant that is found in a text this way: .73, .83, .80 and .50 of the
annotations of two development sets, where people often marked something more special instead."""

SHORT_PROBABILITY = 0.5
"""The same for exact names that are so short that `plausible` looks at their spelling."""

_RANK = {METHOD: 0, "exact": 1, "variant": 2, "abbreviation": 3, "reordered": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateOptions:
    """What to annotate.

    Attributes:
        nested: also give the mentions inside a longer one.
        min_probability: a mention found in a way that is right less often is left out. At 0.6 these
            are names of two or three letters, and names whose words stand in another order.
        under: only these concepts and what lies below them ("HP:0000118"); empty means all.
    """

    nested: bool = False
    min_probability: float = 0.5
    under: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        several(self.under)
        if not 0 <= self.min_probability <= 1:
            raise UsageError(
                "min_probability must be in [0, 1]", value=self.min_probability, remedy="Try 0.5"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A mention in a text: ``text[start:end] == mention``, in Unicode code points.

    Attributes:
        start: offset of the first character.
        end: offset after the last one.
        mention: as the text spells it.
        sentence: number of its sentence, from 0.
        status: linked, or ambiguous when several concepts carry the name.
        concept_id: the concept, the best one when there are several.
        label: its label.
        others: ids of the other concepts that carry the name.
        probability: chance that `concept_id` is meant.
        matched_name: the name, as the dictionary spells it.
        scope: how the name relates to the concept.
        method: "exact"; "variant" (number, British spelling); "abbreviation" (defined in the text);
            "reordered"; "override" (a person decided so).
    """

    start: int
    end: int
    mention: str
    sentence: int
    status: LinkStatus
    concept_id: str
    label: str
    others: tuple[str, ...]
    probability: float
    matched_name: str
    scope: Scope
    method: str


@dataclass(frozen=True, slots=True)
class _Found:
    """A place, what its name stands for, and how it was found."""

    place: Place
    result: ExactResult
    method: str
    probability: float

    @property
    def order(self) -> tuple[int, float, int, int]:
        """The longest first, then the likeliest, then the first in the text."""
        length = self.place.end - self.place.start
        return (-length, -self.probability, _RANK[self.method], self.place.start)


class Annotator:
    """Annotates texts with the concepts of one committed state of a collection.

    The names are read once, when it is made: about a second for 40,000.

    Args:
        collection: a dictionary; a name that only obsolete concepts carry stands for what replaced
            them, and for nothing where that is not certain.
        options: what to annotate.

    Raises:
        UsageError: the collection holds records but no concepts, or none with an id of `under`.
        CollectionError: the stored name keys were made by another version.
    """

    def __init__(
        self,
        collection: Collection,
        options: AnnotateOptions = AnnotateOptions(),
    ) -> None:
        held = collection.info()
        if held["records"] and not held["concepts"]:
            raise UsageError(
                "the collection holds no concepts to annotate with",
                where=held["name"],
                remedy="Build it from an ontology, or from a table with a concept column",
            )
        self._collection = collection
        self._options = options
        self._redirects = Redirects(collection)
        spellings = chain((n.text for n in collection.iter_names()), collection.obsolete_names())
        self._names = NameIndex(dict.fromkeys(map(name_key, spellings)))
        self._stored: dict[str, list[StoredName]] = {}
        self._judge = Judge(collection, self._redirects)
        self._branch = Branch(self._redirects.concepts, AnyCase(collection).concepts, options.under)

    def annotate(self, text: str) -> list[Annotation]:
        """Return the mentions in a text, in order; of those that overlap, the longest.

        Mentions begin and end with whole words. An abbreviation that the text defines is read as
        its long form everywhere in it, and as nothing else.
        """
        meanings = _meanings(text)
        places = self._places(text, meanings)
        self._load({place.key for place, _ in places})
        found = [one for place, method in places if (one := self._judged(text, place, method))]
        chosen = _without_overlaps(found, nested=self._options.nested)
        labels = self._redirects.concepts({one.result.matches[0].concept_id for one in chosen})
        sentences = Sentences(text)
        return [self._annotation(text, one, sentences, labels) for one in chosen]

    def _places(self, text: str, meanings: dict[str, str]) -> list[tuple[Place, str]]:
        words = words_of(text)
        found = [(place, place.how) for place in self._names.places(text, words)]
        found += [(place, place.how) for place in self._names.reordered(text, words)]
        if not meanings:
            return found
        # A short form is no name of its own here.
        kept = [one for one in found if text[one[0].start : one[0].end] not in meanings]
        longer = self._names.places(text, words_of(text, meanings), meanings)
        shorts = [word.start for word in words if text[word.start : word.end] in meanings]
        return kept + [
            (place, "abbreviation")
            for place in longer
            if bisect_left(shorts, place.start) < bisect_left(shorts, place.end)
        ]

    def _load(self, keys: set[str]) -> None:
        missing = keys - self._stored.keys()
        if missing:
            found = self._collection.names_by_key(missing)
            self._stored.update({key: found.get(key, []) for key in missing})

    def _judged(self, text: str, place: Place, method: str) -> _Found | None:
        mention = text[place.start : place.end]
        key = name_key(mention)
        verdict = self._judge.verdict(mention, key)
        if verdict is not None:
            return None if verdict.concept_id is None else _decided(place, verdict)
        barred = self._judge.barred(key)
        names = [
            name
            for name in self._stored[place.key]
            if name.concept_id not in barred
            and (method == "abbreviation" or is_plausible(text, place.start, place.end, name.text))
        ]
        chance = PROBABILITY[method]
        if method == "exact" and is_short(mention):
            chance = SHORT_PROBABILITY
        if not names or chance < self._options.min_probability:
            return None
        result = exact_result(mention, names, self._redirects)
        matches = tuple(
            match
            for match in result.matches
            if match.concept_id not in barred and self._branch.holds(match.concept_id)
        )
        if not matches or not result.certain:
            return None
        result = ExactResult(matches=matches, steps=result.steps)
        return _Found(place, result, method, chance / len(matches))

    def _annotation(
        self, text: str, one: _Found, sentences: Sentences, labels: Mapping[str, Concept]
    ) -> Annotation:
        start, end = one.place.start, one.place.end
        best, *others = one.result.matches
        concept = labels.get(best.concept_id)
        return Annotation(
            start=start,
            end=end,
            mention=text[start:end],
            sentence=sentences.number(start),
            status=LinkStatus.AMBIGUOUS if others else LinkStatus.LINKED,
            concept_id=best.concept_id,
            label=best.matched_name if concept is None else concept.label,
            others=tuple(other.concept_id for other in others),
            probability=one.probability,
            matched_name=best.matched_name,
            scope=best.scope,
            method=one.method,
        )


def annotate(
    collection: Collection,
    text: str,
    options: AnnotateOptions = AnnotateOptions(),
) -> list[Annotation]:
    """Return the mentions of the concepts of a dictionary in a text; see `Annotator`.

    For several texts, make an `Annotator` once.
    """
    return Annotator(collection, options).annotate(text)


def _decided(place: Place, verdict: Link) -> _Found:
    """Return what a person decided about a mention that reads like a name."""
    match = ExactMatch(
        concept_id=verdict.concept_id or "",
        matched_name=verdict.matched_name or "",
        scope=verdict.scope or Scope.EXACT,
    )
    return _Found(place, ExactResult(matches=(match,)), METHOD, 1.0)


def _meanings(text: str) -> dict[str, str]:
    """Return the long form of each short form that a text defines, for its plural too."""
    meanings: dict[str, str] = {}
    for one in definitions(text):
        meanings[one.short] = one.long
        meanings[one.short[:-1] if one.short.endswith("s") else f"{one.short}s"] = one.long
    return meanings


def _without_overlaps(found: Iterable[_Found], *, nested: bool) -> list[_Found]:
    """Keep the longest of those that overlap; nested ones only if wanted, one for each span."""
    kept: list[_Found] = []
    for group in _overlapping(sorted(found, key=lambda one: one.place.start)):
        kept += _chosen(group, nested=nested)
    return sorted(kept, key=lambda one: (one.place.start, -one.place.end))


def _overlapping(found: Sequence[_Found]) -> Iterator[list[_Found]]:
    """Cut what is ordered by its start into groups that do not touch one another."""
    group: list[_Found] = []
    end = 0
    for one in found:
        if group and one.place.start >= end:
            yield group
            group = []
        group.append(one)
        end = max(end, one.place.end)
    if group:
        yield group


def _chosen(group: list[_Found], *, nested: bool) -> list[_Found]:
    kept: list[_Found] = []
    for one in sorted(group, key=lambda one: one.order):
        start, end = one.place.start, one.place.end
        clashes = [
            (other.place.start, other.place.end)
            for other in kept
            if start < other.place.end and other.place.start < end
        ]
        inside = all(a <= start and end <= b and (a, b) != (start, end) for a, b in clashes)
        if not clashes or (nested and inside):
            kept.append(one)
    return kept
