"""Standard input, output and error that are always there and take whatever text there is."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import BinaryIO

import click

_ANY_TEXT = "mirror_index.any_text"


def prepare_streams() -> None:
    """Make the standard streams UTF-8 whatever the locale, and put null devices for closed ones.

    Where a caller closed a stream, the next file that is opened, a vector file say, would take its
    number, and whatever a library prints would go into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=_ANY_TEXT)


def wait_for_input() -> BinaryIO:
    """Return standard input, and say that it is waited for where a person would have to type."""
    if sys.stdin.isatty():
        click.echo("Reading from standard input, to its end (Ctrl-D)", err=True)
    return sys.stdin.buffer


def any_text(error: UnicodeError) -> tuple[str | bytes, int]:
    """Pass bytes that are not UTF-8 through, and spell out half a surrogate pair as JSON does.

    The first come from names of files and arguments, the second from JSON.
    """
    if isinstance(error, UnicodeEncodeError):
        code = ord(error.object[error.start])
        passed = bytes([code - 0xDC00]) if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
        return passed, error.start + 1
    return codecs.lookup_error("surrogateescape")(error)


codecs.register_error(_ANY_TEXT, any_text)
