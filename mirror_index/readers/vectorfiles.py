"""Vectors from a file: a `.npy` matrix, or a column of lists in a `.parquet` table.

Nothing is read whole: a `.npy` is mapped, a parquet column is copied to a temporary `.npy` first,
for rows are needed in any order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import SourceError
from mirror_index.vectors import FloatMatrix

NPY, PARQUET = ".npy", ".parquet"
_BLOCK = 1 << 20

Codes = NDArray[np.int8]


class Flaw(IntEnum):
    """Why a row is no vector; 0 for one that is."""

    NONE = 0
    NAN = 1
    INFINITE = 2
    ZEROS = 3
    LENGTH = 4

    @property
    def words(self) -> str:
        """The flaw in words, after "vector row 7"."""
        return ("is sound", "holds NaN", "holds Inf", "holds only zeros", "has another length")[
            self
        ]


class VectorRows:
    """A file of vectors, opened; rows come as float32 unit rows, with what is wrong with them.

    Attributes:
        where: the file as given.
        rows: number of rows.
        dim: columns.
        column: name of the parquet column they stand in; None for a matrix.
    """

    def __init__(
        self,
        matrix: NDArray[Any],
        where: str,
        misfits: Sequence[int] = (),
        column: str | None = None,
    ) -> None:
        self.where = where
        self.column = column
        self.rows, self.dim = int(matrix.shape[0]), int(matrix.shape[1])
        self._matrix = matrix
        self._misfits = np.asarray(misfits, dtype=np.int64)

    def unit(self, rows: Sequence[int] | NDArray[np.int64]) -> FloatMatrix:
        """Return (len(rows), dim) float32 unit rows; those with a flaw are zeros."""
        return self._scaled(self._matrix[np.asarray(rows, dtype=np.int64)])

    def raw(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows as the file has them."""
        return self._matrix[start:stop]

    def flaws(self) -> Codes:
        """Look at every row once, a block at a time; return a `Flaw` for each."""
        codes = np.zeros(self.rows, dtype=np.int8)
        step = max(1, _BLOCK // max(1, self.dim))
        for start in range(0, self.rows, step):
            block = np.asarray(self._matrix[start : start + step], dtype=np.float64)
            part = codes[start : start + step]
            part[~block.any(axis=1)] = Flaw.ZEROS
            part[np.isinf(block).any(axis=1)] = Flaw.INFINITE
            part[np.isnan(block).any(axis=1)] = Flaw.NAN
        codes[self._misfits] = Flaw.LENGTH
        return codes

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the shape and every value as float64, in row order."""
        digest = hashlib.sha256(f"{self.rows} {self.dim}".encode())
        step = max(1, _BLOCK // max(1, self.dim))
        for start in range(0, self.rows, step):
            block = np.ascontiguousarray(self._matrix[start : start + step], dtype="<f8")
            digest.update(block.data)
        return digest.hexdigest()

    def _scaled(self, block: NDArray[Any]) -> FloatMatrix:
        wide = block.astype(np.float64)
        # By the largest component first: squares of large or tiny numbers leave float64.
        largest = np.abs(wide).max(axis=1, initial=0.0)
        good = np.isfinite(largest) & (largest > 0)
        wide[~good] = 0.0
        wide[good] /= largest[good, None]
        norms = np.sqrt(np.add.reduce(wide * wide, axis=1))
        norms[~good] = 1.0
        return np.ascontiguousarray(wide / norms[:, None], dtype=np.float32)


def open_vectors(given: str | Path) -> VectorRows:
    """Open ``FILE.npy``, ``FILE.parquet`` or ``FILE.parquet:column``.

    Any float or integer type, byte and memory order is taken. Without a column, a parquet file must
    have one column of lists of numbers.

    Raises:
        SourceError: missing, of another kind, damaged, or not a matrix of numbers.
    """
    name, column = _split(str(given))
    path = Path(name)
    if not path.is_file():
        raise SourceError(
            "there is no such file of vectors", value=str(given), remedy="Check the path"
        )
    if path.suffix.lower() == PARQUET:
        from mirror_index.readers.vectorcolumns import read_column  # pyarrow

        found = read_column(path, column)
        return VectorRows(_matrix(found.matrix, name), name, found.misfits, found.name)
    if path.suffix.lower() != NPY:
        raise SourceError(
            "this is no file of vectors",
            value=str(given),
            remedy="Give a .npy matrix, or a .parquet file with a column of lists",
        )
    return VectorRows(_matrix(_mapped(path), name), name)


def _split(given: str) -> tuple[str, str | None]:
    if PARQUET + ":" in given.lower():
        at = given.lower().rindex(PARQUET + ":") + len(PARQUET)
        return given[:at], given[at + 1 :]
    return given, None


def _mapped(path: Path) -> NDArray[Any]:
    try:
        # Never `np.load`, which unpickles or unzips what only looks like a matrix.
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, TypeError, SyntaxError) as error:
        empty = _empty(path)
        if empty is not None:
            return empty
        raise SourceError(
            f"the file of vectors cannot be read: {error}",
            where=str(path),
            remedy="Save a matrix of floats with numpy.save",
        ) from error


def _empty(path: Path) -> NDArray[Any] | None:
    """Return the matrix of a file without a row, which no system maps."""
    try:
        with path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, TypeError, SyntaxError):
        return None
    return array if array.size == 0 else None


def _matrix(array: NDArray[Any], where: str) -> NDArray[Any]:
    numbers = array.dtype.kind in "fiu"
    if array.ndim == 2 and numbers and array.shape[1]:
        return array
    raise SourceError(
        "vectors must be a two-dimensional array of numbers",
        value=f"shape {array.shape}, dtype {array.dtype}",
        where=where,
        remedy="Save one row per record, of floats",
    )
