"""Spellings one slip away from a mention's key, to be looked up among the keys of the dictionary.

A slip is one letter left out or added, one wrong letter, or two neighbours swapped (Damerau 1964),
in one word of five letters or more. Shorter words and digits are left alone: "type 1" and "type 2",
"ALT" and "AST" are one apart and different things.
"""

from __future__ import annotations

import string
from collections.abc import Iterator

FEWEST_LETTERS = 5


def respellings(key: str) -> Iterator[str]:
    """Yield the keys that differ from `key` by one slip in one long word; never the key itself."""
    words = key.split(" ")
    for place, word in enumerate(words):
        if len(word) < FEWEST_LETTERS or not word.isalpha():
            continue
        for other in _slips(word):
            if other != word:
                yield " ".join([*words[:place], other, *words[place + 1 :]])


def _slips(word: str) -> Iterator[str]:
    for cut in range(len(word) + 1):
        head, tail = word[:cut], word[cut:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in string.ascii_lowercase:
            if tail:
                yield head + letter + tail[1:]
            yield head + letter + tail
