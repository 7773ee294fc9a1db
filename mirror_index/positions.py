"""Text that remembers where its characters came from while it is rewritten."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """``text[start:end]`` becomes `new`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Tracked:
    """A text and, for each of its characters, the span of the original it stands for.

    Every method returns a new text; spans always refer to the first one. A character that was put
    in between two others has an empty span.
    """

    text: str
    spans: tuple[Span, ...]

    @classmethod
    def start(cls, text: str) -> Tracked:
        """Return a text whose characters stand for themselves."""
        return cls(text, tuple((place, place + 1) for place in range(len(text))))

    def sub(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]) -> Tracked:
        """Replace like ``re.sub``; letters that a replacement keeps at its ends stay in place."""
        return self.rewrite(
            self._trimmed(m.start(), m.end(), new if isinstance(new, str) else new(m))
            for m in pattern.finditer(self.text)
        )

    def each(self, change: Callable[[str], str]) -> Tracked:
        """Change every character by itself."""
        return self.rewrite(
            Piece(start=place, end=place + 1, new=change(char))
            for place, char in enumerate(self.text)
        )

    def clusters(self, change: Callable[[str], str]) -> Tracked:
        """Change every letter together with the marks that belong to it."""
        return self.rewrite(
            Piece(start=start, end=end, new=change(self.text[start:end]))
            for start, end in _clusters(self.text, change)
        )

    def rewrite(self, pieces: Iterable[Piece]) -> Tracked:
        """Replace pieces that do not overlap, given from left to right."""
        chars: list[str] = []
        spans: list[Span] = []
        done = 0
        for piece in pieces:
            chars.append(self.text[done : piece.start] + piece.new)
            spans += self.spans[done : piece.start]
            spans += [self.origin(piece.start, piece.end)] * len(piece.new)
            done = piece.end
        chars.append(self.text[done:])
        return Tracked("".join(chars), (*spans, *self.spans[done:]))

    def origin(self, start: int, end: int) -> Span:
        """Return the span of the original that ``text[start:end]`` stands for."""
        if start < end:
            return self.spans[start][0], self.spans[end - 1][1]
        place = self.spans[start - 1][1] if start else 0
        return place, place

    def _trimmed(self, start: int, end: int, new: str) -> Piece:
        """Leave out what old and new have in common at either end."""
        while start < end and new and self.text[start] == new[0]:
            start, new = start + 1, new[1:]
        while start < end and new and self.text[end - 1] == new[-1]:
            end, new = end - 1, new[:-1]
        return Piece(start=start, end=end, new=new)


def _clusters(text: str, change: Callable[[str], str]) -> Iterator[Span]:
    """Cut a text where changing the parts equals changing the whole (Hangul letters combine)."""
    start = 0
    for place in range(1, len(text) + 1):
        if place < len(text):
            if unicodedata.combining(text[place]):
                continue
            pair = text[start : place + 1]
            if change(pair) != change(pair[:-1]) + change(pair[-1]):
                continue
        yield start, place
        start = place
