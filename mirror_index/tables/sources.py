"""Tables to link, read so that every byte can be given back: TSV, CSV and JSON lines.

Text is decoded as UTF-8 with `surrogateescape`, and each row keeps its spelling and its line end,
so that a table written in the format it came in differs by the added columns only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from mirror_index.errors import SourceError
from mirror_index.readers.cells import text_flaw
from mirror_index.readers.fields import RawRow, split_quoted, split_unquoted
from mirror_index.readers.source import Line
from mirror_index.tables.outcomes import TableRow
from mirror_index.tables.rawlines import count_lines, opened_lines, stream_lines

_BOM = "\ufeff"


class MentionList:
    """Mentions that come from no table, as one with the column `mention`."""

    def __init__(self, mentions: Sequence[str], name: str = "the mentions") -> None:
        self.kind = "list"
        self.name = name
        self.columns: Sequence[str] = ("mention",)
        self.total: int | None = len(mentions)
        self._mentions = mentions

    def windows(self, size: int) -> Iterator[Sequence[TableRow]]:
        """Yield a row a mention."""
        yield from _windowed(
            (TableRow(line=line, cells=(one,)) for line, one in enumerate(self._mentions, 1)), size
        )


class DelimitedTable:
    """TSV (a quote is a character like any other) or CSV (RFC 4180), with a header line.

    Column names may repeat. A stream can be read once.

    Attributes:
        header: the header line as it stands, without line end and byte order mark.
        bom: whether the file begins with a byte order mark.
    """

    def __init__(self, source: Path | BinaryIO, kind: str) -> None:
        self.kind = kind
        self.name = source.name if isinstance(source, Path) else "standard input"
        self._source = source
        self._ends: dict[int, str] = {}
        if isinstance(source, Path):
            with opened_lines(source, self.name) as lines:
                self._begin(self._split(lines))
        else:
            self._rest = self._split(stream_lines(source, self.name))
            self._begin(self._rest)
        self.total = count_lines(source) if isinstance(source, Path) else None

    def _begin(self, rows: Iterator[RawRow]) -> None:
        first = next(rows, None)
        if first is None:
            raise SourceError(
                "the table is empty", where=self.name, remedy="Begin with the names of the columns"
            )
        self.bom = first.content.startswith(_BOM)
        self.header = first.content.removeprefix(_BOM)
        self.end = self._end(first) or "\n"
        self.columns = self._columns(first)

    def _columns(self, first: RawRow) -> Sequence[str]:
        # A quote right after a byte order mark still opens a field.
        row = next(self._split(iter([self.header + "\n"]))) if self.bom else first
        flaw = row.problem or text_flaw(self.header)
        if flaw or not self.header:
            raise SourceError(
                f"the header cannot be read: {flaw or 'the line is empty'}",
                where=f"{self.name}, line 1",
                remedy="Begin with the names of the columns",
            )
        return row.fields

    def _split(self, lines: Iterator[str]) -> Iterator[RawRow]:
        numbered = self._numbered(lines)
        return split_quoted(numbered, ",") if self.kind == "csv" else split_unquoted(numbered, "\t")

    def _numbered(self, lines: Iterator[str]) -> Iterator[Line]:
        for number, line in enumerate(lines, 1):
            self._ends[number] = line[len(line.rstrip("\r\n")) :]
            yield Line(number, line)

    def _end(self, row: RawRow) -> str:
        """Return the line end after a row, and forget those before it."""
        last = row.line + (0 if row.problem else row.content.count("\n"))
        for number in range(row.line, last):
            self._ends.pop(number, None)
        return self._ends.pop(last, "")

    def windows(self, size: int) -> Iterator[Sequence[TableRow]]:
        """Yield the rows in order, `size` at a time."""
        if not isinstance(self._source, Path):
            yield from _windowed(map(self._row, self._rest), size)
            return
        with opened_lines(self._source, self.name) as lines:
            rows = self._split(lines)
            self._end(next(rows))
            yield from _windowed(map(self._row, rows), size)

    def _row(self, row: RawRow) -> TableRow:
        width = len(self.columns)
        end = self._end(row)
        if not row.content and width > 1:
            return TableRow(line=row.line, raw="", end=end, blank=True)
        cells = row.fields
        problem = row.problem
        if problem is not None:
            problem = f"{problem}; the line is {_shown(row.content)}"
            cells = ()
        elif len(cells) != width:
            problem = f"the row has {len(cells)} cells, the table has {width} columns"
            if len(cells) > width:
                problem += f"; those left over are {_shown(list(cells[width:]))}"
        padded = (*cells[:width], *[""] * (width - len(cells)))
        return TableRow(line=row.line, raw=row.content, end=end, cells=padded, problem=problem)


class JsonTable:
    """JSON lines: one object a line; the columns are all fields that occur.

    The file is read twice, once to learn its fields. A line that is no object is a bad row, an
    empty line is none.
    """

    def __init__(self, path: Path) -> None:
        self.kind = "jsonl"
        self.name = path.name
        self._path = path
        fields: dict[str, None] = {}
        rows = 0
        for _, line in self._lines():
            rows += 1
            fields.update(dict.fromkeys(_object(line)[0] or {}))
        self.columns: Sequence[str] = list(fields)
        self.total: int | None = rows

    def _lines(self) -> Iterator[tuple[int, str]]:
        with opened_lines(self._path, self.name) as text:
            for number, line in enumerate(text, 1):
                yield number, line.removeprefix(_BOM) if number == 1 else line

    def windows(self, size: int) -> Iterator[Sequence[TableRow]]:
        """Yield the rows in order, `size` at a time."""
        yield from _windowed((self._row(number, line) for number, line in self._lines()), size)

    def _row(self, number: int, line: str) -> TableRow:
        raw = line.rstrip("\r\n")
        end = line[len(raw) :]
        if not raw.strip():
            return TableRow(line=number, raw=raw, end=end, blank=True)
        values, problem = _object(raw)
        cells = tuple((values or {}).get(column) for column in self.columns)
        return TableRow(line=number, raw=raw, end=end, cells=cells, problem=problem)


def _object(line: str) -> tuple[dict[str, object] | None, str | None]:
    """Return the object of a line, or why there is none."""
    if not line.strip():
        return None, None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON ({error}); the line is {_shown(line.strip())}"
    if not isinstance(value, dict):
        return None, f"not a JSON object; the line is {_shown(line.strip())}"
    return value, None


def _shown(value: object) -> str:
    """Return a value as JSON, on one line, with undecodable bytes as lone surrogates spelled out.

    Nothing is shortened: for a row that does not fit its table this is the only copy.
    """
    text = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _windowed(rows: Iterator[TableRow], size: int) -> Iterator[Sequence[TableRow]]:
    while window := list(islice(rows, size)):
        yield window
