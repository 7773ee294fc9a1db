"""The key of a name: the form under which two spellings of one name are the same exact match.

The key is strict on purpose. It undoes differences of typing (case, accents, quotes, dashes,
spaces, possessives, spelled-out Greek letters, roman numerals), never differences of wording: there
is no stemming, no plural folding, no dropping of words and no re-ordering, because what the key
merges is answered as an exact match. Wording is the business of the encoder.

Rules run in a fixed order, each a pure function of the text so far; `normalise_trace` records what
each one changed. Standard library only: this is on the path of every query.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from mirror_index import characters
from mirror_index.errors import UsageError
from mirror_index.positions import Piece, Span, Tracked

NAME_KEY_VERSION = 2
"""Raised whenever any key changes; stored keys of another version have to be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStep:
    """One rule that changed the text: its name, and the text before and after."""

    rule: str
    before: str
    after: str

    @property
    def positions(self) -> tuple[Span, ...]:
        """For each character of `after`, the span of `before` it stands for."""
        return _TRACKED[self.rule](Tracked.start(self.before)).spans

    def __str__(self) -> str:
        """Return the step as a line for people."""
        return f"{self.rule}: {self.before!r} -> {self.after!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalisedName:
    """A key and the steps that led to it; reading the steps backwards restores the raw spelling."""

    key: str
    steps: tuple[NameStep, ...]

    def original_span(self, start: int, end: int) -> Span:
        """Return the span of the raw text that ``key[start:end]`` was made of, in code points.

        Raises:
            UsageError: an empty span, or one that is not within the key.
        """
        if not 0 <= start < end <= len(self.key):
            raise UsageError(
                "no such span of the key",
                value=(start, end),
                remedy=f"Spans lie within 0 and {len(self.key)} and hold a character at least",
            )
        for step in reversed(self.steps):
            positions = step.positions
            start, end = positions[start][0], positions[end - 1][1]
        return start, end


def name_key(text: str) -> str:
    """Return the key of a name; applying it twice changes nothing more.

    It is ``""`` exactly when the text holds no letter and no digit (XML escapes undone).
    """
    for _, rule in _ASCII_RULES if text.isascii() else _RULES:
        text = rule(text)
    return text


def normalise_trace(text: str) -> NormalisedName:
    """Return the same key as `name_key`, with every step that changed the text."""
    steps: list[NameStep] = []
    for name, rule in _ASCII_RULES if text.isascii() else _RULES:
        after = rule(text)
        if after != text:
            steps.append(NameStep(rule=name, before=text, after=after))
        text = after
    return NormalisedName(key=text, steps=tuple(steps))


_POSSESSIVE = re.compile(r"(?<=\w)(?:'s)+(?![^\W_])")
_INNER_APOSTROPHE = re.compile(r"(?<=[^\W\d_])'+(?=[^\W\d_])")


def _apostrophes(text: str) -> str:
    """Drop a possessive 's and apostrophes between letters: lofgren('s), obrien."""
    if "'" not in text:
        return text
    return _INNER_APOSTROPHE.sub("", _POSSESSIVE.sub("", text))


# Punctuation that tells names apart: 1,2- 1.5 2:1 1/2, CD4+ +21 C++, CD4-, 5'-, 5%, C#, >5.
_KEPT = re.compile(
    r"(?<=\d)[.,:/](?=\d)"
    r"|(?<=[a-z0-9])\++|\+(?=[a-z0-9])"
    r"|(?<=\d)-(?=[\s,;/)\]]|$)"
    r"|(?<=\d)'(?=-\w|\s+\w|,\d)"
    r"|(?<=\d)%"
    r"|(?<=[a-z])#"
    r"|[<>≤≥](?==?\s*\d)|(?<=[<>])=(?=\s*\d)"
)
_KEPT_OR_NOT = re.compile(rf"({_KEPT.pattern})|[^a-zA-Z0-9 ]")
_COMPARISON = re.compile(r"(?<=[<>≤≥]) +(?=\d)|(?<=[<>≤≥]=) +(?=\d)")
_AMPERSAND = re.compile("&")
_OUTER_SPACES = re.compile("^ +| +$")
_SPACES = re.compile(" {2,}")


