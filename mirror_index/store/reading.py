"""The read-only side of the SQLite file; plain `sqlite3`, so that opening a collection stays light."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mirror_index.errors import CollectionError
from mirror_index.store.layout import checksum, refuse_newer_format
from mirror_index.vectors import IntVector

_PARAMETERS = 30_000
_FUNCTIONS = frozenset(
    "bm25 coalesce count json_each json_extract json_type like match max min sum lower abs row_number "
    "iif typeof".split()
)
_PRAGMAS = frozenset({"data_version", "user_version"})
_CONNECT_ERRORS = (
    "readonly",
    "read-only",
    "unable to open",
    "attempt to write",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One committed state, as its row in `generations` says.

    `ann_parameters` and `details` are parsed JSON; `ann_file` is None when search is exact.
    """

    number: int
    committed_at: str
    verb: str
    source: str | None
    vector_file: str
    vector_rows: int
    live_records: int
    live_texts: int
    dead_texts: int
    concepts: int
    ann_file: str | None
    ann_rows: int
    ann_sha256: str | None
    ann_kind: str
    ann_parameters: dict[str, Any]
    encoder_fingerprint: str
    encoder_folder: str
    dim: int
    details: dict[str, Any]


GENERATION_COLUMNS = tuple(Generation.__dataclass_fields__)


def generation_checksum(values: Sequence[object]) -> str:
    """Return the checksum stored beside a generation's columns (given in `GENERATION_COLUMNS` order)."""
    return f"{checksum(values):016x}"


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open an SQLite file that this process will only read, also from a read-only disk.

    Raises:
        CollectionError: missing, not an SQLite file, of a newer format, or on a read-only disk with a
            write-ahead log that was never merged.
    """
    if not path.is_file():
        raise CollectionError(
            "there is no collection here",
            where=str(path.parent),
            remedy="Check the path, or make one with `mirror-index build`",
        )
    try:
        connection = _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if not any(word in str(error) for word in _CONNECT_ERRORS):
            raise _unreadable(path, error) from error
        connection = _connect_immutable(path)
    except sqlite3.DatabaseError as error:
        raise _unreadable(path, error) from error
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.resolve()))}?{mode}"
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        timeout=30.0,
    )
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        refuse_newer_format(version, path)
    except (sqlite3.Error, CollectionError):
        connection.close()
        raise
    return connection


def _connect_immutable(path: Path) -> sqlite3.Connection:
    """A read-only disk lets SQLite create no shared-memory file; then the database must be self-contained."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise CollectionError(
            "the collection lies on a read-only disk and its last change is still in the write-ahead log",
            where=str(log),
            remedy="Copy the collection to a writable place, open it there once, and copy it back",
        )
    try:
        return _connect(path, "immutable=1")
    except sqlite3.DatabaseError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: sqlite3.Error) -> CollectionError:
    return CollectionError(
        f"the collection's database cannot be read: {error}",
        where=str(path),
        remedy="Restore it from a copy, or build the collection again with overwrite",
    )


def _authorise(
    action: int, first: str | None, second: str | None, database: str | None, source: str | None
) -> int:
    """Keep a filter away from other files and from functions it has no use for, should it ever get there.

    Writes need no rule: the connection is read-only.
    """
    del database, source
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _FUNCTIONS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _PRAGMAS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


