"""Whether two keys are one slip of spelling apart.

A slip is one letter left out or added, one wrong letter, or two neighbours swapped (Damerau 1964),
in one word of five letters or more. Shorter words and digits are left alone: "type 1" and "type 2",
"ALT" and "AST" are one apart and different things. The names to compare with are those with the
most n-grams in common (`candidates`), which one slip leaves nearly all of.
"""

from __future__ import annotations

FEWEST_LETTERS = 5
MOST_BYTES = 4
"""How much longer in UTF-8 one slip can make a key."""


def one_slip(key: str, other: str) -> bool:
    """Whether `other` differs from the mention's `key` by one slip in one long word."""
    words, others = key.split(" "), other.split(" ")
    if len(words) != len(others) or abs(len(key) - len(other)) > 1:
        return False
    differing = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    return len(differing) == 1 and _slipped(*differing[0])


def _slipped(word: str, other: str) -> bool:
    if len(word) < FEWEST_LETTERS or not (word.isalpha() and other.isalpha()):
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    rest, mine = word[start:], other[start:]
    wrong = rest[1:] == mine[1:]
    swapped = rest[:2] == mine[:2][::-1] and rest[2:] == mine[2:]
    return wrong or swapped or rest[1:] == mine or rest == mine[1:]