def _punctuation(text: str) -> str:
    """Punctuation becomes a space, except where it tells two names apart; "&" is "and"."""
    if not any(map(str.isalnum, text)):
        return ""
    text = text.replace("&", " and ")
    if text.isascii():  # the same, several times faster
        spaced = _KEPT_OR_NOT.sub(lambda match: match.group(1) or " ", text)
        return _COMPARISON.sub("", " ".join(spaced.split()))
    kept = {index for match in _KEPT.finditer(text) for index in range(*match.span())}
    chars = [
        char if index in kept or not _is_punctuation(char) else " "
        for index, char in enumerate(text)
    ]
    return _COMPARISON.sub("", " ".join("".join(chars).split()))


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum()
    return unicodedata.category(char)[0] not in "LNM"


NUMERALS = {
    numeral: str(value)
    for value, numeral in enumerate(
        "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix".split(), start=1
    )
}
_COUNTED = frozenset({"type", "types", "subtype", "stage", "grade", "class", "phase"})
_NUMERAL = re.compile(r" (?:x?(?:i{1,3}|iv|vi{0,3}|ix)|x)(?![^ ])")
_WORD = re.compile(r"[^ ]+")


def _numerals(text: str) -> str:
    """Write a roman numeral (I to XIX, a whole word) in digits where it can be nothing else.

    That is after a word that is counted ("type II diabetes", "stage IV"), and as the last word when
    it has two letters or more ("mucolipidosis III"). A lone I, V or X elsewhere is a letter
    ("X linked", "trisomy X", "complementation group I"), and a numeral is never the first word.
    """
    return _WORD.sub(_number, text) if _NUMERAL.search(text) else text


def _number(match: re.Match[str]) -> str:
    """Return a word as a number when it is a numeral at such a place, else as it is."""
    word = match.group()
    number = NUMERALS.get(word)
    if number is None or match.start() == 0:
        return word
    before = match.string[: match.start() - 1].rpartition(" ")[2]
    last = match.end() == len(match.string) and len(word) > 1
    return number if last or before in _COUNTED else word


_Rules = tuple[tuple[str, Callable[[str], str]], ...]
_SHARED_END: _Rules = (
    ("possessives and apostrophes", _apostrophes),
    ("punctuation and spaces", _punctuation),
    ("roman numerals", _numerals),
)
_ASCII_RULES: _Rules = (
    ("escapes", characters.unescape),
    ("quotes and dashes", characters.ascii_typography),
    ("case", str.casefold),
    *_SHARED_END,
)
_RULES: _Rules = (
    ("escapes", characters.unescape),
    ("compatibility forms", characters.compatibility),
    ("quotes and dashes", characters.typography),
    ("case", str.casefold),
    ("accents", characters.strip_accents),
    ("greek letters", characters.spell_greek),
    *_SHARED_END,
)


def _tracked_punctuation(text: Tracked) -> Tracked:
    if not any(map(str.isalnum, text.text)):
        return Tracked("", ())
    text = text.sub(_AMPERSAND, " and ")
    kept = {index for match in _KEPT.finditer(text.text) for index in range(*match.span())}
    text = text.rewrite(
        Piece(start=index, end=index + 1, new=" ")
        for index, char in enumerate(text.text)
        if index not in kept and _is_punctuation(char)
    )
    return text.sub(_OUTER_SPACES, "").sub(_SPACES, " ").sub(_COMPARISON, "")


# The same rules, slower, with the positions of what they change.
_TRACKED: dict[str, Callable[[Tracked], Tracked]] = {
    "escapes": lambda text: text.sub(characters.ENTITY, characters.entity),
    "compatibility forms": lambda text: (
        text.sub(characters.SPACING_ACCENTS, "'")
        .sub(characters.TRADE_MARKS, " ")
        .sub(characters.GLUED_NUMBERS, " ")
        .clusters(characters.nfkc)
    ),
    "quotes and dashes": lambda text: text.each(
        lambda char: char.translate(characters.UNIFIED)
    ).sub(characters.INVISIBLE, ""),
    "case": lambda text: text.each(str.casefold),
    "accents": lambda text: text.clusters(characters.strip_accents),
    "greek letters": lambda text: text.sub(characters.MICRO, "u").sub(
        characters.LONE_GREEK, characters.spelled
    ),
    "possessives and apostrophes": lambda text: text.sub(_POSSESSIVE, "").sub(
        _INNER_APOSTROPHE, ""
    ),
    "punctuation and spaces": _tracked_punctuation,
    "roman numerals": lambda text: text.sub(_WORD, _number),
}
