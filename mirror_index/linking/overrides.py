"""Decisions of a person about mentions, which stand before whatever the linker would answer.

They are kept in the collection, found by the key of the mention, and outlive every change of the
dictionary: an id that became obsolete is followed to what replaces it, one that is gone is passed
over with a warning in the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from mirror_index.linking.exact import ExactResult
from mirror_index.linking.redirects import Redirects
from mirror_index.names import NAME_KEY_VERSION, name_key
from mirror_index.records import Candidate, Link, LinkStatus, Scope

if TYPE_CHECKING:
    from mirror_index.collection import Collection

DOCUMENT = "overrides"
METHOD = "override"


class OverrideAction(str, Enum):
    """What a person decided about a mention."""

    CONCEPT = "concept"
    NEVER = "never"
    NIL = "nil"


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One decision.

    Attributes:
        mention: the mention or name; every spelling with the same key is meant.
        action: it is this concept, it is never this concept, or it is none at all.
        concept_id: the concept; None for "nil".
        reason: why, for people.
        who: who decided, if they want to be named.
        when: when, as the file says.
    """

    mention: str
    action: OverrideAction
    concept_id: str | None = None
    reason: str = ""
    who: str = ""
    when: str = ""

    def __str__(self) -> str:
        """Return the decision as a line for people."""
        what = " ".join(part for part in (self.action.value, self.concept_id) if part)
        about = ", ".join(part for part in (self.reason, self.who, self.when) if part)
        return f"{self.mention!r}: {what}" + (f" ({about})" if about else "")

    @property
    def decision(self) -> tuple[OverrideAction, str | None]:
        """What was decided, without why, by whom and when."""
        return self.action, self.concept_id


class Overrides:
    """The decisions of one collection, by key; at most one of a key is "concept" or "nil"."""

    def __init__(self, rows: Iterable[Override] = (), keys: Sequence[str] | None = None) -> None:
        self.rows = tuple(rows)
        self.keys = tuple(keys or (name_key(row.mention) for row in self.rows))
        self._by_key: dict[str, list[Override]] = {}
        for key, row in zip(self.keys, self.rows, strict=True):
            self._by_key.setdefault(key, []).append(row)

    def __iter__(self) -> Iterator[Override]:
        """Yield the decisions in order."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.rows)

    def of(self, key: str) -> list[Override]:
        """Return all decisions about a key."""
        return self._by_key.get(key, [])

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values, with the keys and the version of their rules."""
        rows = [
            {**asdict(row), "action": row.action.value, "key": key}
            for key, row in zip(self.keys, self.rows, strict=True)
        ]
        return {"key_version": NAME_KEY_VERSION, "rows": rows}

    @classmethod
    def from_document(cls, document: Any) -> Overrides:  # noqa: ANN401 - stored JSON
        """Return what `to_document` gave; keys of other rules are made anew."""
        if document is None:
            return cls()
        rows = [dict(row) for row in document["rows"]]
        keys = [row.pop("key") for row in rows]
        same = document["key_version"] == NAME_KEY_VERSION
        return cls(
            [Override(**{**row, "action": OverrideAction(row["action"])}) for row in rows],
            keys if same else None,
        )


def load_overrides(collection: Collection) -> Overrides:
    """Return the decisions kept in a collection; none when nothing was ever imported."""
    return Overrides.from_document(collection.load_state(DOCUMENT))


class Judge:
    """Applies the overrides of a collection while mentions are linked."""

    def __init__(self, collection: Collection, redirects: Redirects) -> None:
        self._overrides = load_overrides(collection)
        self._redirects = redirects

    def __bool__(self) -> bool:
        """Say whether there is any override at all."""
        return bool(self._overrides)

    def barred(self, key: str) -> frozenset[str]:
        """Return the concepts that a mention never means, obsolete ids with what replaces them."""
        barred: set[str] = set()
        for row in self._overrides.of(key):
            if row.action is OverrideAction.NEVER and row.concept_id is not None:
                barred |= {row.concept_id, *self._redirects.follow(row.concept_id).ids}
        return frozenset(barred)

    def verdicts(self, keys: Mapping[str, str]) -> dict[str, Link]:
        """Return the answers a person gave to some of the mentions, given with their keys."""
        answers = {mention: self.verdict(mention, key) for mention, key in keys.items()}
        return {mention: answer for mention, answer in answers.items() if answer is not None}

    def verdict(self, mention: str, key: str) -> Link | None:
        """Return the answer a person gave, None when there is none or its concept is gone."""
        for row in self._overrides.of(key):
            if row.action is OverrideAction.NIL:
                return Link(mention=mention, status=LinkStatus.NIL, trace=(f"override: {row}",))
            if row.action is OverrideAction.CONCEPT and row.concept_id is not None:
                return self._linked(mention, row, row.concept_id)
        return None

    def _linked(self, mention: str, row: Override, concept_id: str) -> Link | None:
        target = self._target(concept_id)
        if target is None:
            return None
        concept = self._redirects.concepts([target])[target]
        steps = self._redirects.follow(concept_id).steps
        candidate = Candidate(
            concept_id=concept.id,
            label=concept.label,
            score=1.0,
            probability=1.0,
            matched_name=row.mention,
            scope=Scope.EXACT,
            method=METHOD,
        )
        return Link(
            mention=mention,
            status=LinkStatus.LINKED,
            concept_id=concept.id,
            label=concept.label,
            score=1.0,
            probability=1.0,
            matched_name=row.mention,
            scope=Scope.EXACT,
            method=METHOD,
            margin=1.0,
            candidates=(candidate,),
            trace=(f"override: {row}", *steps),
        )

    def _target(self, concept_id: str) -> str | None:
        """Return the one live concept that an id stands for, None when there is not exactly one."""
        redirect = self._redirects.follow(concept_id)
        return redirect.ids[0] if redirect.certain and len(redirect.ids) == 1 else None

    def notes(self, key: str) -> tuple[str, ...]:
        """Return steps for the trace: what was barred, and decisions whose concept is gone."""
        steps = []
        for row in self._overrides.of(key):
            if row.action is OverrideAction.NEVER:
                steps.append(f"override: {row}")
            elif row.concept_id is not None and self._target(row.concept_id) is None:
                steps.append(
                    f"warning: the override {row} is passed over, its concept is not there"
                )
        return tuple(steps)

    def without(self, result: ExactResult, key: str) -> ExactResult:
        """Return exact matches less those that are barred."""
        barred = self.barred(key)
        if not barred:
            return result
        return replace(
            result, matches=tuple(one for one in result.matches if one.concept_id not in barred)
        )

    def allows(self, answer: Link, key: str) -> bool:
        """Say whether no barred concept is among the candidates or parts of an answer."""
        barred = self.barred(key)
        shown = {one.concept_id for one in answer.candidates}
        shown |= {part.concept_id for part in answer.parts if part.concept_id is not None}
        return not barred & shown
