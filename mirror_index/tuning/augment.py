"""Altered copies of a string: the span mask of training, and what the card asks about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Alteration = Callable[[str, np.random.Generator], str]
_T = TypeVar("_T")
Span = tuple[int, int]
"""Start and stop of a piece of a text, in characters."""

_LETTERS_PER_TYPO = 12
_MAX_SHARE = 3


def mask_span(
    text: str, length: int, mask_token: str | None, generator: np.random.Generator
) -> str:
    """Replace one random span of characters by a single mask token.

    The span has `length` characters, or a third of the string (rounded down) where that is less, so
    that short names are masked too and never wholly; strings of one or two characters stay. Every
    position that the span fits at is equally likely, the end of the string included (random span
    masking, Liu et al. 2021, arXiv 2104.08027, section 2.1). No space is added around the mask
    token.

    Args:
        text: the string.
        length: characters to mask; 0 masks nothing.
        mask_token: the tokenizer's own; with None the span is dropped.
        generator: source of the position.
    """
    span = min(length, len(text) // _MAX_SHARE)
    if span == 0:
        return text
    start = int(generator.integers(len(text) - span + 1))
    return f"{text[:start]}{mask_token or ''}{text[start + span :]}"


def mask_units(
    text: str,
    units: Sequence[Span],
    length: int,
    mask_token: str | None,
    generator: np.random.Generator,
) -> str:
    """Replace one random run of words or tokens by a single mask token.

    Like `mask_span`: `length` units or a third of them, whichever is less, every run equally
    likely, all that lies between the first and the last unit of the run included.

    Args:
        text: the string.
        units: where its words or tokens stand, from left to right.
        length: units to mask; 0 masks nothing.
        mask_token: the tokenizer's own; with None the run is dropped.
        generator: source of the position.
    """
    run = min(length, len(units) // _MAX_SHARE)
    if run == 0:
        return text
    first = int(generator.integers(len(units) - run + 1))
    return f"{text[: units[first][0]]}{mask_token or ''}{text[units[first + run - 1][1] :]}"


def words_of(text: str) -> list[Span]:
    """Return where the words of a text stand: whatever white space sets apart."""
    return [match.span() for match in re.finditer(r"\S+", text)]


_NEIGHBOURS = {
    letter: row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for place, letter in enumerate(row)
}
_MARKS = "-,.'/"


def respell(text: str, generator: np.random.Generator) -> str:
    """Return `text` respelt in one place, in a way that none of the card's alterations does.

    A letter becomes its neighbour on the keyboard, a word changes its case, or a mark or space
    becomes another one; the three are equally likely where the text has a place for them.
    """
    kind = int(generator.integers(3))
    if kind == 0:
        places = [place for place, letter in enumerate(text) if letter.lower() in _NEIGHBOURS]
        return _replaced(text, places, lambda old: _NEIGHBOURS[old.lower()], generator)
    if kind == 1:
        start, stop = _choice(words_of(text) or [(0, 0)], generator)
        return f"{text[:start]}{text[start:stop].swapcase()}{text[stop:]}"
    places = [place for place, letter in enumerate(text) if letter in _MARKS or letter == " "]
    return _replaced(text, places, lambda _: _MARKS, generator)


def _replaced(
    text: str,
    places: Sequence[int],
    letters: Callable[[str], str],
    generator: np.random.Generator,
) -> str:
    if not places:
        return text
    place = _choice(places, generator)
    return f"{text[:place]}{_choice(letters(text[place]), generator)}{text[place + 1 :]}"


def _choice(options: Sequence[_T], generator: np.random.Generator) -> _T:
    return options[int(generator.integers(len(options)))]


def typos(text: str, generator: np.random.Generator) -> str:
    """Return `text` with one typing error, and one more for every 12 characters.

    An error swaps two neighbours, drops a character or doubles one, each equally likely.
    """
    characters = list(text)
    for _ in range(1 + len(text) // _LETTERS_PER_TYPO):
        place = int(generator.integers(max(len(characters) - 1, 1)))
        kind = int(generator.integers(3))
        if kind == 0:
            characters[place : place + 2] = characters[place : place + 2][::-1]
        elif kind == 1 and len(characters) > 1:
            del characters[place]
        else:
            characters.insert(place, characters[place])
    return "".join(characters)


def word_order(text: str, generator: np.random.Generator) -> str:
    """Return `text` without one of its words and with two others swapped.

    Two words are swapped and both kept; a single word stays.
    """
    words = text.split(" ")
    if len(words) > 2:
        del words[int(generator.integers(len(words)))]
    if len(words) > 1:
        first, second = generator.choice(len(words), size=2, replace=False)
        words[first], words[second] = words[second], words[first]
    return " ".join(words)


def gap(text: str, generator: np.random.Generator) -> str:
    """Return `text` without one span of a third of its characters."""
    return mask_span(text, len(text), None, generator)


ALTERATIONS: Mapping[str, Alteration] = {"typos": typos, "words": word_order, "gap": gap}
"""What the card alters held-out strings by; "gap" resembles the span mask of training."""
