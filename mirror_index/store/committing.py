"""Applying a staged change inside the one transaction that commits it.

Every function expects an open transaction and leaves the tables consistent with each other:
reference counts, names, derived concepts and the word index follow the records.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from mirror_index.records import Scope
from mirror_index.store.deleting import delete_records
from mirror_index.store.generations import GENERATION_COLUMNS, Generation, generation_checksum
from mirror_index.store.layout import WORD_INDEXES
from mirror_index.store.rows import CONCEPT_COLUMNS, derived_concept
from mirror_index.store.writing import TextRow

_SCOPE_RANK = (
    "CASE records.scope "
    + " ".join(f"WHEN '{scope.value}' THEN {scope.rank}" for scope in Scope)
    + " ELSE 9 END"
)
# A cross join keeps the order of the tables, so that what is staged leads and nothing is scanned.
_NAME_SOURCE = (
    "SELECT staged.name_key, coalesce(records.raw, texts.text), records.concept_id, records.key, "
    "records.scope, records.name_type, 0, NULL FROM temp.staged AS staged "
    "CROSS JOIN records ON records.id = staged.id CROSS JOIN texts ON texts.row = records.text_row "
    "WHERE staged.action IN ('insert', 'update') AND records.concept_id IS NOT NULL "
    "ORDER BY records.key"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """Records a change added, replaced and removed, and rejected rows by kind."""

    added: int = 0
    updated: int = 0
    deleted: int = 0
    skipped: int = 0
    quarantined: int = 0


def clear_records(connection: sqlite3.Connection) -> int:
    """Remove every record, concept, name and quarantined row; texts and vectors stay."""
    count = int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
    connection.execute("INSERT OR IGNORE INTO temp.touched SELECT DISTINCT text_row FROM records")
    for table in ("names", "concept_ids", "concepts", "records", "quarantine"):
        connection.execute(f"DELETE FROM {table}")
    return count


def clear_texts(connection: sqlite3.Connection) -> None:
    """Remove every text with its words and segments: the vectors of another encoder."""
    for words in WORD_INDEXES:
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('delete-all')")
    for table in ("texts", "segments"):
        connection.execute(f"DELETE FROM {table}")


def take_pending(connection: sqlite3.Connection, generation: int) -> int:
    """Turn the rows encoded for this change into texts and segments; return how many texts."""
    for words, held in WORD_INDEXES.items():
        connection.execute(
            f"INSERT INTO {words} (rowid, text) SELECT row, text FROM pending WHERE {held} "
            "ORDER BY row"
        )
    taken = connection.execute(
        "INSERT INTO texts (row, text, hash, tokens, truncated, has_unknown, vector_key, "
        "records, checksum) "
        "SELECT row, text, hash, tokens, truncated, has_unknown, vector_key, 0, checksum FROM "
        "pending "
        "ORDER BY row"
    ).rowcount
    connection.execute(
        "INSERT INTO segments (first_row, rows, generation, file, sha256) "
        "SELECT first_row, rows, ?, file, sha256 FROM pending_chunks",
        (generation,),
    )
    connection.execute("DELETE FROM pending")
    connection.execute("DELETE FROM pending_chunks")
    return taken


def apply_staged(connection: sqlite3.Connection, generation: int, source: str | None) -> Applied:
    """Insert and replace what was staged; a replaced concept loses names it no longer has."""
    deleted = _drop_lost_names(connection)
    updated = _replace_records(connection)
    added = _insert_records(connection)
    connection.execute(
        "INSERT INTO names (key, text, concept_id, record_key, scope, name_type, obsolete, "
        "checksum) " + _NAME_SOURCE
    )
    connection.execute(
        "INSERT OR IGNORE INTO temp.named SELECT concept_id FROM temp.staged "
        "WHERE action IN ('insert', 'update') AND concept_id IS NOT NULL"
    )
    _apply_concepts(connection)
    rejected = _apply_rejected(connection, generation, source)
    return Applied(
        added=added,
        updated=updated,
        deleted=deleted,
        skipped=rejected.skipped,
        quarantined=rejected.quarantined,
    )


def _replace_records(connection: sqlite3.Connection) -> int:
    """Give records their staged content, noting the texts and concepts they leave."""
    execute = connection.execute
    execute(
        "INSERT OR IGNORE INTO temp.touched SELECT records.text_row FROM records "
        "JOIN temp.staged AS staged ON staged.id = records.id WHERE staged.action = 'update'"
    )
    execute(
        "INSERT OR IGNORE INTO temp.named SELECT records.concept_id FROM records "
        "JOIN temp.staged AS staged ON staged.id = records.id "
        "WHERE staged.action = 'update' AND records.concept_id IS NOT NULL"
    )
    execute(
        "DELETE FROM names WHERE record_key IN (SELECT records.key FROM records "
        "JOIN temp.staged AS staged ON staged.id = records.id WHERE staged.action = 'update')"
    )
    return execute(
        "UPDATE records SET text_row = texts.row, raw = staged.raw, metadata = staged.metadata, "
        "concept_id = staged.concept_id, scope = staged.scope, name_type = staged.name_type, "
        "source_line = staged.source_line, checksum = staged.checksum "
        "FROM temp.staged AS staged JOIN texts ON texts.hash = staged.hash "
        "WHERE records.id = staged.id AND staged.action = 'update'"
    ).rowcount


def _insert_records(connection: sqlite3.Connection) -> int:
    """Insert the records that are new, noting the texts of all that were staged."""
    added = connection.execute(
        "INSERT INTO records (id, text_row, raw, metadata, concept_id, scope, name_type, "
        "source_line, checksum) SELECT staged.id, texts.row, staged.raw, staged.metadata, "
        "staged.concept_id, staged.scope, staged.name_type, staged.source_line, staged.checksum "
        "FROM temp.staged AS staged JOIN texts ON texts.hash = staged.hash "
        "WHERE staged.action = 'insert' ORDER BY staged.pos"
    ).rowcount
    connection.execute(
        "INSERT OR IGNORE INTO temp.touched SELECT texts.row FROM texts "
        "JOIN temp.staged AS staged ON staged.hash = texts.hash "
        "WHERE staged.action IN ('insert', 'update')"
    )
    return added


def truncated_texts(connection: sqlite3.Connection) -> list[TextRow]:
    """Return the texts of staged records that the encoder reads only in part."""
    fields = tuple(TextRow.__dataclass_fields__)
    rows = connection.execute(
        f"SELECT {', '.join(fields)} FROM texts WHERE truncated AND hash IN "
        "(SELECT hash FROM temp.staged WHERE action IN ('insert', 'update')) ORDER BY row"
    )
    return [TextRow(**dict(zip(fields, row, strict=True))) for row in rows]


def _drop_lost_names(connection: sqlite3.Connection) -> int:
    """Delete stored names that a replaced concept no longer has."""
    return delete_records(
        connection,
        "concept_id IN (SELECT fresh.id FROM temp.staged_concepts AS fresh JOIN concepts AS old "
        "ON old.id = fresh.id WHERE old.content_hash != fresh.content_hash) "
        "AND id NOT IN (SELECT id FROM temp.staged WHERE action != 'drop')",
        (),
    )


def _apply_concepts(connection: sqlite3.Connection) -> None:
    execute = connection.execute
    # What is stored with the same content stays untouched, so that a change costs what it changes.
    execute(
        "DELETE FROM temp.staged_concepts WHERE EXISTS (SELECT 1 FROM concepts AS old "
        "WHERE old.id = staged_concepts.id AND old.derived = 0 "
        "AND old.content_hash = staged_concepts.content_hash)"
    )
    execute(
        "DELETE FROM temp.staged_obsolete "
        "WHERE concept_id NOT IN (SELECT id FROM temp.staged_concepts)"
    )
    execute(
        "DELETE FROM names WHERE obsolete = 1 AND concept_id IN (SELECT id FROM "
        "temp.staged_concepts)"
    )
    execute("DELETE FROM concepts WHERE id IN (SELECT id FROM temp.staged_concepts)")
    execute(
        f"INSERT INTO concepts ({CONCEPT_COLUMNS}) SELECT {CONCEPT_COLUMNS} FROM "
        "temp.staged_concepts"
    )
    execute(
        "INSERT OR IGNORE INTO concept_ids (alt_id, concept_id) SELECT json_each.value, "
        "staged_concepts.id "
        "FROM temp.staged_concepts, json_each(staged_concepts.alt_ids) "
        "WHERE json_each.value != staged_concepts.id"
    )
    execute(
        "INSERT INTO names (key, text, concept_id, record_key, scope, name_type, obsolete, "
        "checksum) SELECT key, text, concept_id, NULL, scope, name_type, 1, checksum FROM "
        "temp.staged_obsolete"
    )


def _apply_rejected(connection: sqlite3.Connection, generation: int, source: str | None) -> Applied:
    connection.execute(
        "INSERT INTO quarantine (generation, source, line, reason, content, skipped, checksum) "
        "SELECT ?, ?, line, reason, content, skipped, checksum FROM temp.staged_rejected ORDER "
        "BY rowid",
        (generation, source),
    )
    skipped, total = connection.execute(
        "SELECT coalesce(sum(skipped), 0), count(*) FROM temp.staged_rejected"
    ).fetchone()
    return Applied(skipped=skipped, quarantined=total - skipped)


def count_uses(connection: sqlite3.Connection) -> int:
    """Count anew the records of every touched text; return how many more are without any."""
    unused = (
        "SELECT count(*) FROM texts WHERE row IN (SELECT row FROM temp.touched) AND records = 0"
    )
    before = connection.execute(unused).fetchone()[0]
    connection.execute(
        "UPDATE texts SET records = (SELECT count(*) FROM records WHERE records.text_row = "
        "texts.row) "
        "WHERE row IN (SELECT row FROM temp.touched)"
    )
    return int(connection.execute(unused).fetchone()[0]) - int(before)


def settle(connection: sqlite3.Connection) -> int:
    """Bring reference counts and derived concepts in line with the records that changed.

    Returns how many more texts are without a record.
    """
    dead = count_uses(connection)
    connection.execute(
        "DELETE FROM concepts WHERE obsolete = 0 AND id IN (SELECT id FROM temp.named) "
        "AND (derived = 1 OR NOT EXISTS (SELECT 1 FROM records WHERE concept_id = concepts.id))"
    )
    labels = connection.execute(
        "SELECT id, label FROM (SELECT named.id, coalesce(records.raw, texts.text) AS label, "
        f"row_number() OVER (PARTITION BY named.id ORDER BY {_SCOPE_RANK}, records.key) AS place "
        "FROM temp.named AS named CROSS JOIN records ON records.concept_id = named.id "
        "CROSS JOIN texts ON texts.row = records.text_row "
        "WHERE NOT EXISTS (SELECT 1 FROM concepts WHERE concepts.id = named.id)) WHERE place = 1"
    ).fetchall()
    marks = ", ".join("?" * len(CONCEPT_COLUMNS.split(",")))
    connection.executemany(
        f"INSERT INTO concepts ({CONCEPT_COLUMNS}) VALUES ({marks})",
        (derived_concept(id_, label).values() for id_, label in labels),
    )
    return dead


def write_generation(connection: sqlite3.Connection, generation: Generation) -> None:
    """Insert the row that makes this change the current state."""
    values = []
    for column in GENERATION_COLUMNS:
        value = getattr(generation, column)
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
        values.append(value)
    columns = ", ".join((*GENERATION_COLUMNS, "checksum"))
    marks = ", ".join("?" * (len(values) + 1))
    connection.execute(
        f"INSERT INTO generations ({columns}) VALUES ({marks})",
        (*values, generation_checksum(values)),
    )


def collisions(connection: sqlite3.Connection, first_row: int) -> list[list[int]]:
    """Return groups of used rows whose vector keys agree, some with a row from `first_row` on."""
    groups: dict[int, list[int]] = {}
    rows = connection.execute(
        "SELECT vector_key, row FROM texts WHERE vector_key IN (SELECT vector_key FROM texts "
        "WHERE vector_key IN (SELECT vector_key FROM texts WHERE row >= ?) "
        "GROUP BY vector_key HAVING count(*) > 1) AND records > 0 ORDER BY row",
        (first_row,),
    )
    for key, row in rows:
        groups.setdefault(key, []).append(row)
    return list(groups.values())
