"""What the encoder could not read whole or tell apart, and what was not taken: counts and rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any


def audited(
    connection: sqlite3.Connection, colliding: Iterable[int], limit: int | None
) -> list[tuple[Any, ...]]:
    """Return the records whose text was not read whole, or is of one of the `colliding` rows.

    Returns:
        id, text, tokens, truncated, has_unknown, line and text row, in id order.
    """
    return connection.execute(
        "SELECT records.id, coalesce(records.raw, texts.text), texts.tokens, texts.truncated, "
        "texts.has_unknown, records.source_line, texts.row FROM records "
        "JOIN texts ON texts.row = records.text_row "
        "WHERE texts.truncated OR texts.has_unknown "
        "OR texts.row IN (SELECT value FROM json_each(?)) ORDER BY records.id LIMIT ?",
        (json.dumps(list(colliding)), -1 if limit is None else limit),
    ).fetchall()


def audit_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """Return counts of live texts by what is odd about them, and of rows that were not taken."""
    names = ("truncated", "unknown", "repeated", "quarantined", "skipped")
    row = connection.execute(
        "SELECT (SELECT count(*) FROM texts WHERE truncated AND records > 0), "
        "(SELECT count(*) FROM texts WHERE has_unknown AND records > 0), "
        "(SELECT count(*) FROM texts WHERE records > 1), "
        "(SELECT count(*) FROM quarantine WHERE NOT skipped), "
        "(SELECT count(*) FROM quarantine WHERE skipped)"
    ).fetchone()
    return dict(zip(names, row, strict=True))
