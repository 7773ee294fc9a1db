"""Lines -> rows of fields for CSV and TSV, in a way that lets one bad row cost no other.

The quoted form is RFC 4180. The standard library's reader is not used because it swallows the rest
of a file after a quote that is never closed, stops at NUL characters and at long fields, skips
empty lines in silence, and merges rows when quotes are honoured where there are none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from mirror_index.readers.source import Line

QUOTE = '"'
# A record longer than this (in characters) is taken for a quote that was never closed.
RECORD_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """One row: where it began, how it was spelled, and its fields or what is wrong with it."""

    line: int
    content: str
    fields: tuple[str, ...] = ()
    problem: str | None = None


def split_unquoted(lines: Iterator[Line], delimiter: str) -> Iterator[RawRow]:
    """Yield a row per line; a quote is a character like any other."""
    for line in lines:
        body = line.body
        yield RawRow(line=line.number, content=body, fields=tuple(body.split(delimiter)))


def split_quoted(
    lines: Iterator[Line], delimiter: str, *, limit: int = RECORD_LIMIT
) -> Iterator[RawRow]:
    r"""Yield the rows of RFC 4180: a field may stand in double quotes, and then hold anything.

    A quote inside a quoted field is doubled; one inside an unquoted field (``5" pipe``) is an
    ordinary character. When a quoted field is not followed by a delimiter or the end of its line,
    or is never closed, only the line where its row began is given up: reading goes on at the next
    line, and until a line without a stray quote comes, lines with one are given up too, being
    leftovers of the broken row.
    """
    again: deque[Line] = deque()
    recovering = False
    while True:
        first = again.popleft() if again else next(lines, None)
        if first is None:
            return
        record = _Record(first, delimiter)
        while record.open:
            line = again.popleft() if again else next(lines, None)
            if line is None or record.length > limit:
                record.give_up()
                if line is not None:
                    again.appendleft(line)
                break
            record.feed(line)
        if record.problem is None and recovering and record.stray:
            record.problem = "a quote inside an unquoted field, right after a broken row"
        if record.problem is None:
            recovering = False
            yield RawRow(line=first.number, content=record.content(), fields=tuple(record.fields))
        else:
            recovering = True
            again.extendleft(reversed(record.lines[1:]))
            yield RawRow(line=first.number, content=first.body, problem=record.problem)


class _Record:
    """A row in the making, fed one physical line at a time while a quoted field is open."""

    def __init__(self, first: Line, delimiter: str) -> None:
        self.fields: list[str] = []
        self.lines: list[Line] = []
        self.length = 0
        self.open = False
        self.stray = False
        self.problem: str | None = None
        self._delimiter = delimiter
        self._parts: list[str] = []
        self._opened_at = first.number
        self.feed(first)

    def content(self) -> str:
        """Return the row as it stands in the source, without the last line end."""
        if len(self.lines) == 1:
            return self.lines[0].body
        return "".join(line.text for line in self.lines).rstrip("\r\n")

    def give_up(self) -> None:
        """Say that the open field is never closed."""
        self.problem = f"the quote opened on line {self._opened_at} is never closed"

    def feed(self, line: Line) -> None:
        """Take the next physical line of the row."""
        self.lines.append(line)
        self.length += len(line.text)
        body = line.body
        if not self.open and QUOTE not in body:
            self.fields.extend(body.split(self._delimiter))
            return
        position: int | None = 0
        if self.open:
            position = self._quoted(line, 0)
        while position is not None:
            position = self._field(line, body, position)

    def _field(self, line: Line, body: str, start: int) -> int | None:
        """Take the field at `start`; return where the next one starts, None at the line's end."""
        if body.startswith(QUOTE, start):
            self._opened_at = line.number
            return self._quoted(line, start + 1)
        end = body.find(self._delimiter, start)
        field = body[start:] if end < 0 else body[start:end]
        self.stray = self.stray or QUOTE in field
        self.fields.append(field)
        return None if end < 0 else end + 1

    def _quoted(self, line: Line, start: int) -> int | None:
        """Take the rest of a quoted field from `start`; return as `_field` does."""
        body = line.body
        at = body.find(QUOTE, start)
        while at >= 0 and body.startswith(QUOTE, at + 1):
            at = body.find(QUOTE, at + 2)
        self.open = at < 0
        if self.open:
            self._parts.append(line.text[start:])
            return None
        self._parts.append(line.text[start:at])
        self.fields.append("".join(self._parts).replace(QUOTE * 2, QUOTE))
        self._parts.clear()
        if at + 1 == len(body):
            return None
        if body.startswith(self._delimiter, at + 1):
            return at + 2
        self.problem = (
            f"text after the closing quote of a field that was opened on line {self._opened_at}"
        )
        return None
