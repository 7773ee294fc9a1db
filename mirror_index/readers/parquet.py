"""Parquet, read in batches. The only module that loads pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mirror_index.config import ReadOptions
from mirror_index.readers.layout import resolve_layout
from mirror_index.readers.rows import RowReader
from mirror_index.readers.source import check_file, source_name, unreadable
from mirror_index.records import SourceItem

BATCH_ROWS = 1024


def read_parquet(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield one record per row; `line` and the default id hold its number from 1.

    Whole numbers, floats, booleans and nulls stay what they are in the metadata (NaN becomes null),
    times become ISO-like text, lists and structs JSON text. Text that is no string is rejected.

    Raises:
        SourceError: no parquet file, or without a usable text column.
    """
    path = check_file(source)
    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            reader = RowReader(resolve_layout(columns, options, source_name(source)), source)
            ordinal = 0
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                values = [_values(batch.column(n)) for n in range(len(columns))]
                for row in zip(*values, strict=True):
                    ordinal += 1
                    named = dict(zip(columns, row, strict=True))
                    yield reader.item(named, ordinal=ordinal, line=ordinal)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(source, error) from error


def row_count(path: Path) -> int | None:
    """Return the number of rows that a Parquet file says it has, None when it cannot be read."""
    try:
        with pq.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    except (pa.ArrowException, OSError):
        return None


def _values(column: pa.Array) -> list[object]:
    # Python's datetime has no nanoseconds, so times are spelled by Arrow.
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.string())
    values: list[object] = column.to_pylist()
    if getattr(column.type, "extension_name", None) == "arrow.uuid":
        return [None if value is None else str(value) for value in values]
    return values
