"""Plain text: one text a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.readers.cells import RowError, rejected, text_cell
from mirror_index.readers.source import id_prefix, text_lines
from mirror_index.records import Record, SourceItem


def read_txt(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield one record per line, with an id such as ``names.txt:12`` by the line number.

    A line is text whatever it holds. Empty lines are skipped (and counted in the numbering); a
    source of zero bytes yields nothing.

    Raises:
        SourceError: the source cannot be read.
    """
    prefix = id_prefix(source)
    with text_lines(source, options.encoding) as lines:
        for line in lines:
            try:
                text = text_cell(line.body)
            except RowError as error:
                yield rejected(line.number, error.reason, line.text, skipped=error.skipped)
            else:
                yield Record(id=f"{prefix}{line.number}", text=text, line=line.number)
