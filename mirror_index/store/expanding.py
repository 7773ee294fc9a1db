"""From texts to their records, many texts with one statement."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from mirror_index.store.filter_sql import Predicate


def records_of_texts(
    connection: sqlite3.Connection, rows: Sequence[int], limit: int, predicate: Predicate
) -> dict[int, list[tuple[Any, ...]]]:
    """Return id, text, metadata, concept_id, scope of the records of texts, by id within a text.

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
    for row, *record in found:
        records = grouped.setdefault(row, [])
        if record[0] is not None:
            records.append(tuple(record))
    for records in grouped.values():
        if len(records) > 1:
            records.sort(key=lambda record: str(record[0]))
    return grouped
