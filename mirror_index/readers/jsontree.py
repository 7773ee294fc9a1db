"""Walking a large JSON text value by value, with the line of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonWalker:
    """A cursor on JSON text.

    `members` and `elements` enter an object or array; for each key or element the caller takes the
    value that follows, by `value` or by entering it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._decoder = json.JSONDecoder()
        self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        """The 1-based line of the next value."""
        self._skip()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    @property
    def next_is(self) -> str:
        """The first character of the next value, ``""`` at the end of the text."""
        self._skip()
        return self._text[self._at : self._at + 1]

    def value(self) -> object:
        """Return the next value.

        Raises:
            ValueError: it is not JSON; with the line and column.
            RecursionError: it is nested too deep.
        """
        self._skip()
        value, self._at = self._decoder.raw_decode(self._text, self._at)
        return value

    def members(self) -> Iterator[str]:
        """Enter the next value, an object, and yield its keys.

        Raises:
            ValueError: it is no object, or not JSON.
        """
        for _ in self._items("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                raise self._error("a key in double quotes is expected")
            self._take(":")
            yield key

    def elements(self) -> Iterator[int]:
        """Enter the next value, an array, and yield the line of each of its elements.

        Raises:
            ValueError: it is no array, or not JSON.
        """
        for _ in self._items("[", "]"):
            yield self.line

    def end(self) -> None:
        """Check that nothing follows.

        Raises:
            ValueError: something does.
        """
        if self.next_is:
            raise self._error("more than one value")

    def _items(self, opening: str, closing: str) -> Iterator[None]:
        self._take(opening)
        if self.next_is == closing:
            self._take(closing)
            return
        while True:
            yield
            if self.next_is == closing:
                self._take(closing)
                return
            self._take(",")

    def _take(self, wanted: str) -> None:
        if self.next_is != wanted:
            raise self._error(f"{wanted!r} is expected")
        self._at += 1

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _error(self, message: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self._text, self._at)
