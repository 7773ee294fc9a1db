"""The read-only side of the database; plain `sqlite3`, so that opening stays light."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from mirror_index.errors import CollectionCorruptError, CollectionError
from mirror_index.store.generations import Generation, read_generation, read_meta
from mirror_index.store.layout import Json, chunked, refuse_newer_format
from mirror_index.vectors import IntVector

_CACHE_KIB = 65_536
"""Most memory for pages of the database; SQLite's own 2 MB send half of the reads to the file."""
_FUNCTIONS = frozenset(
    "bm25 coalesce count json_each json_extract json_type like match max min sum lower abs "
    "row_number iif typeof".split()
)
_PRAGMAS = frozenset({"data_version", "user_version"})
# A message of SQLite that quotes damaged text cannot even be decoded; stored JSON may be cut off.
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError)
_NO_DAMAGE = frozenset(
    {
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
    }
)
_CONNECT_ERRORS = ("readonly", "read-only", "unable to open", "attempt to write")


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open an SQLite file that this process will only read, also from a read-only disk.

    Raises:
        CollectionError: missing, not an SQLite file, of a newer format, or on a read-only disk with
            a write-ahead log that was never merged.
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
            raise unreadable(path, error) from error
        connection = _connect_immutable(path)
    except DAMAGE as error:
        raise unreadable(path, error) from error
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path.resolve()))}?{mode}"  # bytes: a name need not be UTF-8
    connection = sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        timeout=30.0,
    )
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        refuse_newer_format(version, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_immutable(path: Path) -> sqlite3.Connection:
    """Open a self-contained database where SQLite may create no shared-memory file."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise CollectionError(
            "the collection lies on a read-only disk and its last change is still in the "
            "write-ahead log",
            where=str(log),
            remedy="Copy the collection to a writable place, open it there once, and copy it back",
        )
    try:
        return _connect(path, "immutable=1")
    except sqlite3.DatabaseError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> CollectionError:
    """Return the error for a database that SQLite cannot read: damage, or trouble around it."""
    if says_nothing_of_damage(error):
        return CollectionError(
            f"the collection's database cannot be read now: {error}",
            where=str(path),
            remedy="Check the disk, and whether another program holds it open, and try again",
        )
    return CollectionCorruptError(
        f"the collection's database cannot be read: {error}",
        where=str(path),
        remedy="Restore it from a copy, or build the collection again with --overwrite",
    )


def says_nothing_of_damage(error: Exception) -> bool:
    """Tell trouble with the system from damage; text that is not UTF-8 has no code."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _NO_DAMAGE


def _authorise(
    action: int, first: str | None, second: str | None, database: str | None, source: str | None
) -> int:
    """Keep a filter away from other files and functions, should it ever get there.

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
    """Queries against one collection's database; every group of queries runs inside `snapshot`.

    Attributes:
        path: the database.
        connection: may be used in any thread, one at a time.
        close: closes the connection; again does nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = connect_read_only(path)
        self.connection.set_authorizer(_authorise)
        # A store that nobody closed is closed with its last reference, without a warning.
        self.close = weakref.finalize(self, self.connection.close)
        self._known: tuple[int, Generation] | None = None
        self._cursor = self.connection.cursor()  # kept, for it is asked for every search

    @contextmanager
    def snapshot(self) -> Iterator[Generation]:
        """Hold one committed state for the block; writers go on unhindered.

        Raises:
            CollectionError: nothing was ever committed here.
            CollectionCorruptError: SQLite finds the database damaged, also within the block.
        """
        self.connection.execute("BEGIN")
        try:
            yield self.generation()
        except DAMAGE as error:
            if says_nothing_of_damage(error):
                raise unreadable(self.path, error) from error
            raise CollectionCorruptError(
                f"the collection's database is damaged: {error}",
                where=str(self.path),
                remedy="Restore it from a copy, or build the collection again with --overwrite",
            ) from error
        finally:
            if self.connection.in_transaction:  # SQLite itself ends it on some errors
                self.connection.execute("ROLLBACK")

    def unchanged(self, number: int) -> bool:
        """Return whether the state that was read last has this number and is still the newest."""
        known = self._known
        return known is not None and known[1].number == number and known[0] == self._version()

    def _version(self) -> int:
        """Return a number that is another one after any commit of another connection."""
        version: int = self._cursor.execute("PRAGMA data_version").fetchone()[0]
        return version

    def generation(self) -> Generation:
        """Return the newest committed generation."""
        version = self._version()  # within a transaction this begins the reading
        if self._known is not None and self._known[0] == version:
            return self._known[1]
        found = read_generation(self.connection)
        if found is None:
            raise CollectionError(
                "the collection was never finished",
                where=str(self.path.parent),
                remedy="Run the same build again: it goes on where it stopped, or remove it",
            )
        self._known = (version, found)
        return found

    def meta(self, key: str) -> Json:
        """Return a JSON value of the `meta` table, None when there is none."""
        return read_meta(self.connection, key)

    def format_version(self) -> int:
        """Return the format of the database, which its next change brings up to date."""
        return int(self.connection.execute("PRAGMA user_version").fetchone()[0])

    def require_rows(self, rows: int) -> None:
        """Refuse a database whose texts have other rows than the committed vectors.

        Raises:
            CollectionCorruptError: a row of a text is not from 0 to `rows` - 1.
        """
        low, high = self.connection.execute(
            "SELECT (SELECT min(row) FROM texts), (SELECT max(row) FROM texts)"
        ).fetchone()
        if low is not None and not 0 <= low <= high < rows:
            raise CollectionCorruptError(
                f"texts have rows {low} to {high}, {rows} vectors were committed",
                where=str(self.path),
                remedy="Run `mirror-index verify`, and restore the database from a copy",
            )

    def dead_rows(self) -> IntVector:
        """Return the ascending row numbers of texts that no record uses."""
        rows = self.connection.execute("SELECT row FROM texts WHERE records = 0 ORDER BY row")
        return _int_column(rows)

    def rows_of_hashes(self, hashes: Sequence[bytes]) -> list[tuple[bytes, int]]:
        """Return hash and row of those texts that are there, tombstones included."""
        found: list[tuple[bytes, int]] = []
        for part in chunked(hashes):
            marks = ",".join("?" * len(part))
            found += self.connection.execute(
                f"SELECT hash, row FROM texts WHERE hash IN ({marks})", part
            ).fetchall()
        return found

    def rows_where(self, predicate: str, parameters: Sequence[object]) -> IntVector:
        """Return the ascending text rows of the records that a compiled filter lets through."""
        rows = self.connection.execute(
            "SELECT DISTINCT records.text_row FROM records "
            "JOIN texts ON texts.row = records.text_row "
            f"WHERE {predicate} ORDER BY records.text_row",
            parameters,
        )
        return _int_column(rows)

    def quarantine(self, limit: int | None) -> list[tuple[Any, ...]]:
        """Return line, reason, content, skipped, source of rejected rows, oldest first."""
        return self.connection.execute(
            "SELECT line, reason, content, skipped, source FROM quarantine "
            "ORDER BY generation, rowid LIMIT ?",
            (-1 if limit is None else limit,),
        ).fetchall()

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


def _int_column(rows: Iterable[tuple[int]]) -> IntVector:
    return np.fromiter((row[0] for row in rows), dtype=np.int64)
