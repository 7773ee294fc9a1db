"""Opening a table to link by the ending of its name."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from mirror_index.errors import SourceError
from mirror_index.readers.source import check_source
from mirror_index.tables.outcomes import LinkSource
from mirror_index.tables.sources import DelimitedTable, JsonTable, MentionList

KINDS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def kind_of(path: Path) -> str:
    """Return the kind of a table by its name; ``.gz`` may follow.

    Raises:
        SourceError: no kind has this ending.
    """
    name = path.name.lower().removesuffix(".gz")
    for ending, kind in KINDS.items():
        if name.endswith(ending):
            return kind
    raise SourceError(
        "the name does not tell the format of the table",
        value=str(path),
        remedy=f"The endings are {', '.join(KINDS)}",
    )


def open_table(source: str | Path | BinaryIO | MentionList) -> LinkSource:
    """Open a table by its name; a binary stream is TSV, a list of mentions is one as it is.

    Raises:
        SourceError: missing, a folder, of unknown format, empty, or without a readable header.
    """
    if isinstance(source, MentionList):
        return source
    if not isinstance(source, str | Path):
        return DelimitedTable(source, "tsv")
    path = Path(source)
    if path.is_dir():
        raise SourceError(
            "the table is a folder", value=str(path), remedy="Name one file inside it"
        )
    check_source(path)
    kind = kind_of(path)
    if kind == "parquet":
        from mirror_index.tables.arrow import ParquetTable  # pyarrow is slow to load

        return ParquetTable(path)
    return JsonTable(path) if kind == "jsonl" else DelimitedTable(path, kind)
