"""The vector file: float32 unit rows one after the other, no header; row i belongs to text i.

Rows are only ever appended. What lies past the committed number of rows is not part of the
collection and is overwritten by the next writer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from mirror_index import durable
from mirror_index.durable import Chunk
from mirror_index.errors import CollectionCorruptError
from mirror_index.vectors import FloatMatrix, IntVector

ITEM_SIZE = 4
_NORM_TOLERANCE = 1e-3
_NORM_ROWS = 65_536


def chunk_digest(path: Path, dim: int, first_row: int, rows: int) -> str:
    """Return the SHA-256 (hex) of `rows` rows from `first_row` of a vector file."""
    width = dim * ITEM_SIZE
    return durable.sha256_of(path, first_row * width, rows * width)


def map_rows(path: Path, rows: int, dim: int) -> FloatMatrix:
    """Return the first `rows` rows of a vector file as a read-only (rows, dim) float32 memory map.

    Raises:
        FileNotFoundError: the file is not there.
        CollectionCorruptError: it is shorter than `rows` rows.
    """
    if rows == 0:
        return np.empty((0, dim), dtype=np.float32)
    size = path.stat().st_size
    if size < rows * dim * ITEM_SIZE:
        raise CollectionCorruptError(
            "the vector file is shorter than what was committed",
            value=f"{size} bytes for {rows} rows of {dim} float32 values",
            where=path.name,
            remedy="Restore the file from a copy, or build the collection again",
        )
    return np.memmap(path, dtype=np.float32, mode="r", shape=(rows, dim))


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
        self._dim = dim
        self.next_row = first_row
        durable.make_folder(self._path.parent)
        if not self._path.exists():
            with durable.stated("create", self._path):
                self._path.touch()
            durable.sync_folder(self._path.parent)
        with durable.stated("truncate", self._path):
            self._file = self._path.open("r+b")
            self._file.truncate(first_row * dim * ITEM_SIZE)

    def append(self, matrix: FloatMatrix) -> Chunk:
        """Write (n, dim) float32 rows and wait until they are on disk."""
        rows = np.ascontiguousarray(matrix, dtype="<f4")
        data = rows.tobytes()
        durable.write_at(self._file, self.next_row * self._dim * ITEM_SIZE, data, self._path)
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


def odd_rows(vectors: FloatMatrix) -> Iterator[int]:
    """Yield the rows that are not of length 1 up to float32 noise, NaN and Inf included."""
    for start in range(0, len(vectors), _NORM_ROWS):
        block = vectors[start : start + _NORM_ROWS].astype(np.float64)
        norms = np.sqrt(np.add.reduce(block * block, axis=1))
        for row in np.flatnonzero(~(np.abs(norms - 1.0) <= _NORM_TOLERANCE)):
            yield start + int(row)
