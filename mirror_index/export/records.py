"""Export: the records of one committed state as a table that `build` reads back.

The rows come in the order in which the records were first stored. Each has the record's `id` and
its `text` as the source spelt it, then its metadata. When all records are names of concepts there
are also `concept_id`, `concept_label`, `scope` and `name_type`, which make `build` a dictionary
again; where only some are, these columns are called `concept`, `concept_label`, `concept_scope` and
`concept_name_type`, for a table is either a dictionary or not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from mirror_index.errors import CollectionError, UsageError
from mirror_index.export.tables import CsvWriter, JsonlWriter, TsvWriter
from mirror_index.index.vectorfile import map_rows
from mirror_index.npy import NpyWriter
from mirror_index.progress import SILENT, Reporter
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE
from mirror_index.store.reading import ReadStore
from mirror_index.vectors import UnitRows

FORMATS = (".jsonl", ".csv", ".tsv", ".parquet")
_WINDOW = 4096
_DICTIONARY = ("concept_id", "concept_label", "scope", "name_type")
_MIXED = ("concept", "concept_label", "concept_scope", "concept_name_type")
_RESERVED = frozenset({"id", "_id", "text", "kind", *_DICTIONARY, *_MIXED})
_RECORDS = (
    "SELECT records.id, coalesce(records.raw, texts.text), records.concept_id, concepts.label, "
    "records.scope, records.name_type, records.metadata, records.text_row FROM records "
    "JOIN texts ON texts.row = records.text_row "
    "LEFT JOIN concepts ON concepts.id = records.concept_id ORDER BY records.key"
)

Row = dict[str, Any]


class TableWriter(Protocol):
    """Writes rows to a table that appears whole or not at all; a context manager."""

    def append(self, rows: Sequence[Row]) -> None:
        """Write rows; a column that a row lacks is empty in it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote.

    Attributes:
        output: the table.
        records: rows in it.
        columns: its columns, in order.
        renamed: metadata fields under another name, because theirs is that of a column.
        vectors: the file of vectors, None when there is none.
        generation: the state that was exported.
    """

    output: str
    records: int
    columns: tuple[str, ...]
    renamed: Mapping[str, str]
    vectors: str | None
    generation: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def export_collection(
    folder: Path, output: Path, *, vectors: Path | None = None, reporter: Reporter = SILENT
) -> ExportReport:
    """Write the records of a collection, and their vectors if wanted, a window at a time.

    Args:
        folder: the collection's folder.
        output: ``.jsonl`` (every value as it is), ``.csv``, ``.tsv`` or ``.parquet``; a new
            file.
        vectors: ``.npy`` file for (records, dim) float32 rows in the order of the table, not there
            yet; the ids go to ``<vectors>.ids.txt``.
        reporter: receives progress.

    Raises:
        UsageError: another ending, a file that is there already, or in a ``.tsv`` a value with a
            tab or a line break; nothing is left behind then.
        CollectionError: there is no collection, or the files cannot be written.
    """
    folder, output = Path(folder), Path(output)
    vectors = None if vectors is None else Path(vectors)
    for path, endings in ((output, FORMATS), (vectors, (".npy",))):
        if path is not None:
            _check_place(path, endings)
    store = ReadStore(folder / DATABASE)
    try:
        with store.snapshot() as generation:
            return _Export(folder, store.connection, generation).write(output, vectors, reporter)
    except OSError as error:
        raise CollectionError(
            f"the export cannot be written: {error.strerror or error}",
            where=str(error.filename or output),
            remedy="Free space, or export to another place; the collection is untouched",
        ) from error
    finally:
        store.close()


def _check_place(path: Path, endings: Sequence[str]) -> None:
    if path.suffix.lower() not in endings:
        raise UsageError(
            "the format of the output is not known by its name",
            value=str(path),
            remedy=f"Name a file that ends in {', '.join(endings)}",
        )
    if path.exists():
        raise UsageError(
            "the output is there already", value=str(path), remedy="Remove it or name another"
        )


class _Export:
    """The export of one committed state."""

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, generation: Generation
    ) -> None:
        self._connection = connection
        self._generation = generation
        self._folder = folder
        named = connection.execute(
            "SELECT count(*) FROM records WHERE concept_id IS NOT NULL"
        ).fetchone()[0]
        self._concept_columns: tuple[str, ...] = ()
        if named:
            self._concept_columns = _DICTIONARY if named == generation.live_records else _MIXED
        kinds = connection.execute(
            # A whole number beyond 64 bits counts as text.
            "SELECT DISTINCT json_each.key, iif(json_each.type = 'integer' "
            "AND typeof(json_each.value) != 'integer', 'text', json_each.type) FROM records, "
            "json_each(records.metadata) ORDER BY 1, 2"
        ).fetchall()
        self._kinds: dict[str, set[str]] = {}
        for name, kind in kinds:
            self._kinds.setdefault(name, set()).add(kind)
        self._names = _column_names(self._kinds)

    def write(self, output: Path, vectors: Path | None, reporter: Reporter) -> ExportReport:
        columns = ("id", "text", *self._concept_columns, *self._names.values())
        generation, count = self._generation, 0
        with ExitStack() as stack:
            rows_of = self._mapped(vectors)
            stack.push(lambda kind, *_: None if kind is None else output.unlink(missing_ok=True))
            matrix = None
            if vectors is not None:
                matrix = stack.enter_context(NpyWriter(vectors, generation.dim))
            # The table is finished first: vectors that then do not fit take it along.
            table = stack.enter_context(self._writer(output, columns))
            advance = stack.enter_context(
                reporter.stage("export", generation.live_records, "records")
            )
            records = self._connection.execute(_RECORDS)
            while window := records.fetchmany(_WINDOW):
                table.append([self._row(record) for record in window])
                if matrix is not None and rows_of is not None:
                    places = np.fromiter((record[-1] for record in window), np.int64, len(window))
                    matrix.append([record[0] for record in window], rows_of[places])
                count += len(window)
                advance(len(window))
        return ExportReport(
            output=str(output),
            records=count,
            columns=columns,
            renamed={name: column for name, column in self._names.items() if name != column},
            vectors=None if vectors is None else str(vectors),
            generation=generation.number,
        )

    def _mapped(self, vectors: Path | None) -> UnitRows | None:
        if vectors is None:
            return None
        generation = self._generation
        path = self._folder / generation.vector_file
        return map_rows(path, generation.vector_rows, generation.dim)

    def _writer(self, output: Path, columns: Sequence[str]) -> TableWriter:
        match output.suffix.lower():
            case ".jsonl":
                return JsonlWriter(output)
            case ".csv":
                return CsvWriter(output, columns)
            case ".tsv":
                return TsvWriter(output, columns)
        from mirror_index.export.parquet import ParquetWriter  # loads pyarrow

        kinds = {self._names[name]: kinds for name, kinds in self._kinds.items()}
        return ParquetWriter(output, columns, kinds)

    def _row(self, record: tuple[Any, ...]) -> Row:
        id_, text, *naming, metadata, _ = record
        row: Row = {"id": id_, "text": text}
        if self._concept_columns:
            row.update(zip(self._concept_columns, naming, strict=True))
        for name, value in json.loads(metadata).items():
            row[self._names[name]] = value
        return row


def _column_names(fields: Mapping[str, object]) -> dict[str, str]:
    """Return a column for each metadata field, none of which means something to `build`."""
    taken = {name for name in fields if name.lower() not in _RESERVED}
    names: dict[str, str] = {}
    for field in fields:
        name = field
        if field not in taken:
            name = f"metadata.{field}"
            while name in taken:
                name += "_"
            taken.add(name)
        names[field] = name
    return names
