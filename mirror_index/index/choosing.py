"""Which index a collection gets: exact, or a FAISS factory string."""

from __future__ import annotations

EXACT = "exact"
AUTO = "auto"
EXACT_ROWS = 200_000
HNSW_ROWS = 2_000_000


def choose_kind(kind: str, rows: int, dim: int) -> str:
    """Return "exact" or the factory string to build for `rows` rows of `dim` float32 values."""
    del dim
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
