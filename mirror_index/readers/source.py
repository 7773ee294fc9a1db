"""Opening a source: a path or standard input, plain or gzip, as numbered physical lines of text."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mirror_index.errors import SourceError, UsageError

STDIN = "-"
UMLS_FILES = ("MRCONSO.RRF", "MRCONSO.RRF.gz")
_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PEEK = 65_536
_BINARY = {
    b"PK\x03\x04": "a ZIP archive, as .xlsx, .ods and .docx are",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document (.xls, .doc)",
    b"%PDF-": "a PDF",
    b"SQLite format 3\0": "an SQLite database",
    b"PAR1\x15": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ\0": "packed with xz",
    b"\x28\xb5\x2f\xfd": "packed with zstd",
}
_KEEP_BYTES = "mirror_index.keep_bytes"


def _keep_bytes(error: UnicodeError) -> tuple[str, int]:
    """Turn undecodable bytes into lone surrogates, so that they cost one row and can be shown.

    Like `surrogateescape`, but also for bytes below 0x80, which UTF-16 and UTF-32 can fail on.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(chr(0xDC00 + byte) for byte in bad), error.end


codecs.register_error(_KEEP_BYTES, _keep_bytes)


@dataclass(frozen=True, slots=True)
class Line:
    """One physical line: its 1-based number, and its text with the line end as it stands."""

    number: int
    text: str

    @property
    def body(self) -> str:
        """The text without its line end."""
        return self.text.rstrip("\r\n")


def source_name(source: str | Path) -> str:
    """Return how messages call the source."""
    return "standard input" if str(source) == STDIN else str(source)


def id_prefix(source: str | Path) -> str:
    r"""Return what precedes the number in the id of a row without one: ``names.txt:``, ``stdin:``.

    The file's name without its folder tells the rows of several files of one collection apart. A
    byte of the name that is not UTF-8 is spelled out (``\\xe9``), as an id must be storable.
    """
    name = "stdin" if str(source) == STDIN else Path(source).name
    return os.fsencode(name).decode("utf-8", "backslashreplace") + ":"


def source_file(source: str | Path) -> str | Path:
    """Return the file of a source: ``MRCONSO.RRF`` for a folder of the UMLS, else the source."""
    if str(source) != STDIN and Path(source).is_dir():
        for inner in ("", "META"):
            for name in UMLS_FILES:
                file = Path(source) / inner / name
                if file.is_file():
                    return file
    return source


def check_source(source: str | Path) -> None:
    """Refuse what cannot be a source at all.

    Raises:
        SourceError: the path does not exist or is a folder.
    """
    if str(source) == STDIN:
        return
    path = Path(source)
    if path.is_dir():
        raise SourceError(
            "the source is a folder, and not one of the UMLS (with MRCONSO.RRF)",
            value=str(path),
            remedy="Name one file inside it",
        )
    if not path.exists():
        raise SourceError("no such file", value=str(path), remedy="Check the path")


def check_file(source: str | Path) -> Path:
    """Return the path of a source that must be a non-empty file, not a stream (parquet, sqlite).

    Raises:
        SourceError: standard input, or a file of zero bytes.
    """
    if str(source) == STDIN:
        raise SourceError(
            "this format cannot be read from standard input",
            remedy="Save it to a file and name that, or pipe txt, csv, tsv, jsonl or obo",
        )
    path = Path(source)
    if path.stat().st_size == 0:
        raise empty_source(source)
    return path


def empty_source(source: str | Path) -> SourceError:
    """Return the error for a source that holds nothing although its format asks for a header."""
    return SourceError(
        "the source is empty",
        where=source_name(source),
        remedy="Check that the file was written completely",
    )


@contextmanager
def open_bytes(source: str | Path) -> Iterator[io.BufferedReader]:
    """Open a source and yield its bytes, unpacked when they begin like gzip.

    Raises:
        SourceError: the file cannot be opened or read, is a broken gzip, or no text at all.
    """
    with ExitStack() as stack:
        binary = _open_binary(source, stack)
        if peek(binary, source)[:2] == _GZIP_MAGIC:
            packed = gzip.GzipFile(fileobj=binary, mode="rb")
            binary = io.BufferedReader(cast(io.RawIOBase, packed), _PEEK)
        _check_text(peek(binary, source), source)
        yield binary