class ReadStore:
    """Queries against one collection's database; every group of queries runs inside `snapshot`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = connect_read_only(path)
        self.connection.set_authorizer(_authorise)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[Generation]:
        """Hold one committed state for the block; writers go on unhindered.

        Raises:
            CollectionError: nothing was ever committed here.
        """
        self.connection.execute("BEGIN")
        try:
            yield self.generation()
        finally:
            self.connection.execute("ROLLBACK")

    def generation(self) -> Generation:
        """Return the newest committed generation."""
        found = read_generation(self.connection)
        if found is None:
            raise CollectionError(
                "the collection was never finished",
                where=str(self.path.parent),
                remedy="Run the same build again: it goes on where it stopped",
            )
        return found

    def meta(self, key: str) -> Any | None:
        """Return a JSON value of the `meta` table, None when there is none."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def dead_rows(self) -> IntVector:
        """Return the ascending row numbers of texts that no record uses."""
        rows = self.connection.execute("SELECT row FROM texts WHERE records = 0 ORDER BY row")
        return _int_column(rows)

    def rows_where(self, predicate: str, parameters: Sequence[object]) -> IntVector:
        """Return the ascending text rows of the records that a compiled filter lets through."""
        rows = self.connection.execute(
            "SELECT DISTINCT records.text_row FROM records JOIN texts ON texts.row = records.text_row "
            f"WHERE {predicate} ORDER BY records.text_row",
            parameters,
        )
        return _int_column(rows)

    def count_where(self, predicate: str, parameters: Sequence[object]) -> int:
        """Return how many records a compiled filter lets through."""
        row = self.connection.execute(
            "SELECT count(*) FROM records JOIN texts ON texts.row = records.text_row "
            f"WHERE {predicate}",
            parameters,
        ).fetchone()
        return int(row[0])

    def records_of_text(
        self, row: int, limit: int, predicate: str, parameters: Sequence[object]
    ) -> list[tuple[Any, ...]]:
        """Return up to `limit` records of one text in id order: id, text, metadata, concept_id, scope."""
        found = self.connection.execute(
            "SELECT records.id, coalesce(records.raw, texts.text), records.metadata, "
            "records.concept_id, records.scope FROM records JOIN texts ON texts.row = records.text_row "
            f"WHERE records.text_row = ? AND {predicate} ORDER BY records.id LIMIT ?",
            (row, *parameters, limit),
        )
        return found.fetchall()

    def rows_of_hashes(self, hashes: Iterable[bytes]) -> dict[bytes, int]:
        """Return the row of each text hash that is stored."""
        found: dict[bytes, int] = {}
        for part in chunked(list(hashes)):
            marks = ",".join("?" * len(part))
            found.update(
                self.connection.execute(
                    f"SELECT hash, row FROM texts WHERE hash IN ({marks})", part
                )
            )
        return found

    def quarantine(self, limit: int | None) -> list[tuple[Any, ...]]:
        """Return line, reason, content, skipped of rejected rows, oldest first."""
        return self.connection.execute(
            "SELECT line, reason, content, skipped FROM quarantine ORDER BY generation, rowid LIMIT ?",
            (-1 if limit is None else limit,),
        ).fetchall()

    def audited(self, limit: int | None) -> list[tuple[Any, ...]]:
        """Return id, text, tokens, truncated, has_unknown, line of records whose text was not read whole."""
        return self.connection.execute(
            "SELECT records.id, coalesce(records.raw, texts.text), texts.tokens, texts.truncated, "
            "texts.has_unknown, records.source_line FROM records JOIN texts ON texts.row = records.text_row "
            "WHERE texts.truncated OR texts.has_unknown ORDER BY records.id LIMIT ?",
            (-1 if limit is None else limit,),
        ).fetchall()

    def audit_counts(self) -> dict[str, int]:
        """Return counts of live truncated and unknown texts, quarantined and skipped rows."""
        names = ("truncated", "unknown", "quarantined", "skipped")
        row = self.connection.execute(
            "SELECT (SELECT count(*) FROM texts WHERE truncated AND records > 0), "
            "(SELECT count(*) FROM texts WHERE has_unknown AND records > 0), "
            "(SELECT count(*) FROM quarantine WHERE NOT skipped), "
            "(SELECT count(*) FROM quarantine WHERE skipped)"
        ).fetchone()
        return dict(zip(names, row, strict=True))

    def has_field(self, name: str) -> bool:
        """Return whether any record has a metadata field of this name."""
        row = self.connection.execute(
            "SELECT 1 FROM records, json_each(records.metadata) WHERE json_each.key = ? LIMIT 1",
            (name,),
        ).fetchone()
        return row is not None

    def metadata_fields(self) -> list[str]:
        """Return the names of all metadata fields that occur, in order."""
        rows = self.connection.execute(
            "SELECT DISTINCT json_each.key FROM records, json_each(records.metadata) ORDER BY 1"
        )
        return [str(row[0]) for row in rows]


def read_generation(connection: sqlite3.Connection) -> Generation | None:
    """Return the newest generation of a database, None when nothing was committed yet."""
    columns = ", ".join(GENERATION_COLUMNS)
    row = connection.execute(
        f"SELECT {columns} FROM generations ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    values = dict(zip(GENERATION_COLUMNS, row, strict=True))
    values["ann_parameters"] = json.loads(values["ann_parameters"])
    values["details"] = json.loads(values["details"])
    return Generation(**values)


def chunked(values: Sequence[Any], size: int = _PARAMETERS) -> Iterator[Sequence[Any]]:
    """Yield slices small enough for the bound parameters of one statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _int_column(rows: Iterable[tuple[int]]) -> IntVector:
    return np.fromiter((row[0] for row in rows), dtype=np.int64)
