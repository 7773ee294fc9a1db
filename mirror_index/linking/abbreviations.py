"""Abbreviations that a text defines itself: "thyroid receptor (TR)", "TR (thyroid receptor)".

The method is that of Schwartz and Hearst, "A simple algorithm for identifying abbreviation
definitions in biomedical text" (PSB 2003): the characters of a short form in parentheses are looked
for from right to left in the words before it, and the first one has to begin a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mirror_index.characters import GREEK, strip_accents

_LONGEST_SHORT = 10
_MOST_WORDS = 2
_LONGEST_WINDOW = 400
_BRACKETED = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_QUOTES = "\"'“”„‘’«»`*"
_FIRST_PART = re.compile(r"[,;]|\s+or\s|\s+and\s")
_LEAD = re.compile(
    r"\s*(?:(?:also|hereafter|henceforth|here|commonly|abbreviated|termed|called|known as|"
    r"referred to as|the|as|i\.e\.,?|or)\s+)*",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[.!?;:]\s+(?=[^a-z\s])|[;:]\s|\n\s*\n|\r\n\s*\r\n")
_CITATION = re.compile(
    r"\bet\s+al\b|\b(?:19|20)\d\d\b|[=<>≤≥]|^\s*(?:fig|table|ref|see|eq)\b", re.I
)
_BEFORE = re.compile(r"(\S+)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A short form and what a text says it stands for; ``text[start:end]`` is each of them.

    Attributes:
        short: the short form, as the text spells it where it is defined.
        long: the long form, as the text spells it.
        short_start: offset of the short form, in code points.
        short_end: offset after the short form.
        long_start: offset of the long form.
        long_end: offset after the long form.
    """

    short: str
    long: str
    short_start: int
    short_end: int
    long_start: int
    long_end: int


def definitions(text: str) -> tuple[Definition, ...]:
    """Return the abbreviations that a text defines, in the order of their parentheses.

    A short form has two to ten characters (one is taken for a symbol), two words at most, begins
    with a letter or digit and holds a letter. One without a capital must be the initials of its
    long form: "base pairs (bp)". Citations, "n = 5" and the like define nothing.
    """
    return tuple(_found(text))


def _found(text: str) -> Iterator[Definition]:
    for match in _BRACKETED.finditer(text):
        group = 1 if match.group(1) is not None else 2
        found = _inside(text, match, group) or _outside(text, match, group)
        if found is not None:
            yield found


def _inside(text: str, match: re.Match[str], group: int) -> Definition | None:
    """Take what stands in the brackets as the short form, its long form before them."""
    start, end = _short_span(text, *match.span(group))
    short = text[start:end]
    if not _is_short(short):
        return None
    letters = _singular(short)
    before = _window(text, match.start(), _words_allowed(letters))
    place = _long_start(letters, text[before : match.start()])
    if place is None:
        return None
    stop = before + len(text[before : match.start()].rstrip())
    return _checked(text, (start, end), (before + place, stop))


def _outside(text: str, match: re.Match[str], group: int) -> Definition | None:
    """Take the word before the brackets as the short form, its long form within them."""
    before = _BEFORE.search(text, max(0, match.start() - 3 * _LONGEST_SHORT), match.start())
    if before is None:
        return None
    start, end = _trimmed(text, *before.span(1))
    short = text[start:end]
    opening, close = match.span(group)
    cut = re.search(r"[,;]", text[opening:close])
    opening, close = _trimmed(text, opening, opening + cut.start() if cut else close)
    opening = _LEAD.match(text, opening, close).end()  # type: ignore[union-attr]
    long = text[opening:close]
    if not _is_short(short) or not any(map(str.isupper, short)) or _CITATION.search(long):
        return None
    letters = _singular(short)
    # Here the whole of the brackets is the definition: it has to begin where the match begins.
    if len(long.split()) > _words_allowed(letters) or _long_start(letters, long) != 0:
        return None
    return _checked(text, (start, end), (opening, close))


