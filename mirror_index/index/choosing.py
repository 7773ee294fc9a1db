"""Which index a collection gets: exact, or a FAISS factory string.

Exact search reads every vector once a query: 200,000 rows of 384 float32 values are 300 MB, tens of
milliseconds from memory, with nothing to build, train or calibrate. HNSW32 costs its links and a
copy of the vectors in memory, worth it up to a few gigabytes; beyond that, IVF with 8-bit codes
holds a quarter, and exact scoring of its candidates makes up for what the codes lose.
"""

from __future__ import annotations

EXACT = "exact"
AUTO = "auto"
EXACT_ROWS = 200_000
HNSW_ROWS = 2_000_000


def choose_kind(kind: str, rows: int) -> str:
    """Return "exact" or the factory string to build for `rows` rows."""
    wanted = kind.strip()
    if wanted.lower() == EXACT:
        return EXACT
    if wanted.lower() != AUTO:
        return wanted
    if rows <= EXACT_ROWS:
        return EXACT
    if rows <= HNSW_ROWS:
        return "HNSW32"
    lists = 1 << max(10, round(rows**0.5).bit_length())
    return f"IVF{lists},SQ8"
