"""Where an obsolete concept went: following `replaced_by` and `consider` to live concepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from mirror_index.records import Concept


class HoldsConcepts(Protocol):
    """A collection, or another place to look concepts up in."""

    def concepts(self, ids: Iterable[str]) -> dict[str, Concept]:
        """Return concepts by id or alternative id, under the id asked for."""
        ...


class HoldsPrefixes(HoldsConcepts, Protocol):
    """A place to look concepts up in that knows the prefixes of their ids."""

    def id_prefixes(self) -> set[str]:
        """Return what stands before the first colon of ids and alternative ids."""
        ...


class AnyCase:
    """Looks up concepts by ids whose prefix may be spelled in another case (``mesh``, ``MeSH``)."""

    def __init__(self, collection: HoldsPrefixes) -> None:
        self._collection = collection

    def concepts(self, ids: Sequence[str]) -> dict[str, Concept]:
        """Return concepts by id or alternative id, under the id asked for; as spelled, if there."""
        found = self._collection.concepts(ids)
        forms = {one: self._forms(one) for one in ids if one not in found and ":" in one}
        others = self._collection.concepts(form for several in forms.values() for form in several)
        for one, several in forms.items():
            there = [others[form] for form in several if form in others]
            if there:
                found[one] = there[0]
        return found

    def _forms(self, identifier: str) -> list[str]:
        prefix, _, local = identifier.partition(":")
        return [f"{form}:{local}" for form in self._prefixes.get(prefix.lower(), ())]

    @cached_property
    def _prefixes(self) -> dict[str, list[str]]:
        spelled: dict[str, list[str]] = {}
        for prefix in sorted(self._collection.id_prefixes()):
            spelled.setdefault(prefix.lower(), []).append(prefix)
        return spelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """The way from one concept id to live concepts.

    Attributes:
        ids: live concepts it leads to, in the order the dictionary gives them.
        certain: every step had exactly one `replaced_by`; otherwise a person should decide.
        steps: what was followed and what went wrong, for the trace.
    """

    ids: tuple[str, ...]
    certain: bool
    steps: tuple[str, ...]


class _Visit(NamedTuple):
    id: str
    behind: frozenset[str]


class Redirects:
    """Follows redirects in one collection and remembers the concepts it has read."""

    def __init__(self, collection: HoldsConcepts) -> None:
        self._collection = collection
        self._known: dict[str, Concept | None] = {}

    def concepts(self, ids: Iterable[str]) -> dict[str, Concept]:
        """Return the concepts behind ids or alternative ids; unknown ids are left out."""
        wanted = list(dict.fromkeys(ids))
        missing = [one for one in wanted if one not in self._known]
        if missing:
            found = self._collection.concepts(missing)
            self._known.update({one: found.get(one) for one in missing})
        return {one: concept for one in wanted if (concept := self._known[one]) is not None}

    def follow(self, concept_id: str) -> Redirect:
        """Follow a concept to what replaces it; a live concept leads to itself.

        Chains are followed to their end, branches each in turn; a cycle, a target that is not in
        the collection and an obsolete concept with nowhere to go end in a warning among the steps.
        """
        ids: list[str] = []
        steps: list[str] = []
        certain = True
        followed: set[str] = set()
        waiting = [_Visit(concept_id, frozenset())]
        while waiting:
            visit = waiting.pop()
            concept = self.concepts([visit.id]).get(visit.id)
            if concept is None:
                steps.append(f"warning: {visit.id} is not in the collection")
            elif concept.id in visit.behind:
                steps.append(f"warning: the replacements of {concept.id} run in a circle")
            elif not concept.obsolete:
                ids.append(concept.id)
            elif concept.id not in followed:
                followed.add(concept.id)
                certain = certain and len(concept.replaced_by) == 1
                steps.append(_step(concept))
                behind = visit.behind | {concept.id}
                targets = concept.replaced_by or concept.consider
                waiting.extend(_Visit(target, behind) for target in reversed(targets))
        return Redirect(ids=tuple(dict.fromkeys(ids)), certain=certain, steps=tuple(steps))


def _step(concept: Concept) -> str:
    if concept.replaced_by:
        return f"redirect: {concept.id} (obsolete) -> {', '.join(concept.replaced_by)}"
    if concept.consider:
        return f"redirect: {concept.id} (obsolete), consider {', '.join(concept.consider)}"
    return f"warning: {concept.id} is obsolete and nothing replaces it"
