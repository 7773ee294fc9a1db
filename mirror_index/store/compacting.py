"""Dropping texts without records, and numbering the rest anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from mirror_index.durable import Chunk
from mirror_index.names import name_key
from mirror_index.store.layout import WORD_INDEXES
from mirror_index.store.rows import obsolete_spellings


def live_rows(connection: sqlite3.Connection) -> list[int]:
    """Return the rows of texts that have records, ascending; they become rows 0, 1, 2, ..."""
    return [
        row[0] for row in connection.execute("SELECT row FROM texts WHERE records > 0 ORDER BY row")
    ]


def renumber(connection: sqlite3.Connection, chunks: Iterable[Chunk], generation: int) -> None:
    """Drop dead texts, give the live ones consecutive rows, and record the new vector file.

    The caller has opened the committing transaction.
    """
    execute = connection.execute
    execute("PRAGMA defer_foreign_keys = ON")
    execute("DROP TABLE IF EXISTS temp.moved")
    execute("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    execute(
        "INSERT INTO moved SELECT row, row_number() OVER (ORDER BY row) - 1 FROM texts "
        "WHERE records > 0"
    )
    execute("DELETE FROM texts WHERE records = 0")
    execute("UPDATE records SET text_row = (SELECT new FROM moved WHERE old = text_row)")
    # Through negative numbers, so that no row is ever in the way of another.
    execute("UPDATE texts SET row = -1 - (SELECT new FROM moved WHERE old = row)")
    execute("UPDATE texts SET row = -1 - row")
    execute("DROP TABLE temp.moved")
    execute("DELETE FROM pending")
    execute("DELETE FROM pending_chunks")
    execute("DELETE FROM segments")
    connection.executemany(
        "INSERT INTO segments (first_row, rows, generation, file, sha256) VALUES (?, ?, ?, ?, ?)",
        ((c.first_row, c.rows, generation, c.file, c.sha256) for c in chunks),
    )
    for words in WORD_INDEXES:
        execute(f"INSERT INTO {words} ({words}) VALUES ('rebuild')")


def key_names_again(connection: sqlite3.Connection) -> None:
    """Compute every exact-layer key anew, after a change of the rules."""
    rows = connection.execute("SELECT rowid, text FROM names WHERE obsolete = 0").fetchall()
    connection.executemany(
        "UPDATE names SET key = ? WHERE rowid = ?", ((name_key(text), row) for row, text in rows)
    )
    stored = connection.execute(
        "SELECT DISTINCT text, concept_id, scope, name_type FROM names WHERE obsolete = 1"
    ).fetchall()
    connection.execute("DELETE FROM names WHERE obsolete = 1")
    connection.executemany(
        "INSERT INTO names (key, text, concept_id, scope, name_type, checksum, obsolete) "
        "VALUES (?, ?, ?, ?, ?, ?, 1)",
        (name.values() for fields in stored for name in obsolete_spellings(*fields)),
    )