def _check_text(head: bytes, source: str | Path) -> None:
    """Refuse what begins as no text does: its bytes would become rows."""
    for mark, kind in _BINARY.items():
        if head.startswith(mark) and (mark != b"BZh" or head[4:10] == b"1AY&SY"):
            raise SourceError(
                f"the source is not text but {kind}",
                where=source_name(source),
                remedy="Save it as text (a table as CSV), unpack it, or name the right format",
            )


def read_bytes(source: str | Path) -> bytes:
    """Return all bytes of a source, unpacked when they begin like gzip.

    Raises:
        SourceError: the file cannot be opened or read, or is a broken gzip.
    """
    with open_bytes(source) as binary:
        try:
            return binary.read()
        except (OSError, EOFError, zlib.error) as error:
            raise unreadable(source, error) from error


@contextmanager
def text_lines(source: str | Path, encoding: str) -> Iterator[Iterator[Line]]:
    """Open a text source and yield an iterator over its lines; gzip is seen by its first bytes.

    Lines end with LF or CRLF (with CR when the beginning of the source has no LF at all); no other
    character ends one. A byte order mark is dropped. Bytes that `encoding` cannot decode arrive as
    lone surrogates (see `cells.text_flaw`), so one bad byte costs one row.

    Raises:
        SourceError: the file cannot be opened or read, is a broken gzip, or is UTF-16 read as
            UTF-8.
        UsageError: no such character encoding.
    """
    check_encoding(encoding)
    with open_bytes(source) as binary, ExitStack() as stack:
        head = peek(binary, source)
        if head[:2] in _UTF16_MARKS and codecs.lookup(encoding).name.startswith("utf-8"):
            raise SourceError(
                "the source begins with the byte order mark of UTF-16",
                where=source_name(source),
                remedy="Read it with the encoding utf-16",
            )
        newline = "\r" if b"\n" not in head and b"\r" in head.rstrip(b"\r") else "\n"
        text = io.TextIOWrapper(binary, encoding=encoding, errors=_KEEP_BYTES, newline=newline)
        # Detached, not closed: standard input stays open, and the stack closes what it opened.
        stack.callback(text.detach)
        yield _numbered(text, source)


def check_encoding(encoding: str) -> None:
    """Refuse a character encoding that does not exist.

    Raises:
        UsageError: no such encoding.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    except LookupError as error:
        raise UsageError(
            "unknown character encoding", value=encoding, remedy="Try utf-8, utf-16 or latin-1"
        ) from error


def _open_binary(source: str | Path, stack: ExitStack) -> io.BufferedReader:
    if str(source) == STDIN:
        return _standard_input(stack)
    try:
        binary = io.BufferedReader(io.FileIO(Path(source)), _PEEK)
    except OSError as error:
        raise unreadable(source, error) from error
    stack.callback(binary.close)
    return cast(io.BufferedReader, binary)


def _standard_input(stack: ExitStack) -> io.BufferedReader:
    binary = sys.stdin.buffer
    if isinstance(binary, io.BufferedReader):
        return binary
    # A program that replaced standard input, by bytes in memory for one.
    wrapped = io.BufferedReader(cast(io.RawIOBase, binary))
    stack.callback(wrapped.detach)
    return cast(io.BufferedReader, wrapped)


def peek(binary: io.BufferedReader, source: str | Path) -> bytes:
    """Return some bytes that come next, none at the end, without taking them.

    Raises:
        SourceError: they cannot be read.
    """
    try:
        return binary.peek(_PEEK)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(source, error) from error


def _numbered(text: io.TextIOWrapper, source: str | Path) -> Iterator[Line]:
    number = 0
    try:
        for number, line in enumerate(text, 1):
            kept = line.removeprefix("\ufeff") if number == 1 else line
            if kept:  # a source that is nothing but a byte order mark has no line
                yield Line(number, kept)
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise unreadable(source, error, after_line=number) from error


def unreadable(
    source: str | Path, error: Exception, *, after_line: int | None = None
) -> SourceError:
    """Return the error for a source that the system, gzip or a codec cannot read (further)."""
    name = source_name(source)
    return SourceError(
        f"the source cannot be read: {error}",
        where=name if after_line is None else f"{name}, after line {after_line}",
        remedy="Check its permissions and that it is complete",
    )
