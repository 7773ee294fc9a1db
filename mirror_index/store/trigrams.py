"""Finding short texts by their spelling: misspelt names and parts of words.

Trigrams only propose. What counts is a text that is a few slips away from the query, or holds it
as it stands: a name that merely shares letters says nothing, and fused with the other rankings it
would push right answers down (docs/adr/010).
"""

from __future__ import annotations

import json
import math
import sqlite3

import numpy as np

from mirror_index.store.edits import slips_apart
from mirror_index.store.layout import SHORT_TEXT, refuse_unknown_row
from mirror_index.vectors import BoolVector, IntVector

READ_ROWS = 20_000
"""Entries of the trigram index read for one query, those of its rarest trigrams first."""
CANDIDATES = 300
_EMPTY: IntVector = np.empty(0, dtype=np.int64)


def spelling_hits(
    connection: sqlite3.Connection, text: str, limit: int, allowed: BoolVector
) -> dict[int, float]:
    """Return up to `limit` rows of texts spelt like `text` or holding it, best first.

    The score is the Dice coefficient of the trigrams of both, padded with spaces, case folded.
    Queries of fewer than three or more than 100 characters find nothing, and neither are texts of
    more than 100 characters ever found.

    Args:
        connection: a reading connection.
        text: the user's query, any characters.
        limit: rows wanted.
        allowed: (rows,) True where a row may be found.
    """
    query = text.lower()
    if len(query) > SHORT_TEXT or not has_trigrams(connection):
        return {}
    rows = _candidates(connection, query, allowed)
    if not len(rows):
        return {}
    wanted = padded_trigrams(query)
    found = connection.execute(
        "SELECT texts.row, texts.text FROM json_each(?) AS wanted "
        "CROSS JOIN texts ON texts.row = wanted.value",
        (json.dumps(rows.tolist()),),
    )
    scores = {row: _score(query, wanted, name.lower()) for row, name in found}
    best = sorted((-score, row) for row, score in scores.items() if score > 0)
    return {row: -score for score, row in best[:limit]}


def has_trigrams(connection: sqlite3.Connection) -> bool:
    """Return whether the database has the index; one of the first format has not."""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts_trigrams'").fetchone()
    return row is not None


def trigrams(text: str) -> list[str]:
    """Return the distinct runs of three characters, in the order of the text."""
    return list(dict.fromkeys(text[start : start + 3] for start in range(len(text) - 2)))


def padded_trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text between spaces, so that its ends count for more."""
    return frozenset(trigrams(f"  {text} "))


def slips_allowed(length: int) -> int:
    """Return up to how many slips a query of `length` characters is taken for a misspelling."""
    return 1 if length < 5 else 2 if length < 12 else 3


def _candidates(connection: sqlite3.Connection, query: str, allowed: BoolVector) -> IntVector:
    """Return the rows that share most with the query, a rare trigram counting for more."""
    # SQLite ends a string at a NUL; there is no such character in a text.
    grams = [gram for gram in trigrams(query) if "\0" not in gram]
    counted = sorted((_count(connection, gram), gram) for gram in grams)
    shared = np.zeros(len(allowed), dtype=np.float64)
    left = READ_ROWS
    for count, gram in counted:
        if left <= 0:
            break
        rows = _rows_with(connection, gram, left)
        for row in (rows.min(), rows.max()) if len(rows) else ():
            refuse_unknown_row("texts_trigrams", int(row), len(allowed))
        shared[rows] += math.log1p(len(allowed) / max(1, count))
        left -= len(rows)
    shared[~allowed] = 0.0
    rows = np.flatnonzero(shared)
    order = np.lexsort((rows, -shared[rows]))
    best: IntVector = rows[order[:CANDIDATES]]
    return best


def _count(connection: sqlite3.Connection, gram: str) -> int:
    row = connection.execute(
        "SELECT doc FROM texts_trigrams_terms WHERE term = ?", (gram,)
    ).fetchone()
    return 0 if row is None else int(row[0])


def _rows_with(connection: sqlite3.Connection, gram: str, limit: int) -> IntVector:
    quoted = '"' + gram.replace('"', '""') + '"'
    rows = connection.execute(
        "SELECT rowid FROM texts_trigrams WHERE texts_trigrams MATCH ? LIMIT ?", (quoted, limit)
    ).fetchall()
    return np.fromiter((row[0] for row in rows), np.int64, len(rows)) if rows else _EMPTY


def _score(query: str, wanted: frozenset[str], name: str) -> float:
    """Return the Dice coefficient for a near spelling or a text with the query in it, else 0."""
    has = padded_trigrams(name)
    shared = len(wanted & has)
    dice = 2.0 * shared / (len(wanted) + len(has))
    if query in name:
        return dice
    most = slips_allowed(len(query))
    # A slip changes four trigrams at most (Ukkonen 1992), which spares most comparisons.
    if shared < max(len(wanted), len(has)) - 4 * most:
        return 0.0
    return dice if slips_apart(query, name, most) <= most else 0.0
