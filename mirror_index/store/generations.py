"""Generations: the committed states of a collection, one row each; settings beside them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirror_index.errors import CollectionCorruptError
from mirror_index.store.layout import Json, checksum


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One committed state, as its row in `generations` says.

    `ann_parameters` and `details` are parsed JSON; `ann_file` is None when search is exact.
    """

    number: int
    committed_at: str
    verb: str
    source: str | None
    vector_file: str
    vector_rows: int
    live_records: int
    live_texts: int
    dead_texts: int
    concepts: int
    ann_file: str | None
    ann_rows: int
    ann_sha256: str | None
    ann_kind: str
    ann_parameters: dict[str, Any]
    encoder_fingerprint: str
    encoder_folder: str
    dim: int
    details: dict[str, Any]


GENERATION_COLUMNS = tuple(Generation.__dataclass_fields__)


def generation_checksum(values: Sequence[object]) -> str:
    """Return the checksum of a generation's columns, in `GENERATION_COLUMNS` order."""
    return f"{checksum(values):016x}"


def read_generation(connection: sqlite3.Connection) -> Generation | None:
    """Return the newest generation of a database, None when nothing was committed yet."""
    tables = "SELECT 1 FROM sqlite_master WHERE name = 'generations'"
    if connection.execute(tables).fetchone() is None:
        return None  # its writer was stopped before it had made the tables
    columns = ", ".join(GENERATION_COLUMNS)
    row = connection.execute(
        f"SELECT {columns}, checksum FROM generations ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    *found, stored = row
    if generation_checksum(found) != stored:
        raise CollectionCorruptError(
            "the row of the newest committed state is damaged",
            where=f"generations, {found[0]}",
            remedy="Restore the database from a copy, or build it all again with --overwrite",
        )
    values: dict[str, Any] = dict(zip(GENERATION_COLUMNS, found, strict=True))
    values["ann_parameters"] = json.loads(values["ann_parameters"])
    values["details"] = json.loads(values["details"])
    return Generation(**values)


def vector_file_of(connection: sqlite3.Connection, number: int) -> str | None:
    """Return the vector file of a committed state, None when there is no such state."""
    row = connection.execute(
        "SELECT vector_file FROM generations WHERE number = ?", (number,)
    ).fetchone()
    return None if row is None else str(row[0])


def read_meta(connection: sqlite3.Connection, key: str) -> Json:
    """Return a JSON value of the `meta` table, None when there is none.

    Raises:
        CollectionCorruptError: it is no JSON any more.
    """
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    try:
        return None if row is None else json.loads(row[0])
    except (TypeError, ValueError) as error:
        raise CollectionCorruptError(
            f"a setting of the collection is damaged: {error}",
            value=key,
            where="meta",
            remedy="Restore the database from a copy, or build it all again with --overwrite",
        ) from error
