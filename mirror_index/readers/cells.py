"""Single values of a row: which can be stored, how they become text, ids and JSON scalars."""

from __future__ import annotations

import json
import math
import re
from datetime import date, time

from mirror_index.records import Rejected, Scalar

EXCERPT = 200
# NUL ends a string for C code below SQLite; a lone surrogate has no UTF-8 form.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class RowError(Exception):
    """One row cannot be taken; `skipped` marks the harmless kind (an empty text, a repeat)."""

    def __init__(self, reason: str, *, skipped: bool = False) -> None:
        self.reason = reason
        self.skipped = skipped
        super().__init__(reason)


def text_flaw(text: str) -> str | None:
    """Return why a string cannot be stored (NUL, undecodable byte, lone surrogate), or None."""
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    code = ord(found[0])
    if code == 0:
        return "holds a NUL character"
    if 0xDC00 <= code <= 0xDCFF:
        return f"holds the byte 0x{code - 0xDC00:02X}, which the encoding cannot decode"
    return f"holds the lone surrogate U+{code:04X}"


def excerpt(text: str) -> str:
    """Return at most 200 characters of a rejected row, with unstorable characters spelled out."""
    shown = text[:EXCERPT].rstrip("\r\n")
    return _UNSTORABLE.sub(_spelled, shown)[:EXCERPT]


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0 or 0xDC00 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}"


def rejected(line: int, reason: str, content: str, *, skipped: bool = False) -> Rejected:
    """Return the row as a `Rejected` with its excerpt."""
    return Rejected(line=line, reason=reason, content=excerpt(content), skipped=skipped)


def text_cell(value: object) -> str:
    """Return the text of a row exactly as it stands.

    Raises:
        RowError: no string, not storable; or (skipped) null, empty or only white space.
    """
    if value is None:
        raise RowError("the text is empty", skipped=True)
    if not isinstance(value, str):
        raise RowError(f"the text is not a string but {_type_name(value)}")
    if not value.strip():
        raise RowError("the text is empty", skipped=True)
    _check_storable("the text", value)
    return value


def id_cell(value: object, what: str) -> str:
    """Return an id as text: whole numbers as written, strings without surrounding white space.

    Raises:
        RowError: null, empty, neither a string nor a whole number, or not storable.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise RowError(f"the {what} is neither text nor a whole number but {_type_name(value)}")
    if value is None or not value.strip():
        raise RowError(f"the {what} is empty")
    _check_storable(f"the {what}", value)
    return value.strip()


def scalar_cell(name: str, value: object) -> Scalar:
    """Return a metadata value as a JSON scalar.

    Strings, whole numbers, booleans and null stay what they are. NaN, which JSON lacks, becomes
    null and an infinity the text ``Infinity`` or ``-Infinity``. Bytes become hexadecimal text,
    dates and times ISO 8601 text, lists and objects JSON text.

    Raises:
        RowError: a string that cannot be stored.
    """
    if isinstance(value, str):
        _check_storable(f"field {name!r}", value)
        return value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return _finite(value)
    text = plain_text(value)
    _check_storable(f"field {name!r}", text)
    return text


def plain_text(value: object) -> str:
    """Return a value that is no JSON scalar as text."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=plain_text)
    return str(value)


def _finite(value: float) -> Scalar:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _check_storable(what: str, text: str) -> None:
    flaw = text_flaw(text)
    if flaw is not None:
        raise RowError(f"{what} {flaw}")


def _type_name(value: object) -> str:
    names: dict[type, str] = {
        bool: "a boolean",
        int: "a whole number",
        float: "a number",
        list: "a list",
        dict: "an object",
        bytes: "binary data",
    }
    return names.get(type(value), f"a {type(value).__name__}")
