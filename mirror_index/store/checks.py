"""Checking the database: SQLite's own checks, and every row against what was committed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mirror_index.names import NAME_KEY_VERSION, name_key
from mirror_index.store import undo
from mirror_index.store.generations import (
    GENERATION_COLUMNS,
    Generation,
    generation_checksum,
    read_meta,
)
from mirror_index.store.layout import DOCUMENTS, STATE, WORD_INDEXES, checksum, text_hash
from mirror_index.store.reading import says_nothing_of_damage
from mirror_index.store.rows import CONCEPT_FIELDS
from mirror_index.store.schema import expected_schema, unrecorded_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something wrong with a table: which one, and what."""

    table: str
    what: str


Check = Callable[[sqlite3.Connection, Generation], Iterator[Fault]]


def check_database(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    """Yield all that is wrong; the connection reads one state and has no authorizer."""
    broken = False
    for fault in _integrity(connection):
        broken = True
        yield fault
    for check in () if broken else _CHECKS:
        yield from check(connection, generation)


def _integrity(connection: sqlite3.Connection) -> Iterator[Fault]:
    try:
        messages = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.DatabaseError as error:
        messages = [str(error)]
    for message in messages:
        if message != "ok":
            yield Fault(table="database", what=message)


def _schema(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    found = set(
        connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for name, sql in expected_schema(version) - found:
        yield Fault(table=name, what=f"its definition is not the one of this format: {sql[:60]}...")
    for name in unrecorded_steps(connection):
        yield Fault(table="migrations", what=f"the row of {name} is missing")


def _foreign_keys(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    for table, row, target, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Fault(table=table, what=f"row {row} points at a row of {target} that is not there")


def _generations(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    columns = ", ".join(GENERATION_COLUMNS)
    for *values, stored in connection.execute(f"SELECT {columns}, checksum FROM generations"):
        if generation_checksum(values) != stored:
            yield Fault(table="generations", what=f"the row of generation {values[0]} is damaged")
    found = connection.execute("SELECT count(*) FROM generations").fetchone()[0]
    if found != generation.number:
        what = f"holds {found} rows, {generation.number} states were committed"
        yield Fault(table="generations", what=what)


def _counts(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    expected = {
        "records": generation.live_records,
        "texts WHERE records > 0": generation.live_texts,
        "texts WHERE records = 0": generation.dead_texts,
        "texts": generation.vector_rows,
        "concepts": generation.concepts,
        "names WHERE obsolete = 1": generation.details["obsolete_names"],
        "quarantine": generation.details["rejected_rows"],
    }
    for what, wanted in expected.items():
        found = connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
        if found != wanted:
            yield Fault(table=what, what=f"holds {found} rows, {wanted} were committed")
    low, high = connection.execute("SELECT min(row), max(row) FROM texts").fetchone()
    if generation.vector_rows and (low, high) != (0, generation.vector_rows - 1):
        yield Fault(
            table="texts",
            what=f"rows go from {low} to {high}, not from 0 to {generation.vector_rows - 1}",
        )


def _texts(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    rows = connection.execute(
        "SELECT row, text, hash, tokens, truncated, has_unknown, vector_key, checksum FROM texts"
    )
    for row, text, hash_, *audit, stored in rows:
        if text_hash(text) != hash_ or checksum((hash_, *audit)) != stored:
            yield Fault(table="texts", what=f"row {row} is damaged")
    for row, stored, found in connection.execute(
        "SELECT row, records, (SELECT count(*) FROM records WHERE text_row = row) AS found "
        "FROM texts WHERE texts.records != found"
    ):
        yield Fault(table="texts", what=f"row {row} counts {stored} records, there are {found}")


def _records(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    rows = connection.execute(
        "SELECT records.id, texts.hash, raw, metadata, concept_id, scope, name_type, source_line, "
        "records.checksum FROM records JOIN texts ON texts.row = records.text_row"
    )
    for *fields, stored in rows:
        if checksum(fields) != stored:
            yield Fault(table="records", what=f"record {fields[0]!r} is damaged")


def _live_names(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    lost = connection.execute(
        "SELECT records.id FROM records LEFT JOIN names ON names.record_key = records.key "
        "WHERE records.concept_id IS NOT NULL GROUP BY records.key HAVING count(names.key) != 1"
    )
    for (id_,) in lost:
        yield Fault(table="names", what=f"record {id_!r} has no name row, or several")
    rows = connection.execute(
        "SELECT records.id, names.key, names.text, coalesce(records.raw, texts.text), "
        "names.concept_id IS records.concept_id AND names.scope IS records.scope "
        "AND names.name_type IS records.name_type AND names.obsolete = 0 "
        "FROM names JOIN records ON records.key = names.record_key "
        "JOIN texts ON texts.row = records.text_row"
    )
    current = _names_are_current(connection)
    for id_, key, text, expected, same in rows:
        if not same or text != expected or (current and key != name_key(text)):
            yield Fault(table="names", what=f"the name of record {id_!r} is damaged")


def _names_are_current(connection: sqlite3.Connection) -> bool:
    """Keys of an older version of the rules are not wrong; lookups ask for a compact then."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'name_key_version'").fetchone()
    return row is not None and row[0] == str(NAME_KEY_VERSION)


def _obsolete_names(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    rows = connection.execute(
        "SELECT key, text, concept_id, scope, name_type, checksum FROM names "
        "WHERE record_key IS NULL"
    )
    for *fields, stored in rows:
        if checksum(fields) != stored:
            yield Fault(table="names", what=f"the obsolete name {fields[1]!r} is damaged")


def _concepts(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    for *fields, stored in connection.execute(f"SELECT {CONCEPT_FIELDS}, checksum FROM concepts"):
        if checksum(fields) != stored:
            yield Fault(table="concepts", what=f"concept {fields[0]!r} is damaged")
    pairs = (
        "SELECT json_each.value, concepts.id FROM concepts, json_each(concepts.alt_ids) "
        "WHERE json_each.value != concepts.id"
    )
    stored_pairs = "SELECT alt_id, concept_id FROM concept_ids"
    for one, other in ((pairs, stored_pairs), (stored_pairs, pairs)):
        for alt_id, concept in connection.execute(f"{one} EXCEPT {other}"):
            yield Fault(table="concept_ids", what=f"{alt_id!r} of {concept!r} is lost or made up")
    for (id_,) in connection.execute(
        "SELECT DISTINCT concept_id FROM records WHERE concept_id IS NOT NULL "
        "EXCEPT SELECT id FROM concepts"
    ):
        yield Fault(table="concepts", what=f"concept {id_!r} has names but no row")


def _small_tables(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    probes = connection.execute("SELECT count(*) FROM canaries").fetchone()[0]
    wanted = generation.details.get("probes")  # states of older versions do not say
    if probes == 0 or wanted not in (None, probes):
        what = f"{probes} probe vectors are stored, {wanted or 'some'} were committed"
        yield Fault(table="canaries", what=what)
    for key in _missing_settings(connection, generation):
        yield Fault(table="meta", what=f"the row of {key!r} is missing")
    for table, columns in (
        ("meta", "key, value"),
        ("canaries", "text, vector"),
        ("quarantine", "line, reason, content, skipped"),
    ):
        for *fields, stored in connection.execute(f"SELECT {columns}, checksum FROM {table}"):
            if checksum(fields) != stored:
                yield Fault(table=table, what=f"the row of {fields[0]!r} is damaged")


def _missing_settings(connection: sqlite3.Connection, generation: Generation) -> list[str]:
    """Return keys of `meta` that were committed, or saved since then, and are not there."""
    found = {key for (key,) in connection.execute("SELECT key FROM meta")}
    committed = set(generation.details.get("settings", found))  # older versions do not say
    listed = {f"{STATE}{key}" for key in read_meta(connection, DOCUMENTS) or ()}
    missing = (committed | listed) - found
    if found - committed - listed - {DOCUMENTS}:  # saved, but the list of what was saved is gone
        missing.add(DOCUMENTS)
    return sorted(missing)


def _undo_notes(connection: sqlite3.Connection, generation: Generation) -> Iterator[Fault]:
    del generation
    if "undo" not in _tables(connection):
        return  # a collection of the first format
    for number in undo.damaged(connection):
        yield Fault(table="undo", what=f"the notes of generation {number} are damaged")


_CHECKS: tuple[Check, ...] = (
    _schema,
    _foreign_keys,
    _generations,
    _counts,
    _texts,
    _records,
    _live_names,
    _obsolete_names,
    _concepts,
    _small_tables,
    _undo_notes,
)


def check_words(path: Path) -> str | None:
    """Compare the word indexes with the texts; return what is wrong, None when nothing is.

    FTS5 offers this check as a statement that looks like a write, so it needs a writable database.

    Raises:
        sqlite3.OperationalError: the database cannot be opened for writing now.
    """
    connection = sqlite3.connect(path, isolation_level=None, timeout=5.0)
    try:
        for fault in word_faults(connection):
            return f"{fault.table}: {fault.what}"
    finally:
        connection.close()
    return None


def word_faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    """Yield which word indexes do not agree with the texts; the connection may write.

    Raises:
        sqlite3.OperationalError: the database cannot be written to now.
    """
    for words in present_word_indexes(connection):
        try:
            connection.execute(f"INSERT INTO {words} ({words}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if says_nothing_of_damage(error):
                raise
            yield Fault(table=words, what=str(error))


def present_word_indexes(connection: sqlite3.Connection) -> list[str]:
    """Return the word indexes a database has; one of an older format lacks some."""
    found = _tables(connection)
    return [words for words in WORD_INDEXES if words in found]


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {row[0] for row in rows}
