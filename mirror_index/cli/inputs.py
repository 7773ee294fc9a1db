"""Queries and mentions from arguments, a file or standard input."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mirror_index.cli.streams import wait_for_input
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers.source import check_source, read_bytes


def text_of(argument: str) -> str:
    """Return an argument of the command line as the UTF-8 it is, whatever the locale.

    Where the locale is plain ASCII, Python hands over other bytes as lone surrogates.
    """
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def lines_of(given: Sequence[str], file: str | None) -> list[str]:
    """Return the texts given as arguments, else the lines of `file` or of standard input.

    A file may be packed with gzip. Lines end with LF or CRLF, with CR when there is no LF at all;
    no other character ends one.

    Raises:
        UsageError: both arguments and a file.
        SourceError: the file cannot be read as UTF-8.
    """
    if given and file is not None:
        raise UsageError(
            "texts were given both as arguments and as a file", value=file, remedy="Use one of them"
        )
    if given:
        return list(map(text_of, given))
    try:
        if file in (None, "-"):
            content = wait_for_input().read()
        else:
            check_source(str(file))
            content = read_bytes(str(file))
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"the input is not UTF-8: byte {error.start}", where=file or "standard input"
        ) from error
    lines = text.replace("\r\n", "\n").split("\n" if "\n" in text else "\r")
    return lines[:-1] if lines[-1] == "" else lines
