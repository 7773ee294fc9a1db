"""Changing a document that a collection keeps, as a commit of its own that history shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mirror_index.collection.report import ChangeReport
from mirror_index.collection.starting import now, require_generation, writing
from mirror_index.store import committing, counting, undo
from mirror_index.store.layout import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What a document becomes, and what to tell about it in the details of the commit."""

    value: Json
    details: Mapping[str, Json]


def commit_document(
    folder: Path,
    key: str,
    change: Callable[[Json], Noted | None],
    *,
    verb: str,
    source: str | None = None,
    timeout: float = 10.0,
) -> int:
    """Change the document that `Collection.load_state` gives for `key`, and return the generation.

    Records, texts and vectors stay as they are. A rollback to before this commit brings the old
    document back.

    Args:
        folder: the collection's folder.
        key: name of the document.
        change: gets the committed document (None when there is none) and returns the new one, or
            None to commit nothing. It runs while the writer lock is held, so that no other change
            comes between.
        verb: what history calls the commit.
        source: where the change comes from, for the record.
        timeout: seconds to wait for another writer.

    Raises:
        CollectionBusyError: another writer holds the collection for longer than that.
    """
    with writing(folder, timeout) as store:
        current = require_generation(store, folder)
        noted = change(store.meta(f"state.{key}"))
        if noted is None:
            return current.number
        number = current.number + 1
        with store.transaction() as connection:
            with undo.noted(connection, number):
                store.set_meta(f"state.{key}", noted.value)
            report = ChangeReport(verb=verb, generation=number, records=current.live_records)
            details = {
                **counting.side_counts(connection),
                **noted.details,
                "report": report.to_json(),
            }
            committing.write_generation(
                connection,
                replace(
                    current,
                    number=number,
                    committed_at=now(),
                    verb=verb,
                    source=source,
                    details=details,
                ),
            )
        return number
