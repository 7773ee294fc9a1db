"""The exact layer: concepts that carry the very name, and what an obsolete name leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirror_index.linking.redirects import Redirects
from mirror_index.records import Scope

if TYPE_CHECKING:
    from mirror_index.collection import StoredName


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMatch:
    """One concept that carries the name: the raw spelling there, and its scope."""

    concept_id: str
    matched_name: str
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactResult:
    """What the exact layer knows about one key.

    Attributes:
        matches: one per concept, the best scope first (label, exact, narrow, broad, related).
        certain: False when a redirect needs a person's decision.
        steps: redirects and warnings, for the trace.
    """

    matches: tuple[ExactMatch, ...] = ()
    certain: bool = True
    steps: tuple[str, ...] = ()


def exact_result(mention: str, names: Sequence[StoredName], redirects: Redirects) -> ExactResult:
    """Judge the stored names that share the key of `mention`.

    Names of live concepts win; only when there are none are those of obsolete concepts followed.
    Among names of one scope, those spelled exactly like the mention come first, then by concept id.
    """
    live = [name for name in names if not name.obsolete]
    if live:
        ordered = sorted(live, key=lambda n: (n.scope.rank, n.text != mention, n.concept_id))
        return ExactResult(matches=_distinct([_match(name, name.concept_id) for name in ordered]))
    matches: list[ExactMatch] = []
    steps: list[str] = []
    certain = True
    for name in sorted(names, key=lambda n: (n.scope.rank, n.text != mention, n.concept_id)):
        redirect = redirects.follow(name.concept_id)
        steps.extend(step for step in redirect.steps if step not in steps)
        certain = certain and redirect.certain
        matches.extend(_match(name, concept_id) for concept_id in redirect.ids)
    return ExactResult(matches=_distinct(matches), certain=certain, steps=tuple(steps))


def _match(name: StoredName, concept_id: str) -> ExactMatch:
    return ExactMatch(concept_id=concept_id, matched_name=name.text, scope=name.scope)


def _distinct(matches: Sequence[ExactMatch]) -> tuple[ExactMatch, ...]:
    first: dict[str, ExactMatch] = {}
    for match in matches:
        first.setdefault(match.concept_id, match)
    return tuple(first.values())
