"""Writing linked tables: TSV, CSV and JSON lines, complete or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

from mirror_index import durable
from mirror_index.errors import UsageError
from mirror_index.readers.cells import plain_text, scalar_cell, text_flaw
from mirror_index.tables.outcomes import LinkedRow, LinkSource, added_names, distinct_names
from mirror_index.tables.sources import DelimitedTable

_BOM = "\ufeff"
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the rest stand for undecodable bytes


class Sink(Protocol):
    """Takes the rows of one linked table, in order."""

    def write(self, rows: Sequence[LinkedRow]) -> None:
        """Write a window of rows."""
        ...


class DelimitedSink:
    """TSV without quoting, or CSV as in RFC 4180.

    Rows of a table of the same kind are copied as they are spelled, line ends and byte order mark
    included, and only the answers are appended.
    """

    def __init__(self, stream: TextIO, table: LinkSource, kind: str) -> None:
        self._stream = stream
        self._mark = "," if kind == "csv" else "\t"
        self._quote = csv_cell if kind == "csv" else tsv_cell
        self._same = table.kind == kind
        self._width = len(table.columns)
        self._line = 1
        added = self._joined(added_names(table.columns))
        if self._same and isinstance(table, DelimitedTable):
            bom = _BOM if table.bom else ""
            self._put(f"{bom}{table.header}{self._mark}{added}{table.end}")
        else:
            names = self._joined(list(map(cell_text, table.columns)))
            self._put(f"{names}{self._mark}{added}\n")

    def write(self, rows: Sequence[LinkedRow]) -> None:
        """Append the answers to the rows."""
        for linked in rows:
            row = linked.row
            if row.blank:
                self._put(row.raw + row.end if self._same else "")
                continue
            spelled = self._same and row.problem is None
            before = row.raw if spelled else self._joined(list(map(cell_text, row.cells)))
            end = row.end if self._same else "\n"
            self._put(f"{before}{self._mark}{self._joined(linked.texts())}{end}")

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._line += text.count("\n")

    def _joined(self, cells: Sequence[str]) -> str:
        return self._mark.join(self._quote(cell, self._line) for cell in cells)


class JsonSink:
    """JSON lines; of JSON lines, each object keeps its spelling and gets the answer at its end."""

    def __init__(self, stream: TextIO, table: LinkSource) -> None:
        self._stream = stream
        self._same = table.kind == "jsonl"
        self._columns = distinct_names(table.columns)
        self._added = added_names(self._columns)

    def write(self, rows: Sequence[LinkedRow]) -> None:
        """Write an object a row."""
        for linked in rows:
            row = linked.row
            if row.blank:
                self._stream.write(row.raw + row.end if self._same else "")
                continue
            added = dict(zip(self._added, map(_rounded, linked.values()), strict=True))
            if self._same:
                self._stream.write(_extended(row.raw, added, row.problem is None) + row.end)
                continue
            cells = dict(zip(self._columns, map(_json_cell, row.cells), strict=True))
            self._stream.write(_json({**cells, **added}) + "\n")


def _extended(raw: str, added: dict[str, Any], is_object: bool) -> str:
    """Return the spelling of an object with further fields, or just these for what is none."""
    kept = raw.rstrip()[:-1] if is_object else ""
    if not kept.strip():
        return _json(added)
    separator = "" if kept.strip() == "{" else ", "
    return f"{kept.rstrip()}{separator}{_json(added)[1:]}"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _rounded(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _json_cell(value: object) -> object:
    """Return a cell as a JSON scalar, undecodable bytes spelled out."""
    if isinstance(value, str) and text_flaw(value):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return scalar_cell("", value)


def cell_text(value: object) -> str:
    """Return a cell as text: null is empty, true, false and halves of surrogates as in JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else plain_text(value)
    return text if text.isascii() else _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def csv_cell(cell: str, line: int) -> str:
    """Return a cell as CSV spells it, in quotes where it must be; `line` is not needed."""
    del line
    if any(mark in cell for mark in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def tsv_cell(cell: str, line: int) -> str:
    """Return a cell as TSV spells it, which is as it is.

    Raises:
        UsageError: it holds a tab or a line break; `line` is that of the output.
    """
    if any(mark in cell for mark in "\t\n\r"):
        raise UsageError(
            "TSV cannot hold a cell with a tab or a line break",
            value=cell,
            where=f"output line {line}",
            remedy="Write to a .csv or .jsonl file",
        )
    return cell


@contextmanager
def complete_file(output: Path) -> Iterator[Path]:
    """Yield a path to write to; the file appears under its own name when the block has succeeded.

    Raises:
        UsageError: the output exists, or its folder does not.
    """
    if output.exists() or output.is_symlink():
        raise UsageError(
            "the output exists already", value=str(output), remedy="Name a new file, or remove it"
        )
    if not output.parent.is_dir():
        raise UsageError(
            "the folder of the output does not exist", value=str(output), remedy="Make it first"
        )
    partial = output.with_name(f"{output.name}.partial")
    try:
        yield partial
        durable.sync_file(partial)
        partial.replace(output)
    finally:
        partial.unlink(missing_ok=True)


def open_text(path: Path) -> TextIO:
    """Open a new UTF-8 file that keeps line ends and undecodable bytes as they come."""
    return path.open("w", encoding="utf-8", errors="surrogateescape", newline="")
