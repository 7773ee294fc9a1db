"""Removing records, and noting which texts and concepts that concerns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from mirror_index.store.filter_sql import Predicate


def begin_touching(connection: sqlite3.Connection) -> None:
    """Make the empty tables that collect which texts and concepts a change concerns."""
    for name, column in (("touched", "row INTEGER PRIMARY KEY"), ("named", "id TEXT PRIMARY KEY")):
        connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        connection.execute(f"CREATE TEMP TABLE {name} ({column})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doomed:
    """How many records are to go, and how many ids asked for are not there."""

    chosen: int
    absent: int


def choose_doomed(
    connection: sqlite3.Connection, ids: Iterable[str] | None, where: Predicate
) -> Doomed:
    """Collect the records that have one of the ids (None: any) and pass a filter."""
    execute = connection.execute
    for name, columns in (("doomed", "key INTEGER PRIMARY KEY"), ("wanted", "id TEXT PRIMARY KEY")):
        execute(f"DROP TABLE IF EXISTS temp.{name}")
        execute(f"CREATE TEMP TABLE {name} ({columns})")
    absent = 0
    condition = where.sql
    if ids is not None:
        connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((one,) for one in ids))
        condition += " AND records.id IN (SELECT id FROM wanted)"
        absent = execute(
            "SELECT count(*) FROM wanted WHERE id NOT IN (SELECT id FROM records)"
        ).fetchone()[0]
    chosen = execute(
        "INSERT INTO doomed SELECT records.key FROM records "
        f"JOIN texts ON texts.row = records.text_row WHERE {condition}",
        where.parameters,
    ).rowcount
    return Doomed(chosen=chosen, absent=absent)


def delete_records(
    connection: sqlite3.Connection, predicate: str, parameters: Iterable[object]
) -> int:
    """Delete the records a predicate over the `records` table holds for; return how many."""
    values = tuple(parameters)
    for table, column in (("touched", "text_row"), ("named", "concept_id")):
        connection.execute(
            f"INSERT OR IGNORE INTO temp.{table} SELECT {column} FROM records "
            f"WHERE {column} IS NOT NULL AND ({predicate})",
            values,
        )
    return connection.execute(f"DELETE FROM records WHERE {predicate}", values).rowcount


def drop_unstaged(connection: sqlite3.Connection) -> int:
    """Remove what is stored and was not staged: the source no longer has it.

    Returns the number of records removed. Quarantined rows of earlier sources go as well.
    """
    execute = connection.execute
    deleted = delete_records(connection, "id NOT IN (SELECT id FROM temp.staged)", ())
    gone = "derived = 0 AND id NOT IN (SELECT id FROM temp.staged_concepts)"
    execute(f"INSERT OR IGNORE INTO temp.named SELECT id FROM concepts WHERE {gone}")
    execute(
        "DELETE FROM names WHERE obsolete = 1 "
        "AND concept_id NOT IN (SELECT id FROM temp.staged_concepts)"
    )
    execute(f"DELETE FROM concepts WHERE {gone}")
    execute("DELETE FROM quarantine")
    return deleted
