"""CSV and TSV with a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers.cells import rejected, text_flaw
from mirror_index.readers.fields import RawRow, split_quoted, split_unquoted
from mirror_index.readers.layout import resolve_layout
from mirror_index.readers.rows import RowReader
from mirror_index.readers.source import empty_source, source_name, text_lines
from mirror_index.records import SourceItem

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}


def read_csv(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield the rows of a comma-separated file with a header; see `read_tsv` for what is common.

    Fields may be quoted as in RFC 4180, line breaks included, unless `options.quoting` is off.
    """
    return _read(source, options, ",", quoting=options.quoting)


def read_tsv(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield the rows of a tab-separated file with a header; a quote is a character like any other.

    Every value is text as it stands: ``NA``, ``null``, ``00601`` and ``1e5`` are names and ids.
    Rows with another number of fields than the header, with a NUL character or with bytes that
    cannot be decoded are rejected with the line they begin on; rows without text are skipped.

    Raises:
        SourceError: the source cannot be read, is empty, or has an unusable header.
    """
    return _read(source, options, "\t", quoting=False)


def _read(
    source: str | Path, options: ReadOptions, delimiter: str, *, quoting: bool
) -> Iterator[SourceItem]:
    with text_lines(source, options.encoding) as lines:
        split = split_quoted if quoting else split_unquoted
        rows = split(lines, delimiter)
        first = next(rows, None)
        if first is not None and first.content.strip() == f"sep={delimiter}":  # Excel writes this
            first = next(rows, None)
        columns = _header(first, source, delimiter)
        reader = RowReader(resolve_layout(columns, options, source_name(source)), source)
        for ordinal, row in enumerate(rows, 1):
            yield _item(reader, row, columns, ordinal)


def _item(reader: RowReader, row: RawRow, columns: Sequence[str], ordinal: int) -> SourceItem:
    if row.problem is not None:
        return rejected(row.line, row.problem, row.content)
    if not row.content.strip():
        return rejected(row.line, "the line is empty", row.content, skipped=True)
    if len(row.fields) != len(columns):
        reason = f"the row has {len(row.fields)} fields, the header has {len(columns)}"
        breaks = row.content.count("\n")
        if breaks:
            reason += f" (the row ends on line {row.line + breaks})"
        return rejected(row.line, reason, row.content)
    values = dict(zip(columns, row.fields, strict=True))
    return reader.item(values, ordinal=ordinal, line=row.line, content=row.content)


def _header(row: RawRow | None, source: str | Path, delimiter: str) -> list[str]:
    if row is None:
        raise empty_source(source)
    where = f"{source_name(source)}, line {row.line}"
    problem = row.problem or text_flaw(row.content)
    if problem is not None:
        raise SourceError(
            f"the header cannot be read: {problem}",
            where=where,
            remedy="Check that this is a table, and its encoding",
        )
    if not row.content.strip():
        raise SourceError(
            "the header line is empty", where=where, remedy="Begin with the names of the columns"
        )
    if len(row.fields) == 1:
        _check_delimiter(row.fields[0], delimiter, where)
    # The unnamed index column that data frames are often saved with still needs a name.
    return [field.strip() or f"column_{n}" for n, field in enumerate(row.fields, 1)]


def _check_delimiter(header: str, delimiter: str, where: str) -> None:
    """Refuse a header that is one column only because the file is separated by something else."""
    for other, called in _DELIMITERS.items():
        if other in header and other != delimiter:
            raise SourceError(
                f"the header has no {_DELIMITERS[delimiter]} but has {called}",
                value=header,
                where=where,
                remedy=f"Separate the columns by {_DELIMITERS[delimiter]} or name another format",
            )
