"""Keyword search over the texts, by SQLite's FTS5 and BM25."""

from __future__ import annotations

import re
import sqlite3
from itertools import islice

from mirror_index.store.layout import refuse_unknown_row
from mirror_index.vectors import BoolVector

MOST_WORDS = 256
"""Distinct words of a query that are looked up; no encoder reads more of it either."""
_TOKEN = re.compile(r"\w+")


def words_query(text: str) -> str | None:
    """Return an FTS5 query for any of the first words of a text, quoted; None without words."""
    found = (match.group() for match in _TOKEN.finditer(text))
    words = islice(dict.fromkeys(found), MOST_WORDS)
    return " OR ".join(f'"{word}"' for word in words) or None


def word_hits(
    connection: sqlite3.Connection, text: str, limit: int, allowed: BoolVector
) -> dict[int, float]:
    """Return up to `limit` rows that hold a word of `text`, best first, with their BM25.

    Args:
        connection: a reading connection.
        text: the user's query, any characters.
        limit: rows wanted.
        allowed: (rows,) True where a row may be found.
    """
    query = words_query(text)
    if query is None:
        return {}
    found: dict[int, float] = {}
    rows = connection.execute(
        "SELECT rowid, bm25(texts_fts) FROM texts_fts WHERE texts_fts MATCH ? ORDER BY 2, rowid",
        (query,),
    )
    for row, score in rows:
        refuse_unknown_row("texts_fts", row, len(allowed))
        if allowed[row]:
            found[row] = score
            if len(found) == limit:
                break
    rows.close()
    return found
