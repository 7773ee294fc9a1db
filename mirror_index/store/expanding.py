"""From texts to their records, many texts with one statement."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mirror_index.records import Record
from mirror_index.store.concepts import stored_scope
from mirror_index.store.filter_sql import Predicate


def records_of_texts(
    connection: sqlite3.Connection, rows: Sequence[int], limit: int, predicate: Predicate
) -> dict[int, list[tuple[Any, ...]]]:
    """Return text row, id, text, metadata, concept_id, scope of the records of each text, by id.

    Texts with more than `limit` records are left out: one by one, with a limit, they cost less.

    Args:
        connection: the reading connection, inside its snapshot.
        rows: text rows.
        limit: most records that are wanted of one text.
        predicate: which records count; texts with none that does come with an empty list.
    """
    found = connection.execute(
        "SELECT texts.row, records.id, coalesce(records.raw, texts.text), records.metadata, "
        "records.concept_id, records.scope "
        "FROM json_each(?) AS wanted CROSS JOIN texts ON texts.row = wanted.value "
        "LEFT JOIN records ON records.text_row = texts.row "
        f"AND {predicate.sql} WHERE texts.records <= ?",
        (json.dumps(list(rows)), *predicate.parameters, limit),
    )
    grouped: dict[int, list[tuple[Any, ...]]] = {}
    shared: set[int] = set()
    for record in found:
        row = record[0]
        if row in grouped:
            grouped[row].append(record)
            shared.add(row)
        else:
            grouped[row] = [record] if record[1] is not None else []
    for row in shared:
        grouped[row].sort(key=lambda record: str(record[1]))
    return grouped


def only_records(connection: sqlite3.Connection, rows: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the records of those texts that have one, with one statement and so of one state.

    They come as number of the state, text row, id, text, metadata, concept_id, scope, in no
    particular order.

    Args:
        connection: the reading connection; no transaction is needed.
        rows: a few distinct text rows.
    """
    return connection.execute(_only_statement(len(rows)), rows).fetchall()


@lru_cache(maxsize=128)
def _only_statement(count: int) -> str:
    marks = ",".join("?" * count)
    return (
        "SELECT (SELECT max(number) FROM generations), texts.row, records.id, "
        "coalesce(records.raw, texts.text), records.metadata, records.concept_id, records.scope "
        "FROM texts CROSS JOIN records ON records.text_row = texts.row "
        f"WHERE texts.row IN ({marks}) AND texts.records = 1"
    )


def records_of_text(
    connection: sqlite3.Connection, row: int, limit: int, predicate: Predicate
) -> list[tuple[Any, ...]]:
    """Return the columns of `records_of_texts` of up to `limit` records of one text, by id."""
    found = connection.execute(
        "SELECT records.text_row, records.id, coalesce(records.raw, texts.text), "
        "records.metadata, records.concept_id, records.scope "
        "FROM records JOIN texts ON texts.row = records.text_row "
        f"WHERE records.text_row = ? AND {predicate.sql} ORDER BY records.id LIMIT ?",
        (row, *predicate.parameters, limit),
    )
    return found.fetchall()


def stored_records(connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, list[Record]]:
    """Return the records of texts, by id within a text; a row without any is left out.

    Args:
        connection: the reading connection, inside its snapshot.
        rows: text rows.
    """
    found = connection.execute(
        "SELECT texts.row, records.id, coalesce(records.raw, texts.text), records.metadata, "
        "records.source_line, records.concept_id, records.scope, records.name_type "
        "FROM json_each(?) AS wanted CROSS JOIN texts ON texts.row = wanted.value "
        "CROSS JOIN records ON records.text_row = texts.row ORDER BY texts.row, records.id",
        (json.dumps(list(rows)),),
    )
    grouped: dict[int, list[Record]] = {}
    for row, id_, text, metadata, line, concept_id, scope, name_type in found:
        record = Record(
            id=id_,
            text=text,
            metadata=json.loads(metadata),
            line=line,
            concept_id=concept_id,
            scope=None if scope is None else stored_scope(scope),
            name_type=name_type,
        )
        grouped.setdefault(row, []).append(record)
    return grouped
