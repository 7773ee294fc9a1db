"""The vector file: unit rows one after the other, no header; row i belongs to text i.

The ending of its name says how a value is stored: ``.f32`` or ``.f16``; see `index/halves.py`.
Rows are only ever appended. What lies past the committed number of rows is not part of the
collection and is overwritten by the next writer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index import durable
from mirror_index.config import Dtype
from mirror_index.durable import Chunk
from mirror_index.errors import CollectionCorruptError
from mirror_index.index.halves import HalfRows, near_rows
from mirror_index.vectors import FloatMatrix, IntVector, UnitRows

_SUFFIXES = {Dtype.FLOAT32: ".f32", Dtype.FLOAT16: ".f16"}
_NORM_TOLERANCE = 1e-3
_NORM_ROWS = 65_536


def suffix_of(dtype: Dtype) -> str:
    """Return the ending of the name of a vector file that stores values so."""
    return _SUFFIXES[dtype]


def dtype_of(name: str | Path) -> Dtype:
    """Return how the values of a vector file are stored."""
    half = str(name).endswith(_SUFFIXES[Dtype.FLOAT16])
    return Dtype.FLOAT16 if half else Dtype.FLOAT32


def row_bytes(name: str | Path, dim: int) -> int:
    """Return the bytes of one row of a vector file."""
    return dim * dtype_of(name).item_size


def chunk_digest(path: Path, dim: int, first_row: int, rows: int) -> str:
    """Return the SHA-256 (hex) of `rows` rows from `first_row` of a vector file."""
    width = row_bytes(path, dim)
    return durable.sha256_of(path, first_row * width, rows * width)


def map_rows(path: Path, rows: int, dim: int) -> UnitRows:
    """Return the first `rows` rows of a vector file as a read-only (rows, dim) memory map.

    Indexing it gives float32 unit rows, whatever is stored.

    Raises:
        FileNotFoundError: the file is not there.
        CollectionCorruptError: it is shorter than `rows` rows.
    """
    dtype = dtype_of(path)
    if rows == 0:
        return np.empty((0, dim), dtype=np.float32)
    size = path.stat().st_size
    if size < rows * row_bytes(path, dim):
        raise CollectionCorruptError(
            "the vector file is shorter than what was committed",
            value=f"{size} bytes for {rows} rows of {dim} {dtype.value} values",
            where=path.name,
            remedy="Restore the file from a copy, or build the collection again",
        )
    if dtype is Dtype.FLOAT16:
        return HalfRows(_mapped(path, "<f2", rows, dim))
    return _mapped(path, "<f4", rows, dim)


def _mapped(path: Path, dtype: str, rows: int, dim: int) -> NDArray[Any]:
    """Map a file as a plain array, which is indexed in half the time of a `memmap`."""
    return np.memmap(path, dtype=dtype, mode="r", shape=(rows, dim)).view(np.ndarray)


class VectorWriter:
    """Appends rows from `first_row` on, each call durable before it returns.

    Args:
        folder: the collection's folder.
        name: the vector file, relative to it; created when missing.
        dim: columns of a row.
        first_row: where appending starts; anything after it in the file is cut off.
    """

    def __init__(self, folder: Path, name: str, dim: int, first_row: int) -> None:
        self._name = name
        self._path = folder / name
        self._width = row_bytes(name, dim)
        self._dtype = "<f2" if dtype_of(name) is Dtype.FLOAT16 else "<f4"
        self.next_row = first_row
        durable.make_folder(self._path.parent)
        if not self._path.exists():
            with durable.stated("create", self._path):
                self._path.touch()
            durable.sync_folder(self._path.parent)
        with durable.stated("truncate", self._path):
            self._file = self._path.open("r+b")
            self._file.truncate(first_row * self._width)

    def append(self, matrix: FloatMatrix) -> Chunk:
        """Write (n, dim) float32 unit rows, rounded to what the file holds; wait for the disk."""
        return self._append(np.ascontiguousarray(matrix, dtype=self._dtype))

    def append_from(self, stored: UnitRows, rows: Sequence[int]) -> Chunk:
        """Write rows of another vector file of the same kind, bit by bit."""
        raw = stored.raw if isinstance(stored, HalfRows) else stored
        return self._append(np.ascontiguousarray(raw[rows], dtype=self._dtype))

    def _append(self, rows: NDArray[Any]) -> Chunk:
        data = rows.tobytes()
        durable.write_at(self._file, self.next_row * self._width, data, self._path)
        chunk = Chunk(
            file=self._name,
            first_row=self.next_row,
            rows=len(rows),
            sha256=hashlib.sha256(data).hexdigest(),
        )
        self.next_row += len(rows)
        return chunk

    def close(self) -> None:
        """Close the file; what was appended stays."""
        self._file.close()

    def __enter__(self) -> VectorWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def vector_keys(matrix: FloatMatrix) -> IntVector:
    """Return a 63-bit key per row, equal for rows equal up to rounding noise.

    The key hashes the signs of the components: noise of 1e-7 turns a sign only where a component is
    itself that small, while two rows whose signs all agree are near each other and are then
    compared in full.
    """
    signs = np.packbits(matrix > 0, axis=1)
    digests = (hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in signs)
    return np.fromiter(
        (int.from_bytes(digest, "little") >> 1 for digest in digests), np.int64, len(signs)
    )


def odd_rows(vectors: UnitRows) -> Iterator[int]:
    """Yield the rows that are not of length 1 up to rounding, NaN and Inf included."""
    for start in range(0, len(vectors), _NORM_ROWS):
        block = near_rows(vectors, slice(start, start + _NORM_ROWS)).astype(np.float64)
        norms = np.sqrt(np.add.reduce(block * block, axis=1))
        for row in np.flatnonzero(~(np.abs(norms - 1.0) <= _NORM_TOLERANCE)):
            yield start + int(row)
