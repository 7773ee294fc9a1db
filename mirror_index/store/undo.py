"""What each change replaced, so that a collection can go back to an earlier state.

While a change runs, temporary triggers note what every row was before (nothing, for a new row). The
state at generation g is then the oldest note after g of every row that was noted. The notes of a
change of m rows are O(m); those of the last `KEPT` generations stay. Texts and their vectors need
no notes: they stay where they are until the collection is compacted, and only their use is counted
anew.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mirror_index.errors import CollectionCorruptError

KEPT = 20
LOGGED = {
    "records": "key",
    "concepts": "id",
    "names": "rowid",
    "meta": "key",
    "quarantine": "rowid",
}
"""Tables whose rows are noted, and what tells a row of them from the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Records that a rollback brought back, changed back, and took away."""

    added: int
    updated: int
    deleted: int


@contextmanager
def noted(connection: sqlite3.Connection, generation: int) -> Iterator[None]:
    """Note what the block changes as belonging to a generation; the transaction is open."""
    names = [
        name
        for table, key in LOGGED.items()
        for name in _make_triggers(connection, table, key, generation)
    ]
    yield  # a failure rolls the triggers back with everything else
    for name in names:
        connection.execute(f"DROP TRIGGER temp.{name}")
    rows, checksum = _summary(connection, generation)
    connection.execute("INSERT INTO undo_log VALUES (?, ?, ?)", (generation, rows, checksum))
    for table in ("undo", "undo_log"):
        connection.execute(f"DELETE FROM {table} WHERE generation <= ?", (generation - KEPT,))


def _make_triggers(
    connection: sqlite3.Connection, table: str, key: str, generation: int
) -> Iterator[str]:
    columns = _columns(connection, table)
    old = f"json_array({', '.join(f'old.{column}' for column in columns)})"
    differs = " OR ".join(f"old.{column} IS NOT new.{column}" for column in columns)
    for event, values, gained, condition in (
        ("insert", f"new.{key}, NULL", 1, "1"),
        ("delete", f"old.{key}, {old}", -1, "1"),
        ("update", f"old.{key}, {old}", 0, differs),
    ):
        name = f"undo_{table}_{event}"
        connection.execute(
            f"CREATE TEMP TRIGGER {name} AFTER {event} ON main.{table} WHEN {condition} BEGIN "
            "INSERT INTO undo (generation, tbl, gained, key, old) "
            f"VALUES ({generation}, '{table}', {gained}, {values}); END"
        )
        yield name


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]


def _summary(connection: sqlite3.Connection, generation: int) -> tuple[int, str]:
    """Return how many notes a generation has, and a checksum over them."""
    digest, count = hashlib.blake2b(digest_size=8), 0
    for row in connection.execute(
        "SELECT tbl, gained, key, old FROM undo WHERE generation = ? ORDER BY seq", (generation,)
    ):
        digest.update(repr(row).encode())
        count += 1
    return count, digest.hexdigest()


def noted_rows(connection: sqlite3.Connection, generation: int) -> int:
    """Return how many rows of `LOGGED` a change touched, by its notes."""
    row = connection.execute(
        "SELECT rows FROM undo_log WHERE generation = ?", (generation,)
    ).fetchone()
    return int(row[0])


def gained(connection: sqlite3.Connection, generation: int, table: str) -> int:
    """Return how many rows more a table has after a change, by its notes."""
    row = connection.execute(
        "SELECT coalesce(sum(gained), 0) FROM undo WHERE generation = ? AND tbl = ?",
        (generation, table),
    ).fetchone()
    return int(row[0])


def forget(connection: sqlite3.Connection) -> None:
    """Drop all notes: after a change that replaces everything, nothing leads back."""
    connection.execute("DELETE FROM undo")
    connection.execute("DELETE FROM undo_log")


def oldest_reachable(connection: sqlite3.Connection, current: int) -> int:
    """Return the oldest generation that the notes lead back to; `current` when none is older."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'undo_log'").fetchone():
        return current  # a collection of the first format, before its next change
    known = {row[0] for row in connection.execute("SELECT generation FROM undo_log")}
    oldest = current
    while oldest in known:
        oldest -= 1
    return oldest


