"""The rows of a query on an SQLite database, which is only ever read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers.layout import resolve_layout
from mirror_index.readers.rows import RowReader
from mirror_index.readers.source import check_file, source_name
from mirror_index.records import SourceItem

# Reading rows is all a query may do: no ATTACH (it creates files), no PRAGMA, no writes.
_ALLOWED = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    )
)


def read_sqlite(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield one record per row of `options.sql`; `line` and the default id hold its number from 1.

    Integers, reals, text and null stay what they are in the metadata; blobs become hexadecimal
    text. Text that is no string is rejected: nothing is converted, so use ``CAST(column AS TEXT)``.

    Raises:
        SourceError: no SQLite database, or the query fails midway.
        UsageError: no query, or one that is not a SELECT that this database can run.
    """
    path = check_file(source)
    with closing(_open(path)) as connection:
        if options.sql is None:
            raise UsageError(
                "an SQLite source needs a query",
                where=source_name(source),
                remedy=f"Give the SQL that yields the rows. {_tables(connection)}",
            )
        cursor = _run(connection, options.sql, source)
        columns = [column[0] for column in cursor.description]
        reader = RowReader(resolve_layout(columns, options, source_name(source)), source)
        for ordinal, row in enumerate(_rows(cursor, source), 1):
            values = dict(zip(columns, row, strict=True))
            yield reader.item(values, ordinal=ordinal, line=ordinal)


def _open(path: Path) -> sqlite3.Connection:
    # As bytes: a file name need not be UTF-8.
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path.resolve()))}?mode=ro", uri=True)
    # Text that is not UTF-8 costs its row, not the query.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise SourceError(
            f"the SQLite database cannot be read: {error}",
            where=str(path),
            remedy="Check that it is an SQLite file and that you may read it",
        ) from error
    connection.set_authorizer(_authorize)
    return connection


def _authorize(
    action: int, _first: str | None, _second: str | None, _database: str | None, _via: str | None
) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _run(connection: sqlite3.Connection, sql: str, source: str | Path) -> sqlite3.Cursor:
    try:
        cursor = connection.execute(sql)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise _bad_query(connection, sql, source, str(error)) from error
    if cursor.description is None:
        raise _bad_query(connection, sql, source, "it yields no rows")
    return cursor


def _bad_query(
    connection: sqlite3.Connection, sql: str, source: str | Path, reason: str
) -> UsageError:
    return UsageError(
        f"the query cannot be run ({reason})",
        value=sql,
        where=source_name(source),
        remedy=f"Give one SELECT statement. {_tables(connection)}",
    )


def _rows(cursor: sqlite3.Cursor, source: str | Path) -> Iterator[tuple[object, ...]]:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise SourceError(f"the query failed: {error}", where=source_name(source)) from error


def _tables(connection: sqlite3.Connection) -> str:
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name LIMIT 20"
    )
    return "The tables are: " + (", ".join(name for (name,) in rows) or "none")
