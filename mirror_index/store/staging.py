"""Where a change gathers before its commit: temporary tables, which vanish with the connection.

Temporary, so that a killed writer leaves nothing to clean up and memory stays bounded (SQLite
spills them to disk); what is costly, the vectors, is kept apart as `pending`. Duplicates are
settled window by window, so that an error shows before the rest of the source is encoded.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from operator import itemgetter

from mirror_index.config import OnDuplicate
from mirror_index.errors import CollectionError
from mirror_index.records import Rejected
from mirror_index.store.rows import (
    CONCEPT_COLUMNS,
    ConceptRow,
    StagedName,
    StagedRecord,
    rejected_values,
)

_TABLES = (
    """CREATE TEMP TABLE staged (
        pos INTEGER PRIMARY KEY, id TEXT NOT NULL, hash BLOB NOT NULL, raw TEXT, metadata TEXT NOT
        NULL, concept_id TEXT, scope TEXT, name_type TEXT, source_line INTEGER, checksum INTEGER NOT
        NULL, name_key TEXT, of_concept INTEGER NOT NULL, action TEXT NOT NULL DEFAULT 'insert'
    )""",
    "CREATE INDEX temp.staged_id ON staged (id)",
    "CREATE INDEX temp.staged_concept ON staged (concept_id) WHERE of_concept = 1",
    """CREATE TEMP TABLE staged_concepts (
        id TEXT PRIMARY KEY, label TEXT, definition TEXT, obsolete INTEGER, derived INTEGER,
        replaced_by TEXT, consider TEXT, alt_ids TEXT, parents TEXT, semantic_types TEXT, xrefs
        TEXT, source_line INTEGER, content_hash TEXT, checksum INTEGER
    )""",
    """CREATE TEMP TABLE staged_obsolete (
        key TEXT, text TEXT, concept_id TEXT, scope TEXT, name_type TEXT, checksum INTEGER
    )""",
    """CREATE TEMP TABLE staged_rejected (
        line INTEGER, reason TEXT, content TEXT, skipped INTEGER, checksum INTEGER
    )""",
)
_SAME_AS_STORED = (
    "texts.hash = staged.hash AND records.metadata = staged.metadata "
    "AND records.concept_id IS staged.concept_id AND records.scope IS staged.scope "
    "AND records.name_type IS staged.name_type"
)


class Taken(Enum):
    """What became of a concept: new, in the place of an earlier one of the batch, or left out."""

    NEW = "new"
    REPLACES = "replaces"
    LEFT_OUT = "left out"


@dataclass(slots=True, kw_only=True)
class StagingCounts:
    """What staging settled: rows equal to stored ones, and repeated ids that were dropped."""

    unchanged: int = 0
    duplicates: int = 0


class Staging:
    """The temporary tables of one change.

    Args:
        connection: the writer's connection.
        policy: what to do with an id that comes twice with different content.
        upsert: stored records with the same id are replaced, whatever `policy` says.
        fresh: stored records do not count, for this change replaces all of them.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        policy: OnDuplicate,
        upsert: bool = False,
        fresh: bool = False,
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._upsert = upsert
        self._fresh = fresh
        self._pos = 0
        self.counts = StagingCounts()
        connection.execute("PRAGMA temp_store = FILE")
        for table in ("staged", "staged_concepts", "staged_obsolete", "staged_rejected"):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
        for statement in _TABLES:
            connection.execute(statement)

    def add_records(self, records: Iterable[StagedRecord]) -> set[bytes]:
        """Stage one window of records, settle its duplicates, and return the text hashes it needs.

        Raises:
            CollectionError: an id came twice with different content and the policy is `error`.
        """
        start = self._pos
        rows = []
        for record in records:
            rows.append((self._pos, *record.values()))
            self._pos += 1
        execute = self._connection.execute
        execute("BEGIN")
        try:
            self._connection.executemany(
                "INSERT INTO temp.staged (pos, id, hash, raw, metadata, concept_id, scope, "
                "name_type, "
                "source_line, checksum, name_key, of_concept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
                "?, ?, ?)",
                rows,
            )
            self._settle_in_batch(start)
            if not self._fresh:
                self._settle_with_stored(start)
        except BaseException:
            execute("ROLLBACK")
            raise
        execute("COMMIT")
        needed = execute(
            "SELECT DISTINCT hash FROM temp.staged WHERE pos >= ? AND action IN ('insert', "
            "'update')",
            (start,),
        )
        return {row[0] for row in needed}

    def texts_used(self) -> int:
        """Return how many distinct texts the staged records need."""
        row = self._connection.execute(
            "SELECT count(DISTINCT hash) FROM temp.staged WHERE action IN ('insert', 'update')"
        ).fetchone()
        return int(row[0])

    def _settle_in_batch(self, start: int) -> None:
        repeated = self._connection.execute(
            "SELECT id, pos, source_line, hash, metadata, concept_id, scope, name_type "
            "FROM temp.staged WHERE action != 'drop' AND id IN (SELECT id FROM temp.staged "
            "WHERE id IN (SELECT id FROM temp.staged WHERE pos >= ?) AND action != 'drop' "
            "GROUP BY id HAVING count(*) > 1) ORDER BY id, pos",
            (start,),
        )
        gone: list[int] = []
        for id_, rows in groupby(repeated, key=itemgetter(0)):
            (_, kept, first_line, *content), *later = rows
            for _, pos, line, *other in later:
                if other == content or self._policy is OnDuplicate.FIRST:
                    gone.append(pos)
                elif self._policy is OnDuplicate.LAST:
                    gone.append(kept)
                    kept, content = pos, other
                else:
                    raise _duplicate(
                        "an id occurs twice with different content", id_, first_line, line
                    )
        self.counts.duplicates += len(gone)
        self._mark("drop", gone)

    def _settle_with_stored(self, start: int) -> None:
        same = _SAME_AS_STORED + (" AND records.raw IS staged.raw" if self._upsert else "")
        rows = self._connection.execute(
            f"SELECT staged.pos, staged.id, records.source_line, staged.source_line, {same} "
            "FROM temp.staged JOIN records ON records.id = staged.id "
            "JOIN texts ON texts.row = records.text_row "
            "WHERE staged.pos >= ? AND staged.action = 'insert' ORDER BY staged.pos",
            (start,),
        ).fetchall()
        marks: dict[str, list[int]] = {"same": [], "update": [], "drop": []}
        for pos, id_, first_line, second_line, equal in rows:
            if equal:
                marks["same"].append(pos)
            elif self._upsert or self._policy is OnDuplicate.LAST:
                marks["update"].append(pos)
            elif self._policy is OnDuplicate.FIRST:
                marks["drop"].append(pos)
            else:
                raise _duplicate(
                    "an id is in the collection with other content", id_, first_line, second_line
                )
        self.counts.unchanged += len(marks["same"])
        self.counts.duplicates += len(marks["drop"])
        for action, positions in marks.items():
            self._mark(action, positions)

    def _mark(self, action: str, positions: Iterable[int]) -> None:
        self._connection.executemany(
            "UPDATE temp.staged SET action = ? WHERE pos = ?",
            ((action, pos) for pos in positions),
        )

    def take_concept(self, concept: ConceptRow, names: Iterable[StagedName]) -> Taken:
        """Stage a concept, or decide that it is left out.

        Raises:
            CollectionError: its id came twice with different content and the policy is `error`.
        """
        known = self._staged_concept(concept.id)
        if known is not None:
            if known[0] == concept.content_hash or self._policy is OnDuplicate.FIRST:
                self.counts.duplicates += 1
                return Taken.LEFT_OUT
            if self._policy is OnDuplicate.ERROR:
                raise _duplicate(
                    "a concept occurs twice with different content",
                    concept.id,
                    known[1],
                    concept.line,
                )
            self._forget_concept(concept.id)
        elif not self._admits(concept):
            return Taken.LEFT_OUT
        columns = concept.values()
        marks = ", ".join("?" * len(columns))
        self._connection.execute(
            f"INSERT INTO temp.staged_concepts ({CONCEPT_COLUMNS}) VALUES ({marks})", columns
        )
        self._connection.executemany(
            "INSERT INTO temp.staged_obsolete (key, text, concept_id, scope, name_type, "
            "checksum) VALUES (?, ?, ?, ?, ?, ?)",
            (name.values() for name in names),
        )
        return Taken.NEW if known is None else Taken.REPLACES

    def _admits(self, concept: ConceptRow) -> bool:
        """Compare a concept with the stored one, unless that was derived from rows."""
        if self._fresh:
            return True
        row = self._connection.execute(
            "SELECT content_hash, source_line FROM concepts WHERE id = ? AND derived = 0",
            (concept.id,),
        ).fetchone()
        if row is None or row[0] == concept.content_hash or self._upsert:
            return True
        if self._policy is OnDuplicate.ERROR:
            raise _duplicate(
                "a concept is in the collection with other content",
                concept.id,
                row[1],
                concept.line,
            )
        if self._policy is OnDuplicate.FIRST:
            self.counts.duplicates += 1
            return False
        return True

    def _staged_concept(self, id_: str) -> tuple[str, int | None] | None:
        """Return content hash and line of a concept of this change."""
        found: tuple[str, int | None] | None = self._connection.execute(
            "SELECT content_hash, source_line FROM temp.staged_concepts WHERE id = ?", (id_,)
        ).fetchone()
        return found

    def _forget_concept(self, id_: str) -> None:
        self.counts.duplicates += 1
        for statement in (
            "DELETE FROM temp.staged_concepts WHERE id = ?",
            "DELETE FROM temp.staged_obsolete WHERE concept_id = ?",
            "UPDATE temp.staged SET action = 'drop' WHERE of_concept = 1 AND concept_id = ?",
        ):
            self._connection.execute(statement, (id_,))

    def add_rejected(self, rows: Iterable[Rejected]) -> None:
        """Stage rows that were not taken."""
        self._connection.executemany(
            "INSERT INTO temp.staged_rejected (line, reason, content, skipped, checksum) "
            "VALUES (?, ?, ?, ?, ?)",
            (rejected_values(row) for row in rows),
        )

    def records_of(self, hashes: Iterable[bytes], limit: int) -> list[tuple[str, int | None]]:
        """Return (id, line) of staged records with one of these texts, for a message."""
        found: list[tuple[str, int | None]] = []
        for one in hashes:
            found += self._connection.execute(
                "SELECT id, source_line FROM temp.staged WHERE hash = ? AND action != 'drop' "
                "LIMIT ?",
                (one, limit),
            ).fetchall()
            if len(found) >= limit:
                break
        return found[:limit]


def _duplicate(what: str, id_: str, first: int | None, second: int | None) -> CollectionError:
    lines = [str(line) for line in (first, second) if line is not None]
    return CollectionError(
        what,
        value=id_,
        where=f"lines {' and '.join(lines)}" if lines else None,
        remedy="Give the rows distinct ids, or choose: on_duplicate (--on-duplicate) first or last",
    )
