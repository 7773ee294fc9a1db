"""Making again what the database derives: word indexes, names, alternative ids, counts, indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from mirror_index.names import name_key
from mirror_index.store import undo
from mirror_index.store.checks import Fault, check_database, word_faults
from mirror_index.store.generations import Generation
from mirror_index.store.layout import WORD_INDEXES
from mirror_index.store.schema import expected_schema, record_steps

_ROUNDS = 3
"""A database whose pages or indexes are damaged is checked further only when these are whole."""


def find_faults(connection: sqlite3.Connection, generation: Generation) -> list[Fault]:
    """Return all that is wrong with a database that its writer holds."""
    return [*check_database(connection, generation), *word_faults(connection)]


def mend(
    connection: sqlite3.Connection, generation: Generation, faults: list[Fault]
) -> tuple[list[str], list[Fault]]:
    """Make again what is derived; the caller has opened a transaction, and gives it up if it must.

    Returns:
        What was done, and the faults that remain.
    """
    done: dict[str, None] = {}
    for _ in range(_ROUNDS):
        tables = {fault.table.split(" WHERE")[0] for fault in faults}
        for what, concerns, repair in _REPAIRS:
            if concerns & tables:
                repair(connection)
                done[what] = None
        faults = find_faults(connection, generation)
        if not faults:
            break
    return list(done), faults


def _index_again(connection: sqlite3.Connection) -> None:
    connection.execute("REINDEX")


def _define_again(connection: sqlite3.Connection) -> None:
    """Make missing indexes, views and word indexes; a missing table of data cannot be made."""
    present = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    for name, sql in sorted(expected_schema(), key=lambda pair: pair[1]):
        if sql.startswith(_DERIVED) and name not in present:
            connection.execute(sql)


def _words_again(connection: sqlite3.Connection) -> None:
    for words in WORD_INDEXES:
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('rebuild')")


def _count_again(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE texts SET records = (SELECT count(*) FROM records WHERE text_row = texts.row) "
        "WHERE records != (SELECT count(*) FROM records WHERE text_row = texts.row)"
    )


def _name_again(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM names WHERE obsolete = 0 OR record_key IS NOT NULL")
    rows = connection.execute(
        "SELECT coalesce(records.raw, texts.text), records.concept_id, records.key, records.scope, "
        "records.name_type FROM records JOIN texts ON texts.row = records.text_row "
        "WHERE records.concept_id IS NOT NULL ORDER BY records.key"
    ).fetchall()
    connection.executemany(
        "INSERT INTO names (key, text, concept_id, record_key, scope, name_type, obsolete) "
        "VALUES (?, ?, ?, ?, ?, ?, 0)",
        ((name_key(text), text, *rest) for text, *rest in rows),
    )
    undo.forget(connection)  # its notes of names go by row numbers that are no more


def _alternative_ids_again(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM concept_ids")
    connection.execute(
        "INSERT OR IGNORE INTO concept_ids (alt_id, concept_id) SELECT json_each.value, "
        "concepts.id FROM concepts, json_each(concepts.alt_ids) "
        "WHERE json_each.value != concepts.id"
    )


_DERIVED = ("CREATE INDEX", "CREATE VIEW", "CREATE VIRTUAL TABLE")
_REPAIRS: tuple[tuple[str, frozenset[str], Callable[[sqlite3.Connection], None]], ...] = (
    ("indexes of the database were made again", frozenset({"database"}), _index_again),
    (
        "missing definitions were made again",
        frozenset(name for name, sql in expected_schema() if sql.startswith(_DERIVED)),
        _define_again,
    ),
    ("the names were made again from the records", frozenset({"names"}), _name_again),
    (
        "the alternative ids were made again from the concepts",
        frozenset({"concept_ids"}),
        _alternative_ids_again,
    ),
    ("the records of each text were counted again", frozenset({"texts"}), _count_again),
    (
        "the word indexes were made again from the texts",
        frozenset({*WORD_INDEXES, "database"}),
        _words_again,
    ),
    ("the migrations were listed again", frozenset({"migrations"}), record_steps),
    (
        "damaged notes of what changes replaced were dropped: earlier states cannot be returned to",
        frozenset({"undo"}),
        undo.forget,
    ),
)
