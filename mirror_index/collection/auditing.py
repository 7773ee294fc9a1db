"""Records whose text the encoder read only in part, with unknown tokens, or like another text."""

from __future__ import annotations

from mirror_index.collection.collisions import equal_pairs
from mirror_index.collection.report import TextAudit
from mirror_index.collection.view import View
from mirror_index.store import auditing
from mirror_index.store.committing import collisions


def audit(view: View, limit: int | None) -> list[TextAudit]:
    """Return the records that are odd in one of these ways, in id order; see `TextAudit`."""
    partners = colliding(view)
    connection = view.store.connection
    found = []
    for id_, text, tokens, truncated, unknown, line, row in auditing.audited(
        connection, partners, limit
    ):
        found.append(
            TextAudit(
                record_id=id_,
                text=text,
                tokens=tokens,
                truncated=bool(truncated),
                unknown=bool(unknown),
                line=line,
                collides_with=_text(view, partners[row]) if row in partners else None,
            )
        )
    return found


def colliding(view: View) -> dict[int, int]:
    """Return the live rows that have the vector of another text, and a row that has it as well."""
    partners: dict[int, int] = {}
    for rows in collisions(view.store.connection, 0):
        live = [row for row in rows if view.live[row]]
        for row, leader in equal_pairs(view.vectors, live):
            partners[row] = leader
            partners.setdefault(leader, row)
    return partners


def _text(view: View, row: int) -> str:
    found = view.store.connection.execute("SELECT text FROM texts WHERE row = ?", (row,))
    return str(found.fetchone()[0])
