"""Distinct texts with one vector: what the encoder cannot tell apart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirror_index.index.exact import rescore
from mirror_index.index.vectorfile import map_rows
from mirror_index.store.committing import collisions
from mirror_index.store.generations import Generation
from mirror_index.vectors import UnitRows

_EQUAL = 1.0 - 1e-6
_REACH = 2e-3
"""No two equal rows are farther apart: a cosine that rounds to 0.999999 is 1.74e-3 away."""
_CELL = 8 * _REACH
_AXES = 12
_BLOCK = 8192

Cell = tuple[int, ...]


def count_collisions(
    folder: Path, connection: sqlite3.Connection, generation: Generation, first_row: int
) -> int:
    """Return how many texts from `first_row` on have the vector of an earlier text."""
    path = folder / generation.vector_file
    vectors = map_rows(path, generation.vector_rows, generation.dim)
    groups = collisions(connection, first_row)
    return sum(equal_to_earlier(vectors, rows, first_row) for rows in groups)


def equal_to_earlier(vectors: UnitRows, rows: Sequence[int], before: int) -> int:
    """Count rows from `before` on that equal an earlier row of their group.

    Args:
        vectors: (n, dim) float32 unit rows.
        rows: ascending row numbers of one group.
        before: first row that counts.
    """
    return sum(row >= before for row, _ in equal_pairs(vectors, rows))


def equal_pairs(vectors: UnitRows, rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield each row of a group that equals an earlier one, and the first that it equals.

    A row is compared with the leaders (rows that equal no earlier one) in the cells around it, not
    with all: rows within `_REACH` of each other are so along every axis as well. That bounds the
    work where the whole collection is one group, as with vectors without a negative component.
    """
    leaders: dict[Cell, list[int]] = {}
    for row, place in zip(rows, _places(vectors, rows), strict=True):
        near = sorted(leader for cell in _around(place) for leader in leaders.get(cell, ()))
        equal = rescore(vectors[row], vectors[near]) >= _EQUAL if near else np.empty(0, np.bool_)
        if not bool(np.any(equal)):
            leaders.setdefault(_cell(place), []).append(row)
        else:
            yield row, near[int(np.argmax(equal))]


def _places(vectors: UnitRows, rows: Sequence[int]) -> Iterator[list[float]]:
    """Yield the coordinates of rows on a few random axes of length 1, in cells."""
    axes: NDArray[np.float64] = np.random.default_rng(0).standard_normal((vectors.shape[1], _AXES))
    axes /= np.linalg.norm(axes, axis=0) * _CELL
    for start in range(0, len(rows), _BLOCK):
        block = vectors[rows[start : start + _BLOCK]].astype(np.float64)
        yield from (block @ axes).tolist()


def _cell(place: list[float]) -> Cell:
    return tuple(int(value // 1) for value in place)


def _around(place: list[float]) -> Iterator[Cell]:
    """Yield the cells that lie within reach: on most axes that is one, near an edge two."""
    reach = _REACH / _CELL
    sides = (sorted({(value - reach) // 1, (value + reach) // 1}) for value in place)
    yield from product(*(map(int, side) for side in sides))
