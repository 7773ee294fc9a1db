"""The SQLite schema: tables, views, numbered migrations, and the format version they add up to.

`sqlite_utils.Migrations` records what was applied in the `migrations` table. A migration is never
edited after a release; a new one is appended and `FORMAT_VERSION` (store/layout.py) raised.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from sqlite_utils import Database, Migrations

from mirror_index.store.layout import FORMAT_VERSION, refuse_newer_format

_TABLES = (
    """CREATE TABLE meta (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE generations (
        number INTEGER PRIMARY KEY,
        committed_at TEXT NOT NULL,
        verb TEXT NOT NULL,
        source TEXT,
        vector_file TEXT NOT NULL,
        vector_rows INTEGER NOT NULL,
        live_records INTEGER NOT NULL,
        live_texts INTEGER NOT NULL,
        dead_texts INTEGER NOT NULL,
        concepts INTEGER NOT NULL,
        ann_file TEXT,
        ann_rows INTEGER NOT NULL,
        ann_sha256 TEXT,
        ann_kind TEXT NOT NULL,
        ann_parameters TEXT NOT NULL,
        encoder_fingerprint TEXT NOT NULL,
        encoder_folder TEXT NOT NULL,
        dim INTEGER NOT NULL,
        details TEXT NOT NULL,
        checksum TEXT NOT NULL
    )""",
    """CREATE TABLE segments (
        first_row INTEGER PRIMARY KEY,
        rows INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        file TEXT NOT NULL,
        sha256 TEXT NOT NULL
    )""",
    """CREATE TABLE texts (
        row INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        tokens INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        has_unknown INTEGER NOT NULL,
        vector_key INTEGER NOT NULL,
        records INTEGER NOT NULL DEFAULT 0,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX texts_dead ON texts (row) WHERE records = 0",
    "CREATE INDEX texts_vector_key ON texts (vector_key)",
    """CREATE TABLE records (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        text_row INTEGER NOT NULL REFERENCES texts (row) DEFERRABLE INITIALLY DEFERRED,
        raw TEXT,
        metadata TEXT NOT NULL,
        concept_id TEXT,
        scope TEXT,
        name_type TEXT,
        source_line INTEGER,
        checksum INTEGER NOT NULL
    )""",
    "CREATE INDEX records_text ON records (text_row, id)",
    "CREATE INDEX records_concept ON records (concept_id) WHERE concept_id IS NOT NULL",
    """CREATE TABLE concepts (
        id TEXT PRIMARY KEY,
        label TEXT NOT NULL,
        definition TEXT,
        obsolete INTEGER NOT NULL,
        derived INTEGER NOT NULL,
        replaced_by TEXT NOT NULL,
        consider TEXT NOT NULL,
        alt_ids TEXT NOT NULL,
        parents TEXT NOT NULL,
        semantic_types TEXT NOT NULL,
        xrefs TEXT NOT NULL,
        source_line INTEGER,
        content_hash TEXT NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE concept_ids (
        alt_id TEXT NOT NULL,
        concept_id TEXT NOT NULL REFERENCES concepts (id) ON DELETE CASCADE,
        PRIMARY KEY (alt_id, concept_id)
    ) WITHOUT ROWID""",
    "CREATE INDEX concept_ids_concept ON concept_ids (concept_id)",
    """CREATE TABLE names (
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        concept_id TEXT NOT NULL,
        record_key INTEGER REFERENCES records (key) ON DELETE CASCADE,
        scope TEXT NOT NULL,
        name_type TEXT,
        obsolete INTEGER NOT NULL,
        checksum INTEGER
    )""",
    "CREATE INDEX names_key ON names (key)",
    "CREATE INDEX names_record ON names (record_key) WHERE record_key IS NOT NULL",
    "CREATE INDEX names_obsolete ON names (concept_id) WHERE obsolete = 1",
    "CREATE TABLE canaries (text TEXT PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT "
    "NULL)",
    """CREATE TABLE quarantine (
        generation INTEGER NOT NULL,
        source TEXT,
        line INTEGER NOT NULL,
        reason TEXT NOT NULL,
        content TEXT NOT NULL,
        skipped INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE pending_chunks (
        first_row INTEGER PRIMARY KEY,
        rows INTEGER NOT NULL,
        file TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        fingerprint TEXT NOT NULL
    )""",
    """CREATE TABLE pending (
        row INTEGER PRIMARY KEY,
        text TEXT NOT NULL,
        hash BLOB NOT NULL UNIQUE,
        tokens INTEGER NOT NULL,
        truncated INTEGER NOT NULL,
        has_unknown INTEGER NOT NULL,
        vector_key INTEGER NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE VIRTUAL TABLE texts_fts USING fts5 (
        text, content='texts', content_rowid='row', tokenize='unicode61 remove_diacritics 2'
    )""",
    """CREATE VIEW records_with_text AS
        SELECT records.id, coalesce(records.raw, texts.text) AS text, records.concept_id,
               concepts.label AS concept_label, records.scope, records.name_type, records.metadata,
               records.source_line AS line, texts.tokens, texts.truncated, texts.has_unknown,
               texts.row AS vector_row
        FROM records JOIN texts ON texts.row = records.text_row
        LEFT JOIN concepts ON concepts.id = records.concept_id""",
)

_SECOND_FORMAT = (
    # What a row was before a generation changed it; NULL: it was not there. See store/undo.py.
    """CREATE TABLE undo (
        seq INTEGER PRIMARY KEY,
        generation INTEGER NOT NULL,
        tbl TEXT NOT NULL,
        gained INTEGER NOT NULL,
        key NOT NULL,
        old TEXT
    )""",
    "CREATE INDEX undo_generation ON undo (generation)",
    """CREATE TABLE undo_log (
        generation INTEGER PRIMARY KEY,
        rows INTEGER NOT NULL,
        checksum TEXT NOT NULL
    )""",
    # A table with an index also keeps its row numbers when somebody vacuums the file.
    "CREATE INDEX quarantine_generation ON quarantine (generation)",
    "CREATE VIEW short_texts AS SELECT row, text FROM texts WHERE length(text) <= 100",
    """CREATE VIRTUAL TABLE texts_trigrams USING fts5 (
        text, content='short_texts', content_rowid='row', tokenize='trigram',
        detail='none', columnsize=0
    )""",
    "CREATE VIRTUAL TABLE texts_trigrams_terms USING fts5vocab (texts_trigrams, row)",
    "INSERT INTO texts_trigrams (texts_trigrams) VALUES ('rebuild')",
)


def _first_format(db: Database) -> None:
    for statement in _TABLES:
        db.execute(statement)


def _second_format(db: Database) -> None:
    for statement in _SECOND_FORMAT:
        db.execute(statement)


MIGRATIONS = Migrations("mirror-index")
MIGRATIONS.migrations_table = "migrations"
_STEPS = {"0001_first_format": _first_format, "0002_second_format": _second_format}
for _name, _step in _STEPS.items():
    MIGRATIONS(name=_name)(_step)


@cache
def expected_schema(version: int = FORMAT_VERSION) -> frozenset[tuple[str, str]]:
    """Return (name, SQL) of everything a database of a format defines."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statements in (_TABLES, _SECOND_FORMAT)[:version]:
            for statement in statements:
                connection.execute(statement)
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return frozenset((name, sql) for name, sql in rows)
    finally:
        connection.close()


def unrecorded_steps(connection: sqlite3.Connection) -> list[str]:
    """Return the migrations that a database of its format went through and does not list."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    listed = {row[0] for row in connection.execute("SELECT name FROM migrations")}
    return [name for name in list(_STEPS)[:version] if name not in listed]


def record_steps(connection: sqlite3.Connection) -> None:
    """List the migrations that are not listed, so that no later version applies them again."""
    connection.executemany(
        "INSERT INTO migrations (migration_set, name, applied_at) VALUES (?, ?, datetime('now'))",
        ((MIGRATIONS.name, name) for name in unrecorded_steps(connection)),
    )


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a database to the current format in one transaction; a new file gets all of it.

    Raises:
        CollectionError: it was written by a newer version.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    refuse_newer_format(version, path)
    if version == FORMAT_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        MIGRATIONS.apply(Database(connection))
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
