"""Reading overrides, checking them, and keeping them in a collection."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mirror_index.errors import SourceError
from mirror_index.linking.overrides import DOCUMENT, Override, OverrideAction, Overrides
from mirror_index.linking.redirects import AnyCase, Redirects
from mirror_index.names import name_key
from mirror_index.readers.cells import text_flaw
from mirror_index.tables.opening import open_table
from mirror_index.tables.outcomes import TableRow
from mirror_index.tables.sources import DelimitedTable

if TYPE_CHECKING:
    from mirror_index.collection import Collection
    from mirror_index.collection.noting import Noted
    from mirror_index.store.layout import Json

COLUMNS = ("mention", "action", "reason", "who", "when")
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OverridesReport:
    """What an import did.

    Attributes:
        generation: number of the committed state; the old one when nothing changed.
        overrides: how many there are now.
        added: decisions that are new.
        removed: decisions that are no longer there.
        changed: decisions of which only the spelling, reason, person or date changed.
        unchanged: decisions that were there already.
        duplicates: rows that repeat another row's decision, and were dropped.
        redirected: ids that were replaced by the concept they stand for, as ``old -> new``.
    """

    generation: int
    overrides: int
    added: int
    removed: int
    changed: int
    unchanged: int
    duplicates: int
    redirected: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def import_overrides(
    collection: Collection,
    source: str | Path | BinaryIO,
    *,
    replace_all: bool = False,
    timeout: float = 10.0,
) -> OverridesReport:
    """Check overrides and keep them in the collection, all of them or none, as one commit.

    The source is a TSV or CSV file with the columns `mention` (or `name`) and `action`, and perhaps
    `reason`, `who` and `when`. An action is ``concept ID``, ``never ID`` or ``nil``. The decisions
    about a mention take the place of those kept about it (under the same key) before.

    Args:
        collection: holds the concepts; an obsolete or alternative id is replaced by the one concept
            it stands for.
        source: a file, or an open binary stream of TSV.
        replace_all: drop what is kept about other mentions.
        timeout: seconds to wait for another writer.

    Raises:
        SourceError: unreadable, without its columns, or rows that cannot be taken: an unknown
            action or concept, an id that nothing or several things replace, contradictions. Every
            such row is named with its line, and nothing is changed.
        CollectionBusyError: another writer holds the collection.
    """
    from mirror_index.collection.noting import Noted, commit_document  # what writes loads late

    reading = _Reading(collection)
    fresh = reading.overrides(source)
    report: list[OverridesReport] = []
    name = source if isinstance(source, str | Path) else "standard input"

    def change(document: Json) -> Noted | None:
        old = Overrides.from_document(document)
        new = fresh if replace_all else _merged(old, fresh)
        report.append(_compared(old, new, reading))
        if (old.rows, old.keys) == (new.rows, new.keys):
            return None
        return Noted(value=new.to_document(), details={DOCUMENT: report[-1].to_json()})

    generation = commit_document(
        collection.folder, DOCUMENT, change, verb=DOCUMENT, source=str(name), timeout=timeout
    )
    return replace(report[-1], generation=generation)


def _merged(old: Overrides, fresh: Overrides) -> Overrides:
    new = set(fresh.keys)
    kept = [(row, key) for row, key in zip(old.rows, old.keys, strict=True) if key not in new]
    return Overrides(
        [*(row for row, _ in kept), *fresh.rows], [*(key for _, key in kept), *fresh.keys]
    )


def _compared(old: Overrides, new: Overrides, reading: _Reading) -> OverridesReport:
    before = {(key, row.decision): row for key, row in zip(old.keys, old.rows, strict=True)}
    after = {(key, row.decision): row for key, row in zip(new.keys, new.rows, strict=True)}
    both = before.keys() & after.keys()
    changed = sum(before[one] != after[one] for one in both)
    return OverridesReport(
        generation=0,
        overrides=len(new),
        added=len(after.keys() - before.keys()),
        removed=len(before.keys() - after.keys()),
        changed=changed,
        unchanged=len(both) - changed,
        duplicates=reading.duplicates,
        redirected=tuple(reading.redirected),
    )


class _Reading:
    """Reads rows, and collects what is wrong with them."""

    def __init__(self, collection: Collection) -> None:
        self.duplicates = 0
        self.redirected: list[str] = []
        self._redirects = Redirects(collection)
        self._any_case = AnyCase(collection)
        self._problems: list[str] = []
        self._lines: dict[tuple[str, tuple[OverrideAction, str | None]], int] = {}

    def overrides(self, source: str | Path | BinaryIO) -> Overrides:
        """Return the rows of a source, or raise one error about all that cannot be taken."""
        table = open_table(source)
        if not isinstance(table, DelimitedTable):
            raise SourceError("overrides are read from TSV or CSV", where=table.name)
        columns = _columns(table)
        rows: list[Override] = []
        count = 0
        for window in table.windows(4096):
            for row in window:
                count += not row.blank
                taken = None if row.blank else self._take(row, columns)
                if taken is not None:
                    rows.append(taken)
        self._find_contradictions()
        if self._problems:
            more = len(self._problems) - _SHOWN
            shown = [*self._problems[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
            raise SourceError(
                f"{len(self._problems)} of {count} overrides cannot be taken\n  "
                + "\n  ".join(shown)
                + "\nNothing was changed",
                where=table.name,
            )
        return Overrides(rows)

    def _take(self, row: TableRow, columns: dict[str, int]) -> Override | None:
        cells = {name: str(row.cells[place]).strip() for name, place in columns.items()}
        problem = row.problem
        if problem is None:
            flaw = text_flaw("".join(cells.values()))
            problem = None if flaw is None else f"the row {flaw}"
        override = None
        if problem is None:
            override, problem = self._parsed(cells)
        if override is None:
            self._problems.append(f"line {row.line}: {problem}")
            return None
        return self._distinct(override, row.line)

    def _parsed(self, cells: dict[str, str]) -> tuple[Override | None, str | None]:
        word, _, identifier = cells["action"].partition(" ")
        word = word.lower()
        identifier = identifier.strip()
        if not name_key(cells["mention"]):
            return None, f"the mention {cells['mention']!r} holds no letter and no digit"
        if word not in [action.value for action in OverrideAction]:
            return None, f"{cells['action']!r} is none of: concept ID, never ID, nil"
        action = OverrideAction(word)
        if (action is OverrideAction.NIL) == bool(identifier):
            needs = "takes no id" if identifier else "needs a concept id"
            return None, f"the action {word} {needs}"
        concept_id, problem = (None, None) if not identifier else self._concept(identifier)
        if problem is not None:
            return None, problem
        about = {name: cells.get(name, "") for name in ("reason", "who", "when")}
        return (
            Override(mention=cells["mention"], action=action, concept_id=concept_id, **about),
            None,
        )

    def _concept(self, identifier: str) -> tuple[str | None, str | None]:
        """Return the live concept an id stands for, or why there is not exactly one."""
        concept = self._any_case.concepts([identifier]).get(identifier)
        if concept is None:
            return None, f"there is no concept {identifier!r} in the collection"
        redirect = self._redirects.follow(concept.id)
        if len(redirect.ids) != 1 or not redirect.certain:
            leads = f"could be {', '.join(redirect.ids)}" if redirect.ids else "nothing replaces it"
            return None, f"the concept {identifier!r} is obsolete: {leads}"
        (target,) = redirect.ids
        if target != identifier:
            self.redirected.append(f"{identifier} -> {target}")
        return target, None

    def _distinct(self, override: Override, line: int) -> Override | None:
        decided = (name_key(override.mention), override.decision)
        if decided in self._lines:
            self.duplicates += 1
            return None
        self._lines[decided] = line
        return override

    def _find_contradictions(self) -> None:
        by_key: dict[str, list[tuple[OverrideAction, str | None, int]]] = {}
        for (key, decision), line in self._lines.items():
            by_key.setdefault(key, []).append((*decision, line))
        for key, several in by_key.items():
            final = [one for one in several if one[0] is not OverrideAction.NEVER]
            never = [one for one in several if one[0] is OverrideAction.NEVER]
            against = [one for one in never if final and one[1] == final[0][1]]
            if len(final) + len(against) > 1:
                lines = ", ".join(str(one[2]) for one in sorted([*final, *against], key=_line))
                self._problems.append(f"lines {lines}: they contradict each other about {key!r}")


def _line(decision: tuple[OverrideAction, str | None, int]) -> int:
    return decision[2]


def _columns(table: DelimitedTable) -> dict[str, int]:
    """Return where each known column is."""
    names = ["mention" if name == "name" else name for name in table.columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    unknown = [name for name in names if name not in COLUMNS]
    missing = [name for name in COLUMNS[:2] if name not in names]
    if twice or unknown or missing:
        what = (
            f"the column {(twice + unknown)[0]!r} is there twice"
            if twice
            else f"unknown column {unknown[0]!r}"
            if unknown
            else f"no column {missing[0]!r}"
        )
        raise SourceError(
            what,
            where=table.name,
            remedy=f"The columns are mention (or name) and action, and perhaps "
            f"{', '.join(COLUMNS[2:])}",
        )
    return {name: place for place, name in enumerate(names)}