def damaged(connection: sqlite3.Connection) -> list[int]:
    """Return the generations whose notes are not as written, ascending."""
    logged = connection.execute("SELECT generation, rows, checksum FROM undo_log").fetchall()
    orphans = connection.execute(
        "SELECT DISTINCT generation FROM undo WHERE generation NOT IN "
        "(SELECT generation FROM undo_log)"
    ).fetchall()
    wrong = [
        generation
        for generation, rows, checksum in logged
        if _summary(connection, generation) != (rows, checksum)
    ]
    return sorted([*wrong, *(row[0] for row in orphans)])


def restore(connection: sqlite3.Connection, generation: int) -> Restored:
    """Bring every noted row back to what it was at a generation; the use of texts is `touched`.

    The caller has made sure that the notes lead there, and switched foreign keys off: rows that
    refer to each other are restored one table after the other.

    Raises:
        CollectionCorruptError: notes on the way are damaged.
    """
    bad = [number for number in damaged(connection) if number > generation]
    if bad:
        raise CollectionCorruptError(
            "the notes of what a change replaced are damaged",
            value=f"generation {bad[0]}",
            where="undo",
            remedy="Only a later state can be returned to; see `mirror-index history`",
        )
    execute = connection.execute
    for name in ("back", "before"):
        execute(f"DROP TABLE IF EXISTS temp.{name}")
    execute(
        # In SQLite the other columns come from the row that holds the minimum.
        "CREATE TEMP TABLE back AS SELECT tbl, key, old, min(seq) AS seq FROM undo "
        "WHERE generation > ? GROUP BY tbl, key",
        (generation,),
    )
    changed = "(SELECT key FROM temp.back WHERE tbl = 'records')"
    execute(f"CREATE TEMP TABLE before AS SELECT id, checksum FROM records WHERE key IN {changed}")
    touch = (
        f"INSERT OR IGNORE INTO temp.touched SELECT text_row FROM records WHERE key IN {changed}"
    )
    execute(touch)
    for table, key in LOGGED.items():
        execute(
            f"DELETE FROM {table} WHERE {key} IN (SELECT key FROM temp.back WHERE tbl = ?)",
            (table,),
        )
    for table, key in LOGGED.items():
        _bring_back(connection, table, key)
    execute(touch)
    _derive_alternative_ids(connection)
    return _compare(connection, changed)


def _bring_back(connection: sqlite3.Connection, table: str, key: str) -> None:
    columns = _columns(connection, table)
    values = [f"json_extract(old, '$[{place}]')" for place in range(len(columns))]
    if key not in columns:  # a row number of its own
        columns, values = [key, *columns], ["key", *values]
    connection.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM temp.back "
        "WHERE tbl = ? AND old IS NOT NULL ORDER BY key",
        (table,),
    )


def _derive_alternative_ids(connection: sqlite3.Connection) -> None:
    changed = "(SELECT key FROM temp.back WHERE tbl = 'concepts')"
    connection.execute(f"DELETE FROM concept_ids WHERE concept_id IN {changed}")
    connection.execute(
        "INSERT OR IGNORE INTO concept_ids (alt_id, concept_id) SELECT json_each.value, "
        f"concepts.id FROM concepts, json_each(concepts.alt_ids) WHERE concepts.id IN {changed} "
        "AND json_each.value != concepts.id"
    )


def _compare(connection: sqlite3.Connection, changed: str) -> Restored:
    connection.execute("CREATE INDEX temp.before_id ON before (id)")
    added, updated = connection.execute(
        "SELECT coalesce(sum(before.id IS NULL), 0), "
        "coalesce(sum(before.checksum != records.checksum), 0) FROM records "
        f"LEFT JOIN temp.before ON before.id = records.id WHERE records.key IN {changed}"
    ).fetchone()
    deleted = connection.execute(
        "SELECT count(*) FROM temp.before WHERE id NOT IN "
        f"(SELECT id FROM records WHERE key IN {changed})"
    ).fetchone()[0]
    return Restored(added=added, updated=updated, deleted=deleted)
