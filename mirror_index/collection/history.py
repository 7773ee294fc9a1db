"""The committed states of a collection, and going back to one of them."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mirror_index.collection import housekeeping
from mirror_index.collection.report import ChangeReport, CommittedState
from mirror_index.collection.starting import require_generation, state_after, writing
from mirror_index.errors import CollectionCorruptError, UsageError
from mirror_index.store import committing, counting, deleting, undo
from mirror_index.store.generations import Generation

_COUNTS = ("added", "updated", "deleted", "unchanged", "skipped", "quarantined")


def committed_states(connection: sqlite3.Connection) -> list[CommittedState]:
    """Return all committed states, the newest first."""
    rows = connection.execute(
        "SELECT number, committed_at, verb, source, live_records, live_texts, concepts, details "
        "FROM generations ORDER BY number DESC"
    ).fetchall()
    oldest = undo.oldest_reachable(connection, rows[0][0])
    states = []
    for number, committed_at, verb, source, records, texts, concepts, stored in rows:
        details = json.loads(stored)
        report = details.get("report", {})
        states.append(
            CommittedState(
                generation=number,
                committed_at=committed_at,
                verb=verb,
                source=source,
                records=records,
                texts=texts,
                concepts=concepts,
                counts={name: int(report.get(name, 0)) for name in _COUNTS},
                returned_to=details.get("returned_to"),
                reachable=number >= oldest,
            )
        )
    return states


def roll_back(folder: Path, generation: int, *, timeout: float) -> ChangeReport:
    """Return to a committed state, as one new commit; see `Collection.rollback`."""
    started = time.perf_counter()
    with writing(folder, timeout) as store:
        current = require_generation(store, folder)
        _refuse_unreachable(store.connection, current, generation)
        housekeeping.remove_leftovers(folder, current, keep={current.vector_file})
        store.connection.execute("PRAGMA foreign_keys = OFF")  # see undo.restore
        with store.transaction() as connection:
            deleting.begin_touching(connection)
            with undo.noted(connection, current.number + 1):
                restored = undo.restore(connection, generation)
                dead = committing.count_uses(connection)
            totals = counting.totals_after(connection, current, dead=dead)
            counting.require_sum(current, totals, restored.added - restored.deleted)
            report = ChangeReport(
                verb="rollback",
                generation=current.number + 1,
                added=restored.added,
                updated=restored.updated,
                deleted=restored.deleted,
                records=totals.records,
            )
            state = state_after(current, report, totals)
            details = {
                **counting.side_counts(connection),
                "report": report.to_json(),
                "returned_to": generation,
            }
            _require_same(connection, generation, state, details)
            committing.write_generation(connection, replace(state, details=details))
    return replace(report, seconds=time.perf_counter() - started)


def _refuse_unreachable(
    connection: sqlite3.Connection, current: Generation, generation: int
) -> None:
    oldest = undo.oldest_reachable(connection, current.number)
    if generation == current.number:
        problem = "the collection is in this state already"
    elif not 1 <= generation <= current.number:
        problem = "there is no such generation"
    elif generation < oldest:
        problem = "this generation cannot be returned to any more"
    else:
        return
    raise UsageError(
        problem,
        value=generation,
        remedy=f"`mirror-index history` lists what is there: {oldest} to {current.number}. "
        f"The last {undo.KEPT} changes can be undone; compacting and overwriting end the history",
    )


def _require_same(
    connection: sqlite3.Connection, generation: int, state: Generation, details: dict[str, Any]
) -> None:
    """Compare with what was counted when the state was committed.

    Raises:
        CollectionCorruptError: the notes lead somewhere else; the transaction is given up then.
    """
    records, texts, concepts, stored = connection.execute(
        "SELECT live_records, live_texts, concepts, details FROM generations WHERE number = ?",
        (generation,),
    ).fetchone()
    side = json.loads(stored)
    wanted = (records, texts, concepts, side["obsolete_names"], side["rejected_rows"])
    found = (
        state.live_records,
        state.live_texts,
        state.concepts,
        details["obsolete_names"],
        details["rejected_rows"],
    )
    if found != wanted:
        raise CollectionCorruptError(
            f"going back does not lead to what generation {generation} was: records, texts, "
            f"concepts, obsolete names and rejected rows are {found}, they were {wanted}",
            where="undo",
            remedy="Nothing was changed; build the collection again from its source",
        )
