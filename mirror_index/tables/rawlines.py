"""Lines of a text file as they stand: line ends, byte order mark and undecodable bytes included."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mirror_index.errors import SourceError
from mirror_index.readers.source import open_bytes, unreadable

_BLOCK = 1 << 16


@contextmanager
def opened_lines(path: Path, name: str) -> Iterator[Iterator[str]]:
    """Open a file and yield its lines, see `stream_lines`; gzip is seen by its first bytes.

    Raises:
        SourceError: it cannot be opened.
    """
    with open_bytes(path) as binary:
        yield stream_lines(binary, name)


def stream_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 stream with their ends, decoded with `surrogateescape`.

    Lines end with LF or CRLF; with CR when the beginning of the stream has no LF at all.

    Raises:
        SourceError: it cannot be read, or is UTF-16.
    """
    head = _read(stream, name)
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SourceError("the table is UTF-16", where=name, remedy="Convert it to UTF-8")
    mark = b"\r" if b"\n" not in head and b"\r" in head.rstrip(b"\r") else b"\n"
    block, rest = head, b""
    while block:
        *lines, rest = (rest + block).split(mark)
        for line in lines:
            yield (line + mark).decode("utf-8", "surrogateescape")
        block = _read(stream, name)
    if rest:
        yield rest.decode("utf-8", "surrogateescape")


def _read(stream: BinaryIO, name: str) -> bytes:
    try:
        return stream.read(_BLOCK)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(name, error) from error


def count_lines(path: Path) -> int | None:
    """Return the number of lines after the first, for a progress bar; None if compressed."""
    if path.suffix.lower() == ".gz":
        return None
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return max(0, lines - 1) or None
