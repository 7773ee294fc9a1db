"""Parquet tables to link, and linked ones. Besides the reader the only module with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mirror_index.readers.source import check_file, unreadable
from mirror_index.tables.outcomes import (
    ADDED,
    LinkedRow,
    LinkSource,
    TableRow,
    added_names,
    distinct_names,
)
from mirror_index.tables.sinks import cell_text

_NUMBERS = frozenset(("probability", "margin"))


class ParquetTable:
    """A Parquet file; its columns keep their types.

    Attributes:
        schema: the Arrow schema of the file.
        batch: the record batch behind the window last yielded.
    """

    def __init__(self, path: Path) -> None:
        self.kind = "parquet"
        self.name = path.name
        self._path = check_file(path)
        self.batch: pa.RecordBatch | None = None
        try:
            with pq.ParquetFile(path) as file:
                self.schema = file.schema_arrow
                self.total: int | None = file.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from error
        self.columns: Sequence[str] = list(self.schema.names)

    def windows(self, size: int) -> Iterator[Sequence[TableRow]]:
        """Yield the rows in order, `size` at a time at most."""
        numbers = count(1)
        try:
            with pq.ParquetFile(self._path) as file:
                for self.batch in file.iter_batches(batch_size=size):
                    columns = [_values(column) for column in self.batch.columns]
                    yield [
                        TableRow(line=next(numbers), cells=cells)
                        for cells in zip(*columns, strict=True)
                    ]
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable(self._path, error) from error


def _values(column: pa.Array) -> list[object]:
    if pa.types.is_temporal(column.type):  # Python's datetime has no nanoseconds
        column = column.cast(pa.string())
    values: list[object] = column.to_pylist()
    return values


class ParquetSink:
    """Writes Parquet: columns of Parquet as they are, those of text as strings, and the answers."""

    def __init__(self, path: Path, table: LinkSource) -> None:
        self._table = table
        added = added_names(table.columns)
        answer_fields = [
            pa.field(name, pa.float64() if plain in _NUMBERS else pa.string())
            for name, plain in zip(added, ADDED, strict=True)
        ]
        if isinstance(table, ParquetTable):
            kept = list(table.schema)
            metadata = table.schema.metadata
        else:
            kept = [pa.field(_text(name), pa.string()) for name in distinct_names(table.columns)]
            metadata = None
        self._width = len(kept)
        self._schema = pa.schema([*kept, *answer_fields], metadata=metadata)
        self._writer = pq.ParquetWriter(path, self._schema)

    def write(self, rows: Sequence[LinkedRow]) -> None:
        """Write a window of rows as one batch."""
        rows = [row for row in rows if not row.row.blank]
        if isinstance(self._table, ParquetTable):
            assert self._table.batch is not None  # the rows are those of this batch
            kept = self._table.batch.columns
        else:
            kept = [
                pa.array([_text(row.row.cells[place]) for row in rows], type=pa.string())
                for place in range(self._width)
            ]
        answers = zip(*(row.values() for row in rows), strict=True)
        fields = list(self._schema)[self._width :]
        added = [
            pa.array(list(values), type=field.type)
            for values, field in zip(answers, fields, strict=bool(rows))
        ]
        if rows:
            self._writer.write_batch(pa.record_batch([*kept, *added], schema=self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


def _text(value: object) -> str | None:
    if value is None:
        return None
    # Undecodable bytes have no place in a Parquet string: they are spelled out, as \\xe9.
    raw = cell_text(value).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
