"""Few rows scored and put in order as a list: a call of numpy costs more than its work there."""

from __future__ import annotations

import math

import numpy as np

from mirror_index.vectors import FloatVector, IntVector, UnitRows

SCORE_DECIMALS = 6
SCORE_UNITS = 10**SCORE_DECIMALS


def rank_few(
    query: FloatVector, vectors: UnitRows, rows: IntVector
) -> list[tuple[int, int]] | None:
    """Return (-score, row) of distinct rows, best first, equal scores by row.

    A score is a cosine in units of its last decimal. The answer is None where a row is damaged: it
    holds NaN or Inf, or is longer than 1.

    Args:
        query: (dim,) float32 unit row.
        vectors: (n, dim) unit rows.
        rows: row numbers, which may be repeated.
    """
    near = vectors.take(rows, axis=0) if isinstance(vectors, np.ndarray) else vectors[rows]
    # One product of float64 numbers for each row: it depends on nothing but the query and the row.
    cosines = np.vecdot(near, query, dtype=np.float64).tolist()
    if not math.isfinite(sum(cosines)):
        return None
    pairs = zip(cosines, rows.tolist(), strict=True)
    found = sorted({(-round(cosine * SCORE_UNITS), row) for cosine, row in pairs})
    if found and (found[0][0] < -SCORE_UNITS or found[-1][0] > SCORE_UNITS):
        return None
    return found


def with_ties(found: list[tuple[int, int]], k: int) -> list[tuple[int, int]]:
    """Return the first `k` of what `rank_few` gives, and all that tie with the last of them."""
    keep = min(k, len(found))
    while keep < len(found) and found[keep][0] == found[k - 1][0]:
        keep += 1
    return found[:keep]
