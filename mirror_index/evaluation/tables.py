"""Tables of evaluation data: TSV without quoting, CSV with it, read as a stream of named cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mirror_index.errors import SourceError

Lines = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row: its 1-based line in the source and its cells by column name, as they stand there."""

    line: int
    cells: Mapping[str, str]


class Table:
    """A delimited UTF-8 text file with named columns; iterating reads it from the start.

    A ``.csv`` file is comma-separated and may quote fields; anything else is tab-separated, one row
    a line (LF or CRLF), and a double quote is a character like any other. Blank lines at the end of
    a table of several columns are not rows; a row with too few or too many cells is an error.

    Args:
        source: a file, or an open binary stream (tab-separated; its rows can be had once only).
        header: column names of a file that has no header line.

    Raises:
        SourceError: no such file, an empty file, a column named twice, a row with another number of
            cells than the header, or bytes that are not UTF-8 (the line is named).
    """

    def __init__(
        self, source: str | Path | BinaryIO, *, header: Sequence[str] | None = None
    ) -> None:
        self._source = Path(source) if isinstance(source, str | Path) else source
        self._is_csv = isinstance(self._source, Path) and self._source.suffix.lower() == ".csv"
        self._header = None if header is None else list(header)
        self._lines = None if isinstance(self._source, Path) else self._split(self._source)
        self.name = self._source.name if isinstance(self._source, Path) else "standard input"

    def __iter__(self) -> Iterator[TableRow]:
        """Yield the rows in order."""
        with self._opened() as lines:
            columns = self._columns(lines)
            blank: int | None = None
            for line, cells in lines:
                if len(columns) > 1 and cells in ([], [""]):
                    blank = blank or line
                    continue
                if blank is not None or len(cells) != len(columns):
                    self._ragged(blank or line, 0 if blank else len(cells), len(columns))
                yield TableRow(line=line, cells=dict(zip(columns, cells, strict=True)))

    def columns(self) -> list[str]:
        """Return the column names, reading no further than the header."""
        with self._opened() as lines:
            return list(self._columns(lines))

    @contextmanager
    def _opened(self) -> Iterator[Lines]:
        if not isinstance(self._source, Path):
            yield self._lines or iter(())
            return
        try:
            stream = self._source.open("rb")
        except OSError as error:
            raise SourceError(
                "cannot read the table", value=str(self._source), where=error.strerror
            ) from error
        with stream:
            yield self._split(stream)

    def _columns(self, lines: Lines) -> list[str]:
        if self._header is not None:
            return self._header
        columns = self._header_of(lines)
        if self._lines is not None:
            self._header = columns
        return columns

    def _header_of(self, lines: Lines) -> list[str]:
        first = next(lines, None)
        if first is None or first[1] in ([], [""]):
            raise SourceError("the table has no header line", where=self.name)
        columns = first[1]
        twice = sorted({column for column in columns if columns.count(column) > 1})
        if twice:
            raise SourceError(
                "a column is named twice",
                value=twice[0],
                where=f"{self.name}, line 1",
                remedy="Rename one of the two",
            )
        return columns

    def _split(self, stream: BinaryIO) -> Lines:
        if not self._is_csv:
            for number, text in enumerate(self._decoded(stream), start=1):
                yield number, text.split("\t")
            return
        reader = csv.reader((f"{text}\n" for text in self._decoded(stream)), strict=True)
        try:
            for cells in reader:
                yield reader.line_num, cells
        except csv.Error as error:
            raise SourceError(
                f"the CSV file is malformed ({error})",
                where=f"{self.name}, line {reader.line_num}",
                remedy="Check the quotes of this row, or give the table as TSV",
            ) from error

    def _decoded(self, stream: BinaryIO) -> Iterator[str]:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise SourceError(
                    "a line is not UTF-8",
                    value=raw[max(0, error.start - 20) : error.end + 20],
                    where=f"{self.name}, line {number}",
                    remedy="Convert the file to UTF-8",
                ) from error

    def _ragged(self, line: int, cells: int, columns: int) -> None:
        raise SourceError(
            f"a row has {cells} cells, the table has {columns} columns",
            where=f"{self.name}, line {line}",
            remedy="Give every row all columns, empty ones too",
        )


def require_columns(table: Table, columns: Sequence[str], chosen_by: str | None = None) -> None:
    """Check that a table has the columns; `chosen_by` says in the error how others are named.

    Raises:
        SourceError: a column is absent; the message lists the columns that are there.
    """
    there = table.columns()
    for column in columns:
        if column not in there:
            raise SourceError(
                "no such column",
                value=column,
                where=table.name,
                remedy=f"The table has: {', '.join(there)}"
                + (f". Choose columns with {chosen_by}" if chosen_by else ""),
            )
