"""When a sync may remove what its source does not have."""

from __future__ import annotations

import sqlite3

from mirror_index.collection.starting import ChangeOptions
from mirror_index.errors import CollectionError

_SHOWN = 3


def refuse_blind_removal(connection: sqlite3.Connection, options: ChangeOptions) -> None:
    """Stop a sync that would remove records because the source could not be read.

    What was encoded stays pending, so that the sync that follows encodes nothing twice.

    Raises:
        CollectionError: the source holds nothing at all, or rows of it were quarantined while
            stored records are missing from it, and the options do not allow that.
    """
    staged, concepts, missing = connection.execute(
        "SELECT (SELECT count(*) FROM temp.staged), (SELECT count(*) FROM temp.staged_concepts), "
        "(SELECT count(*) FROM records WHERE id NOT IN (SELECT id FROM temp.staged)) + "
        "(SELECT count(*) FROM concepts WHERE derived = 0 AND obsolete = 1 "
        "AND id NOT IN (SELECT id FROM temp.staged_concepts))"
    ).fetchone()
    if not missing:
        return
    rejected = connection.execute(
        "SELECT line, reason FROM temp.staged_rejected WHERE NOT skipped ORDER BY line"
    ).fetchall()
    if rejected and not options.allow_quarantine:
        shown = "; ".join(f"line {line}: {reason}" for line, reason in rejected[:_SHOWN])
        raise CollectionError(
            f"{len(rejected)} rows of the source could not be read, and {missing} stored records "
            "are not among the rows that could: nothing was changed",
            value=shown,
            where=options.source,
            remedy="Mend the rows, or let the records go: allow_quarantine (--allow-quarantine)",
        )
    if not staged and not concepts and not options.allow_empty:
        raise CollectionError(
            f"the source holds no record, syncing with it would remove all {missing}",
            where=options.source,
            remedy="Check the source, or say that it is to be emptied: allow_empty (--allow-empty)",
        )
