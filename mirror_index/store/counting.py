"""How much a database holds, by counting all of it or by what a change noted."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from mirror_index.errors import CollectionCorruptError
from mirror_index.store import undo
from mirror_index.store.generations import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a database holds."""

    records: int
    live_texts: int
    dead_texts: int
    concepts: int


def totals(connection: sqlite3.Connection) -> Totals:
    """Count records, texts with and without records, and concepts."""

    def count(what: str) -> int:
        return int(connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0])

    dead = count("texts WHERE records = 0")
    return Totals(
        records=count("records"),
        live_texts=count("texts") - dead,
        dead_texts=dead,
        concepts=count("concepts"),
    )


def totals_after(
    connection: sqlite3.Connection, current: Generation, *, taken: int = 0, dead: int = 0
) -> Totals:
    """Count by what a change noted, at a cost that does not grow with the collection.

    Args:
        connection: in the change's transaction, after its notes were finished.
        current: the state before.
        taken: texts that were appended; they count as unused until `settle` counted their use.
        dead: what `settle` or `count_uses` returned.
    """
    number = current.number + 1
    unused = current.dead_texts + taken + dead
    return Totals(
        records=current.live_records + undo.gained(connection, number, "records"),
        live_texts=current.live_texts + current.dead_texts + taken - unused,
        dead_texts=unused,
        concepts=current.concepts + undo.gained(connection, number, "concepts"),
    )


def require_sum(current: Generation, totals: Totals, gained: int) -> None:
    """Compare what the statements of a change did with what the triggers saw of it.

    Raises:
        CollectionCorruptError: they differ, so that the report of the change would not be true.
    """
    if totals.records != current.live_records + gained:
        raise CollectionCorruptError(
            f"the change would leave {totals.records} records, "
            f"not {current.live_records} and {gained} more",
            where="records",
            remedy="Nothing was changed; see `mirror-index verify`",
        )


def side_counts(connection: sqlite3.Connection) -> dict[str, Any]:
    """Count rows that `verify` cannot count again from other tables, and name the settings."""
    names, rejected = connection.execute(
        "SELECT (SELECT count(*) FROM names WHERE obsolete = 1), (SELECT count(*) FROM quarantine)"
    ).fetchone()
    settings = connection.execute("SELECT key FROM meta ORDER BY key").fetchall()
    return {
        "obsolete_names": names,
        "rejected_rows": rejected,
        "probes": connection.execute("SELECT count(*) FROM canaries").fetchone()[0],
        "settings": [key for (key,) in settings],
    }