def _short_span(text: str, start: int, end: int) -> tuple[int, int]:
    start = _LEAD.match(text, start, end).end()  # type: ignore[union-attr]
    cut = _FIRST_PART.search(text, start, end)
    return _trimmed(text, start, cut.start() if cut else end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in _QUOTES + "(["):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in _QUOTES + ",;:"):
        end -= 1
    return start, end


def _is_short(short: str) -> bool:
    return (
        2 <= len(short) <= _LONGEST_SHORT
        and len(short.split()) <= _MOST_WORDS
        and short[0].isalnum()
        and any(map(str.isalpha, short))
        and _CITATION.search(short) is None
    )


def _singular(short: str) -> str:
    """Return "TR" for the plural "TRs"."""
    return short[:-1] if len(short) > 2 and short[-1] == "s" and short[-2].isupper() else short


def _words_allowed(short: str) -> int:
    return min(len(short) + 5, 2 * len(short))


def _window(text: str, end: int, words: int) -> int:
    """Return where the last `words` words of the sentence that goes on to `end` begin."""
    start = max(0, end - _LONGEST_WINDOW)
    while 0 < start < end and not text[start - 1].isspace():
        start += 1
    for match in _BREAK.finditer(text, start, end):
        start = match.end()
    begins = [word.start() for word in re.finditer(r"\S+", text[start:end])]
    return start + begins[-words] if len(begins) > words else start + (begins[0] if begins else 0)


def _long_start(short: str, before: str) -> int | None:
    """Return where the long form of `short` begins in the words before it (Schwartz-Hearst)."""
    place = len(before)
    for index in range(len(short) - 1, -1, -1):
        letter = _letter(short[index])
        if not letter.isalnum():
            continue
        place -= 1
        while place >= 0 and not (
            _letter(before[place]) == letter and (index > 0 or _begins_word(before, place))
        ):
            place -= 1
        if place < 0:
            return None
    # A long form starts with a whole word: "6-phosphate" belongs to "glucose-6-phosphate".
    while place > 0 and not before[place - 1].isspace():
        place -= 1
    while place < len(before) and not before[place].isalnum():
        place += 1
    return place


@lru_cache(maxsize=4096)
def _letter(char: str) -> str:
    """Return a letter as it is compared: small, without accents, Greek by its Latin initial."""
    base = strip_accents(char.lower())[:1]
    return GREEK.get(base, base)[:1]


def _begins_word(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()


def _checked(text: str, short: tuple[int, int], long: tuple[int, int]) -> Definition | None:
    """Return the definition, None when the long form cannot be one."""
    name, meaning = text[slice(*short)], text[slice(*long)]
    words = meaning.split()
    if (
        len(meaning) <= len(name)
        or name in words
        or any(meaning.count(a) != meaning.count(b) for a, b in ("()", "[]"))
        or (not any(map(str.isupper, name)) and not _are_initials(name, meaning))
    ):
        return None
    return Definition(
        short=name,
        long=meaning,
        short_start=short[0],
        short_end=short[1],
        long_start=long[0],
        long_end=long[1],
    )


def _are_initials(short: str, long: str) -> bool:
    words = re.split(r"[\s-]+", long)
    return [word[0].lower() for word in words if word] == list(short.lower())


def expansions(mention: str, found: Sequence[Definition]) -> str | None:
    """Return a mention with its defined short forms written out, None when it holds none.

    A short form is replaced as a whole word, in the spelling of the text or in its plural; where
    the mention defines it itself ("long form (LF) disease") the parenthesis goes. The last
    definition of a short form counts.
    """
    expanded = _without_definitions(mention)
    meanings = {}
    for one in found:
        meanings[_singular(one.short)] = one.long
    if meanings:
        shorts = "|".join(map(re.escape, sorted(meanings, key=len, reverse=True)))
        pattern = re.compile(rf"(?<![^\W_])({shorts})s?(?![^\W_])")
        expanded = pattern.sub(lambda match: meanings[match.group(1)], expanded)
    return expanded if expanded != mention else None


def _without_definitions(mention: str) -> str:
    for one in reversed(definitions(mention)):
        if one.long_start < one.short_start:
            tail = mention[one.short_end :].partition(")")[2]
            mention = mention[: one.long_end] + tail
    return mention
