"""Sentences of running text, by punctuation alone."""

from __future__ import annotations

import re
from bisect import bisect_right

_END = re.compile(r"(?<![.!?])[.!?]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]*[^\W_a-z])|\n[ \t\r]*\n")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|al|fig|figs|dr|mr|mrs|ms|prof|st|approx|ca|resp|spp|sp)"
    r"|(?<![^\W_])[A-Z])\.$",
    re.IGNORECASE,
)
_LONGEST = 8


class Sentences:
    """Tells the number of the sentence, from 0, that an offset lies in.

    A sentence ends with a full stop, question or exclamation mark before white space and a capital,
    digit or other letter without case, or with an empty line; initials and common abbreviations
    ("e.g.", "et al.", "Fig.") end none.
    """

    def __init__(self, text: str) -> None:
        self._starts = [0]
        for match in _END.finditer(text):
            stop = match.start() + 1
            if not _NO_END.search(text, max(0, stop - _LONGEST), stop):
                self._starts.append(match.end())

    def number(self, offset: int) -> int:
        """Return the number of the sentence that the character at `offset` belongs to."""
        return bisect_right(self._starts, offset) - 1
