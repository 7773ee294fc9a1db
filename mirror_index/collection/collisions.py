"""Distinct texts with one vector: what the encoder cannot tell apart."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

from mirror_index.index.exact import rescore
from mirror_index.index.vectorfile import map_rows
from mirror_index.store.committing import collisions
from mirror_index.store.generations import Generation
from mirror_index.vectors import FloatMatrix

_EQUAL = 1.0 - 1e-6


def count_collisions(
    folder: Path, connection: sqlite3.Connection, generation: Generation, first_row: int
) -> int:
    """Return how many texts from `first_row` on have the vector of an earlier text."""
    path = folder / generation.vector_file
    vectors = map_rows(path, generation.vector_rows, generation.dim)
    groups = collisions(connection, first_row)
    return sum(_equal_to_earlier(vectors, rows, first_row) for rows in groups)


def _equal_to_earlier(vectors: FloatMatrix, rows: list[int], before: int) -> int:
    """Count rows from `before` on that equal an earlier row of their group."""
    count = 0
    leaders: list[int] = []
    for row in rows:
        equal = leaders and bool(np.any(rescore(vectors[row], vectors[leaders]) >= _EQUAL))
        if not equal:
            leaders.append(row)
        elif row >= before:
            count += 1
    return count
