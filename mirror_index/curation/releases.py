"""Two releases of a dictionary compared: concepts that came, went and moved, and their names.

Both are held in memory, some 500 bytes a name. Names are compared by their key, so that a change of
case or punctuation is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.linking.redirects import Redirects
from mirror_index.names import name_key
from mirror_index.readers import read
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem


class Release:
    """The concepts of one release of a dictionary.

    Rows of a table with a concept column count as a concept labelled by its best name.

    Attributes:
        rejected: rows that could not be read; skipped ones are not counted.
    """

    def __init__(self, items: Iterable[SourceItem]) -> None:
        self.rejected = 0
        self.known: dict[str, Concept] = {}
        rows: dict[str, list[Record]] = {}
        for item in items:
            if isinstance(item, Concept):
                self.known[item.id] = item
            elif isinstance(item, Rejected):
                self.rejected += not item.skipped
            elif item.concept_id is not None:
                rows.setdefault(item.concept_id, []).append(item)
        for concept_id, records in rows.items():
            if concept_id not in self.known:
                self.known[concept_id] = _from_rows(concept_id, records)
        self.live = {one.id: one for one in self.known.values() if not one.obsolete}
        self._alternative: dict[str, str] = {}
        for one in sorted(self.known.values(), key=lambda c: (c.obsolete, c.id)):
            for alternative in one.alt_ids:
                self._alternative.setdefault(alternative, one.id)
        self.redirects = Redirects(self)

    def concepts(self, ids: Iterable[str]) -> dict[str, Concept]:
        """Return concepts by id or alternative id, under the id asked for."""
        found = {one: self.known.get(self._alternative.get(one, one)) for one in ids}
        found |= {one: self.known[one] for one in found if one in self.known}
        return {one: concept for one, concept in found.items() if concept is not None}

    def names(self) -> dict[str, dict[str, Name]]:
        """Return the best name of each live concept by key: key -> concept id -> name."""
        found: dict[str, dict[str, Name]] = {}
        for concept in self.live.values():
            label = Name(text=concept.label, scope=Scope.LABEL)
            for name in (label, *sorted(concept.names, key=lambda n: n.scope.rank)):
                key = name_key(name.text)
                if key:
                    found.setdefault(key, {}).setdefault(concept.id, name)
        return found


def _from_rows(concept_id: str, rows: list[Record]) -> Concept:
    ranked = sorted(rows, key=lambda row: (row.scope or Scope.EXACT).rank)
    names = tuple(Name(text=row.text, scope=row.scope or Scope.EXACT) for row in ranked[1:])
    return Concept(id=concept_id, label=ranked[0].text, names=names)


def read_release(
    source: str | Path,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
) -> Release:
    """Read the concepts of an ontology, or of a table with a concept column.

    Raises:
        SourceError: it cannot be read, or holds no concept at all.
    """
    release = Release(read(source, options))
    if not release.known:
        raise SourceError(
            "the source holds no concepts",
            where=str(source),
            remedy="Name an ontology, or the column of the concept ids (--concept-column)",
        )
    return release


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptChange:
    """One concept that changed: its id, its label before, and what it became.

    `became` holds ids (of what it was merged into, of what to consider instead of an obsolete one)
    or the new label.
    """

    id: str
    label: str
    became: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NameChange:
    """One name: of which concept it was and is, with which scope; None where it was not, or is not.

    A name that several concepts carry counts once for each.
    """

    key: str
    text: str
    old_concept: str | None = None
    new_concept: str | None = None
    old_scope: Scope | None = None
    new_scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """How a new release of a dictionary differs from an old one.

    Attributes:
        old_concepts: live concepts of the old release.
        new_concepts: live concepts of the new one.
        rejected: rows of the new release that could not be read.
        new: live concepts that the old release did not have.
        merged: live concepts whose id now stands for exactly one other live concept, as an
            alternative id or through `replaced_by`.
        obsoleted: live concepts that became obsolete without such a successor.
        lost: live concepts of which the new release does not know the id at all.
        revived: obsolete concepts that are live again.
        relabelled: live concepts with another label.
        names_added: names that their concept did not have; it may be new.
        names_removed: names that their concept no longer has; it may be gone.
        names_moved: names that left one concept and came to another, mergers apart.
        rescoped: names that stayed with another scope.
    """

    old_concepts: int
    new_concepts: int
    rejected: int
    new: tuple[ConceptChange, ...]
    merged: tuple[ConceptChange, ...]
    obsoleted: tuple[ConceptChange, ...]
    lost: tuple[ConceptChange, ...]
    revived: tuple[ConceptChange, ...]
    relabelled: tuple[ConceptChange, ...]
    names_added: tuple[NameChange, ...]
    names_removed: tuple[NameChange, ...]
    names_moved: tuple[NameChange, ...]
    rescoped: tuple[NameChange, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """How much there is of everything."""
        return {
            name: value if isinstance(value, int) else len(value)
            for name, value in ((name, getattr(self, name)) for name in self.__slots__)
        }

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def compare_releases(old: Release, new: Release) -> ReleaseReport:
    """Compare two releases of one dictionary."""
    gone = {one: new.redirects.follow(one) for one in old.live if one not in new.live}
    merged = {one: way.ids[0] for one, way in gone.items() if way.certain and len(way.ids) == 1}
    rest = [one for one in gone if one not in merged]
    renamed = {
        one: (new.live[one].label,)
        for one, was in old.live.items()
        if one in new.live and new.live[one].label != was.label
    }
    names = _name_changes(old, new, merged)
    moved = [one for one in names if _moved(one)]
    return ReleaseReport(
        old_concepts=len(old.live),
        new_concepts=len(new.live),
        rejected=new.rejected,
        new=_noted([one for one in new.live if one not in old.known], new),
        merged=_noted(merged, old, {one: (target,) for one, target in merged.items()}),
        obsoleted=_noted(
            [one for one in rest if new.concepts([one])],
            old,
            {one: gone[one].ids for one in rest},
        ),
        lost=_noted([one for one in rest if not new.concepts([one])], old),
        revived=_noted([one for one in new.live if one in old.known and one not in old.live], new),
        relabelled=_noted(renamed, old, renamed),
        names_added=tuple(one for one in names if one.old_concept is None),
        names_removed=tuple(one for one in names if one.new_concept is None),
        names_moved=tuple(one for one in moved if one.old_concept and one.new_concept),
        rescoped=tuple(one for one in names if not _moved(one)),
    )


def _noted(
    ids: Iterable[str], release: Release, became: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[ConceptChange, ...]:
    return tuple(
        ConceptChange(id=one, label=release.live[one].label, became=(became or {}).get(one, ()))
        for one in ids
    )


def _moved(change: NameChange) -> bool:
    return change.old_concept != change.new_concept


def _name_changes(old: Release, new: Release, merged: Mapping[str, str]) -> list[NameChange]:
    before, after = old.names(), new.names()
    return [
        change
        for key in dict.fromkeys((*before, *after))
        for change in _changes_of(key, before.get(key, {}), after.get(key, {}), merged)
    ]


def _changes_of(
    key: str,
    before: Mapping[str, Name],
    after: Mapping[str, Name],
    merged: Mapping[str, str],
) -> Iterator[NameChange]:
    """Yield what happened to one name; what a merger explains is no change of names."""
    for concept in before.keys() & after.keys():
        was, now = before[concept], after[concept]
        if was.scope is not now.scope:
            yield _change(key, (concept, was), (concept, now))
    left = sorted(one for one in before if one not in after and merged.get(one) not in after)
    heirs = {merged[one] for one in before if one in merged}
    came = sorted(one for one in after if one not in before and one not in heirs)
    pairs = min(len(left), len(came))
    for one, other in zip(left, came, strict=False):
        yield _change(key, (one, before[one]), (other, after[other]))
    for one in left[pairs:]:
        yield _change(key, (one, before[one]), None)
    for other in came[pairs:]:
        yield _change(key, None, (other, after[other]))


def _change(key: str, was: tuple[str, Name] | None, now: tuple[str, Name] | None) -> NameChange:
    shown = now or was
    assert shown is not None  # a name was somewhere, or is
    return NameChange(
        key=key,
        text=shown[1].text,
        old_concept=was and was[0],
        new_concept=now and now[0],
        old_scope=None if was is None else was[1].scope,
        new_scope=None if now is None else now[1].scope,
    )
