"""The names, ids and references of a source in a temporary SQLite file, to find what disagrees."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

from mirror_index.records import Concept

_SHOWN = 5
_SCHEMA = """
CREATE TABLE names (key TEXT, concept TEXT, scope TEXT, text TEXT, line INTEGER);
CREATE TABLE concepts (id TEXT, line INTEGER, obsolete INTEGER);
CREATE TABLE ids (id TEXT, line INTEGER);
CREATE TABLE refs (kind TEXT, id TEXT, target TEXT, line INTEGER);
"""
_INDEXES = """
CREATE INDEX IF NOT EXISTS names_by_key ON names (key, concept);
CREATE INDEX IF NOT EXISTS concepts_by_id ON concepts (id);
CREATE INDEX IF NOT EXISTS refs_by_target ON refs (kind, target);
CREATE INDEX IF NOT EXISTS refs_by_id ON refs (kind, id);
"""


class NameRow(NamedTuple):
    """One name of a concept, with its key."""

    key: str
    concept: str
    scope: str
    text: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Clash:
    """One key that several concepts have: a name of each, five at most, and how many more."""

    names: tuple[NameRow, ...]
    more: int


class Oddity(NamedTuple):
    """What is wrong with an id, and where it stands."""

    what: str
    id: str
    line: int | None


class LintStore:
    """Holds what was read in a file that is gone when this is closed; use as a context manager."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # a temporary file of SQLite's own
        self._db.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA}")
        self._db.execute("BEGIN")

    def __enter__(self) -> LintStore:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._db.close()

    def add_id(self, record_id: str, line: int | None) -> None:
        """Take the id of a plain record or of a row of a table."""
        self._db.execute("INSERT INTO ids VALUES (?, ?)", (_storable(record_id), line))

    def add_concept(self, concept: Concept) -> None:
        """Take the id of a concept, and the ids it refers to."""
        own = _storable(concept.id)
        self._db.execute(
            "INSERT INTO concepts VALUES (?, ?, ?)", (own, concept.line, int(concept.obsolete))
        )
        self._db.executemany(
            "INSERT INTO refs VALUES (?, ?, ?, ?)",
            [
                (kind, own, _storable(target), concept.line)
                for kind, targets in (
                    ("alt_id", concept.alt_ids),
                    ("parent", concept.parents),
                    ("replaced_by", concept.replaced_by),
                    ("consider", concept.consider),
                )
                for target in targets
            ],
        )

    def add_names(self, names: Iterable[NameRow]) -> None:
        """Take names of live concepts."""
        self._db.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?, ?)",
            ((*map(_storable, name[:4]), name.line) for name in names),
        )

    def concepts(self) -> int:
        """Return how many distinct concepts there are, given as such or by the names of a table."""
        (count,) = self._db.execute(
            "SELECT count(*) FROM (SELECT id FROM concepts UNION SELECT concept FROM names)"
        ).fetchone()
        return int(count)

    def clashes(self) -> Iterator[Clash]:
        """Yield the keys that name several concepts, the most shared first."""
        self._db.executescript(_INDEXES)
        keys = self._db.execute(
            "SELECT key, count(DISTINCT concept) AS n FROM names WHERE key != '' "
            "GROUP BY key HAVING n > 1 ORDER BY n DESC, key"
        )
        for key, count in keys:
            rows = self._db.execute(
                "SELECT key, concept, scope, text, min(line) FROM names WHERE key = ? "
                "GROUP BY concept ORDER BY min(line), concept LIMIT ?",
                (key, _SHOWN),
            )
            names = tuple(NameRow(*row) for row in rows)
            yield Clash(names, count - len(names))

    def duplicate_ids(self) -> Iterator[Oddity]:
        """Yield ids that several concepts have, or several records."""
        for table, called in (("concepts", "concepts"), ("ids", "records")):
            rows = self._db.execute(
                f"SELECT id, count(*), min(line), max(line) FROM {table} "
                "GROUP BY id HAVING count(*) > 1 ORDER BY min(line)"
            )
            for own, count, first, last in rows:
                lines = "" if first is None else f", from line {first} to line {last}"
                yield Oddity(f"{count} {called} have the id {own}{lines}", own, first)

    def alt_id_clashes(self) -> Iterator[Oddity]:
        """Yield alternative ids that are also the id of a concept, or of several concepts.

        An obsolete concept that the owner of the alternative id replaces is no clash: that is how
        concepts are merged.
        """
        rows = self._db.execute(
            "SELECT refs.target, refs.id, refs.line, concepts.line FROM refs "
            "JOIN concepts ON concepts.id = refs.target "
            "WHERE refs.kind = 'alt_id' AND refs.id != refs.target "
            "AND (NOT concepts.obsolete OR EXISTS (SELECT 1 FROM refs AS gone "
            "WHERE gone.kind = 'replaced_by' AND gone.id = refs.target)) "
            "AND NOT EXISTS (SELECT 1 FROM refs AS gone WHERE gone.kind = 'replaced_by' "
            "AND gone.id = refs.target AND gone.target = refs.id) ORDER BY refs.line"
        )
        for alt, own, line, other in rows:
            where = "" if other is None else f" (line {other})"
            yield Oddity(f"the alternative id {alt} is that of a concept{where}", own, line)
        rows = self._db.execute(
            "SELECT target, group_concat(DISTINCT id), min(line) FROM refs WHERE kind = 'alt_id' "
            "GROUP BY target HAVING count(DISTINCT id) > 1 ORDER BY min(line)"
        )
        for alt, owners, line in rows:
            shown = owners.replace(",", ", ")
            yield Oddity(f"the alternative id {alt} is given to {shown}", alt, line)

    def dangling(self, *kinds: str) -> Iterator[Oddity]:
        """Yield references of some kinds to ids that are neither of a concept nor alternative."""
        marks = ", ".join("?" * len(kinds))
        rows = self._db.execute(
            f"SELECT kind, target, id, line FROM refs AS one WHERE kind IN ({marks}) "
            "AND NOT EXISTS (SELECT 1 FROM concepts WHERE concepts.id = one.target) "
            "AND NOT EXISTS (SELECT 1 FROM refs AS alt "
            "WHERE alt.kind = 'alt_id' AND alt.target = one.target) ORDER BY line",
            kinds,
        )
        for kind, target, own, line in rows:
            yield Oddity(f"{kind} {target} is not in the source", own, line)

    def cycles(self) -> Iterator[Oddity]:
        """Yield the circles that following `replaced_by` from obsolete concepts runs into."""
        targets: dict[str, list[str]] = {}
        lines: dict[str, int | None] = {}
        rows = self._db.execute(
            "SELECT refs.id, refs.target, refs.line FROM refs "
            "JOIN concepts ON concepts.id = refs.id "
            "WHERE refs.kind = 'replaced_by' AND concepts.obsolete ORDER BY refs.line"
        )
        for own, target, line in rows:
            targets.setdefault(own, []).append(target)
            lines[own] = line
        for circle in _circles(targets):
            shown = " -> ".join((*circle, circle[0]))
            yield Oddity(f"replaced_by runs in a circle: {shown}", circle[0], lines[circle[0]])


def _circles(targets: dict[str, list[str]]) -> Iterator[list[str]]:
    """Yield each circle that a walk finds once, as the ids on it (depth first, no recursion)."""
    done: set[str] = set()
    for start in targets:
        path: list[str] = []
        places: dict[str, int] = {}
        waiting: list[tuple[str, bool]] = [(start, False)]
        while waiting:
            node, leaving = waiting.pop()
            if leaving:
                done.add(path.pop())
                del places[node]
            elif node in places:
                yield path[places[node] :]
            elif node not in done:
                places[node] = len(path)
                path.append(node)
                waiting.append((node, True))
                waiting.extend((target, False) for target in targets.get(node, ()))


def _storable(text: str) -> str:
    """Return a text that SQLite takes: lone surrogates, which UTF-8 has no form for, replaced."""
    return text.encode("utf-8", "backslashreplace").decode()
