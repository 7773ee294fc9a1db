"""A parquet column of lists of numbers as a matrix, copied to a temporary file batch by batch."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mirror_index.errors import SourceError
from mirror_index.readers.source import unreadable

_BATCH_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumn:
    """A column of lists, copied.

    Attributes:
        name: of the column.
        matrix: (n, dim) float64, in a temporary file that goes with it.
        misfits: rows whose list is missing or of another length than the first; they hold zeros.
    """

    name: str
    matrix: NDArray[np.float64]
    misfits: list[int]


def read_column(path: Path, column: str | None) -> ListColumn:
    """Copy a column of lists of numbers; None stands for the only one there is.

    Raises:
        SourceError: no parquet file, or no such column of lists of numbers.
    """
    try:
        with pq.ParquetFile(path) as file:
            name = _choose(file.schema_arrow, column, path)
            return _copied(file, name)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error


def _choose(schema: pa.Schema, column: str | None, path: Path) -> str:
    lists = [str(field.name) for field in schema if _is_vectors(field.type)]
    if column is None and len(lists) == 1:
        return lists[0]
    if column is not None and lists.count(column) == 1:
        return column
    raise SourceError(
        "no single column of lists of numbers"
        if column is None
        else "no such column of lists of numbers",
        value=column,
        where=str(path),
        remedy=f"Name one as {path.name}:COLUMN; there are: {', '.join(lists) or 'none'}",
    )


def _is_vectors(kind: Any) -> bool:  # noqa: ANN401 - pyarrow is untyped
    kinds = pa.types
    if not (kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)):
        return False
    return bool(kinds.is_floating(kind.value_type) or kinds.is_integer(kind.value_type))


def _copied(file: Any, name: str) -> ListColumn:  # noqa: ANN401
    misfits: list[int] = []
    dim, rows = 0, 0
    with tempfile.TemporaryFile() as target:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=[name]):
            lists = batch.column(0)
            lengths = pc.list_value_length(lists).fill_null(-1).to_numpy(zero_copy_only=False)
            found = lengths[lengths > 0]
            dim = dim or (int(found[0]) if len(found) else 0)
            fits = lengths == dim
            block = np.zeros((len(lists), dim), dtype=np.float64)
            kept = lists.filter(pa.array(fits))
            block[fits] = _values(kept).reshape(-1, dim) if dim else 0.0
            misfits += (rows + np.flatnonzero(~fits | (lengths <= 0))).tolist()
            # Batches before the first list have no columns: they are written with it.
            missing = rows - (target.tell() // (8 * dim) if dim else rows)
            target.write(bytes(8 * dim * missing) + block.tobytes())
            rows += len(lists)
        if not rows * dim:
            empty = np.zeros((rows, max(1, dim)), dtype=np.float64)
            return ListColumn(name=name, matrix=empty, misfits=misfits)
        target.flush()
        matrix = np.memmap(target, dtype=np.float64, mode="r", shape=(rows, dim))
        return ListColumn(name=name, matrix=matrix, misfits=misfits)


def _values(lists: Any) -> NDArray[np.float64]:  # noqa: ANN401 - pyarrow is untyped
    """Return all numbers of lists without a null among them; a null number is NaN."""
    numbers = lists.flatten().cast(pa.float64())
    values: NDArray[np.float64] = numbers.fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return values
