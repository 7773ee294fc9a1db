"""Parquet written in row groups; loads pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mirror_index.export.tables import WholeFile, cell_of

_TYPES = (
    (frozenset({"integer"}), pa.int64()),
    (frozenset({"true", "false"}), pa.bool_()),
    (frozenset({"real"}), pa.float64()),
)


class ParquetWriter(WholeFile):
    """A parquet file that appears whole or not at all.

    A metadata field whose values are all whole numbers, all other numbers or all booleans keeps
    that type; a field that mixes them, or holds text, becomes text.

    Args:
        output: the file to make.
        columns: its columns.
        kinds: for a metadata column, the JSON types that occur in it, as SQLite names them.
    """

    def __init__(self, output: Path, columns: Sequence[str], kinds: Mapping[str, set[str]]) -> None:
        super().__init__(output)
        types = {column: _type_of(kinds.get(column, set())) for column in columns}
        self._texts = {column for column, kind in types.items() if kind == pa.string()}
        self._schema = pa.schema(list(types.items()))
        try:
            self._writer = pq.ParquetWriter(self._part, self._schema)
        except OSError:
            self._part.unlink(missing_ok=True)
            raise

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a row group."""
        arrays = [
            pa.array(
                [self._value(row.get(name), name) for row in rows], self._schema.field(name).type
            )
            for name in self._schema.names
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema))

    def _value(self, value: Any, column: str) -> Any:  # noqa: ANN401 - a JSON scalar
        return value if value is None or column not in self._texts else cell_of(value)

    def _close(self) -> None:
        self._writer.close()


def _type_of(kinds: set[str]) -> pa.DataType:
    found = kinds - {"null"}
    for wanted, type_ in _TYPES:
        if found and found <= wanted:
            return type_
    return pa.string()
