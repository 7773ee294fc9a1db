"""Tables written row by row, whole or not at all; text in the dialects that `readers` read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from mirror_index import durable
from mirror_index.errors import UsageError

_QUOTED = frozenset('",\r\n')
_UNTABBED = frozenset("\t\r\n")


class WholeFile(ABC):
    """A file that is put in its place when the block ends well, and removed when it does not."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._part = output.with_name(output.name + ".part")
        output.parent.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def _close(self) -> None:
        """Write what is held back, and close the part."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as undo:
            undo.callback(self._give_up)
            if kind is None:
                self._close()  # a full disk may be met only here
                durable.sync_file(self._part)
                durable.rename(self._part, self._output)
                undo.pop_all()

    def _give_up(self) -> None:
        with suppress(OSError):  # what is left in its buffer may not fit on the disk
            self._close()
        self._part.unlink(missing_ok=True)


class _TextWriter(WholeFile):
    def __init__(self, output: Path) -> None:
        super().__init__(output)
        self._file: TextIO = self._part.open("w", encoding="utf-8", newline="")

    def _close(self) -> None:
        self._file.close()


class JsonlWriter(_TextWriter):
    """One object a line, every value as it is stored."""

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows."""
        self._file.writelines(
            json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows
        )


class CsvWriter(_TextWriter):
    """RFC 4180 with a header; an empty cell also stands for a value that is not there."""

    def __init__(self, output: Path, columns: Sequence[str]) -> None:
        super().__init__(output)
        self._columns = columns
        try:
            self._write(columns)
        except UsageError:
            self._give_up()
            raise

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows."""
        for row in rows:
            self._write([cell_of(row.get(column)) for column in self._columns])

    def _write(self, cells: Sequence[str]) -> None:
        quoted = (
            '"' + cell.replace('"', '""') + '"' if _QUOTED.intersection(cell) else cell
            for cell in cells
        )
        self._file.write(",".join(quoted) + "\n")


class TsvWriter(CsvWriter):
    """Tabs and a header, without any quoting."""

    def _write(self, cells: Sequence[str]) -> None:
        for column, cell in zip(self._columns, cells, strict=True):
            if _UNTABBED.intersection(cell):
                raise UsageError(
                    "a .tsv cannot hold a tab or a line break",
                    value=cell,
                    where=f"column {column!r}, record {cells[0]}",
                    remedy="Export to .csv, .jsonl or .parquet",
                )
        self._file.write("\t".join(cells) + "\n")


def cell_of(value: Any) -> str:  # noqa: ANN401 - a JSON scalar
    """Return a metadata value as the text of a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
