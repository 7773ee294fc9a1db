"""What a new release of a dictionary touches: overrides, and links that were made before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mirror_index.curation.diffing import PastLink
from mirror_index.curation.releases import ConceptChange, NameChange, Release, ReleaseReport
from mirror_index.linking.overrides import Override, OverrideAction, load_overrides
from mirror_index.names import name_key
from mirror_index.store.concepts import iterate_concepts
from mirror_index.store.layout import DATABASE
from mirror_index.store.reading import ReadStore

if TYPE_CHECKING:
    from mirror_index.collection import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedOverride:
    """An override that a new release touches, and how."""

    override: Override
    effect: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self.override), "effect": self.effect}


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedLink:
    """A past link that a new release touches, and how."""

    line: int
    mention: str
    status: str
    concept_id: str | None
    effect: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def release_of(collection: Collection) -> Release:
    """Return the concepts a collection holds, all of one committed state."""
    store = ReadStore(collection.folder / DATABASE)
    try:
        with store.snapshot():
            return Release(iterate_concepts(store.connection))
    finally:
        store.close()


def touched_overrides(collection: Collection, report: ReleaseReport) -> list[TouchedOverride]:
    """Return the overrides of a collection that a change of its dictionary touches."""
    effects = _Effects(report)
    touched = []
    for row in load_overrides(collection):
        effect = effects.of_concept(row.concept_id)
        if effect is None and row.action is not OverrideAction.NEVER:
            effect = effects.of_new_name(name_key(row.mention), row.concept_id)
        if effect is not None:
            touched.append(TouchedOverride(override=row, effect=effect))
    return touched


def touched_links(links: Iterable[PastLink], report: ReleaseReport) -> Iterator[TouchedLink]:
    """Yield the past links that a change of the dictionary touches, in order.

    That are links to a concept that was merged, became obsolete or was lost; by a name that its
    concept no longer has; and mentions that were not linked and are a name now.
    """
    effects = _Effects(report)
    for one in links:
        effect = None
        for concept_id in (one.concept_id or "").split("|"):
            effect = effect or effects.of_concept(concept_id)
        if effect is None and one.concept_id and one.matched_name:
            effect = effects.of_lost_name(name_key(one.matched_name), one.concept_id)
        if effect is None:
            effect = effects.of_new_name(name_key(one.mention), one.concept_id)
        if effect is not None:
            yield TouchedLink(
                line=one.line,
                mention=one.mention,
                status=one.status,
                concept_id=one.concept_id,
                effect=effect,
            )


class _Effects:
    """Says what a report means for a concept or a name."""

    def __init__(self, report: ReleaseReport) -> None:
        self._merged = _by_id(report.merged)
        self._obsoleted = _by_id(report.obsoleted)
        self._lost = _by_id(report.lost)
        self._gone: dict[tuple[str, str], NameChange] = {}
        self._came: dict[str, list[str]] = {}
        for change in (*report.names_removed, *report.names_moved):
            self._gone[change.key, change.old_concept or ""] = change
        for change in (*report.names_added, *report.names_moved):
            self._came.setdefault(change.key, []).append(change.new_concept or "")

    def of_concept(self, concept_id: str | None) -> str | None:
        """Return what became of a concept, None when it stays."""
        if concept_id is None:
            return None
        if concept_id in self._merged:
            return f"merged into {self._merged[concept_id].became[0]}"
        if concept_id in self._obsoleted:
            instead = ", ".join(self._obsoleted[concept_id].became)
            return "obsolete" + (f", consider {instead}" if instead else "")
        return "lost" if concept_id in self._lost else None

    def of_lost_name(self, key: str, concept_id: str) -> str | None:
        """Return where a name of a concept went, None when it stays."""
        change = self._gone.get((key, concept_id))
        if change is None:
            return None
        if change.new_concept is None:
            return f"the name {change.text!r} was removed"
        return f"the name {change.text!r} moved to {change.new_concept}"

    def of_new_name(self, key: str, concept_id: str | None) -> str | None:
        """Return which other concepts a mention is a name of now, None when there are none."""
        others = [one for one in self._came.get(key, ()) if one != concept_id]
        return f"now a name of {', '.join(others)}" if others else None


def _by_id(changes: Iterable[ConceptChange]) -> Mapping[str, ConceptChange]:
    return {change.id: change for change in changes}
