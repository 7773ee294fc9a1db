"""How many rows a source holds, as far as that is known before it is read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.readers.registry import detect_format
from mirror_index.readers.source import STDIN
from mirror_index.records import SourceSize

_LINE_FORMATS = frozenset(("txt", "csv", "tsv", "jsonl"))
_COUNTED_BYTES = 1 << 28
"""Files up to this size are read once to count their lines: a second or less."""
_BLOCK = 1 << 20


def size_of_source(source: str | Path, options: ReadOptions) -> SourceSize | None:
    """Return the number of rows of a file, counted or estimated; None when it cannot be known.

    Lines are counted in plain files up to 256 MB, and extrapolated from the first megabyte beyond
    that and in compressed ones; Parquet says it. Of other formats, of what an SQL query yields and
    of standard input nothing is known.
    """
    if str(source) == STDIN or not Path(source).is_file():
        return None
    path = Path(source)
    name = detect_format(path, options)
    if name == "parquet":
        from mirror_index.readers.parquet import row_count  # pyarrow takes a while to load

        rows = row_count(path)
        return None if rows is None else SourceSize(rows=rows, how="as the file says")
    return _lines(path) if name in _LINE_FORMATS else None


def _lines(path: Path) -> SourceSize | None:
    length = path.stat().st_size
    if path.suffix.lower() == ".gz":
        return _compressed_lines(path, length)
    with path.open("rb") as file:
        if length <= _COUNTED_BYTES:
            count = sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
            return SourceSize(rows=count + 1, how="lines counted")
        head = file.read(_BLOCK)
    return SourceSize(rows=_extrapolated(head, length / len(head)), how="estimated from its size")


def _compressed_lines(path: Path, length: int) -> SourceSize | None:
    try:
        with path.open("rb") as raw, gzip.open(raw) as file:
            head = file.read(_BLOCK)
            used = raw.tell()
    except (OSError, EOFError, zlib.error):
        return None  # reading it will say what is wrong
    whole = length / max(1, min(used, length)) if len(head) == _BLOCK else 1.0
    return SourceSize(rows=_extrapolated(head, whole), how="estimated from its compressed size")


def _extrapolated(head: bytes, times: float) -> int:
    return round((head.count(b"\n") + 1) * times)
