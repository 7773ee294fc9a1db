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

NAME_KEY_VERSION = 1
"""Raised whenever any key changes; stored keys of another version have to be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameStep:
    """One rule that changed the text: its name, and the text before and after."""

    rule: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return the step as a line for people."""
        return f"{self.rule}: {self.before!r} -> {self.after!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalisedName:
    """A key and the steps that led to it; reading the steps backwards restores the raw spelling."""

    key: str
    steps: tuple[NameStep, ...]


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


_ENTITIES = {
    "&apos;": "'",
    "&#39;": "'",
    "&#x27;": "'",
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
}
_ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)), re.IGNORECASE)


def _entities(text: str) -> str:
    """Undo the XML escapes that dictionaries carry over from their source format."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: _ENTITIES[match.group().lower()], text)


_TRADE_MARKS = re.compile("[™℠®©℗]")
# NFKC writes "1½" as "11⁄2" and "10⁹" as "109": keep the two numbers apart first.
_GLUED_NUMBERS = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞↉²³¹⁰⁴-⁹])")


def _compatibility(text: str) -> str:
    """Unicode NFKC: ligatures, full-width forms, super- and subscripts become plain characters."""
    text = _GLUED_NUMBERS.sub(" ", _TRADE_MARKS.sub(" ", text))
    return unicodedata.normalize("NFKC", text)


_UNIFIED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʻʼʽʹˈ′‵`´＇ꞌ׳", "'"),
        **dict.fromkeys("“”„‟«»″‶ʺ＂״", '"'),
        **dict.fromkeys("‐‑‒–—―⁃−﹘﹣－⸺⸻˗", "-"),
        "⁄": "/",
        "∕": "/",
        "：": ":",
        "＋": "+",
    }
)
_ASCII_UNIFIED = str.maketrans({"`": "'"})
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]"
)


def _typography(text: str) -> str:
    """One apostrophe, one quote, one dash; soft hyphens and zero-width characters vanish."""
    return _INVISIBLE.sub("", text.translate(_UNIFIED))


def _ascii_typography(text: str) -> str:
    return text.translate(_ASCII_UNIFIED)


# Letters with a stroke or a ligature have no canonical decomposition.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | {"ё": "е"}
)


def _loses_marks(base: str) -> bool:
    """Latin and Greek letters lose their accents; in other scripts the marks are letters."""
    if base < "\u0250" or "\u0370" <= base < "\u0400":
        return True
    return unicodedata.category(base)[0] not in "LM"


def _accents(text: str) -> str:
    """Strip accents from Latin and Greek letters, spell out ligatures (Ayme, Lofgren, Sjogren)."""
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(char):
            base = char
        elif _loses_marks(base):
            continue
        kept.append(char)
    return unicodedata.normalize("NFKC", "".join(kept)).translate(_LETTERS)


_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
        "sigma tau upsilon phi chi psi omega".split(),
        strict=True,
    )
)
# In a unit the letter is a prefix that people type as a "u".
_MICRO = re.compile(r"(?<![^\W\d_])μ(?=(?:g|l|m|mol|iu)(?![^\W\d_]))")
_LONE_GREEK = re.compile(r"(?<![\u0370-\u03ff])([a-z0-9]?)([α-ω])(?![\u0370-\u03ff])")


def _greek(text: str) -> str:
    """Spell out a Greek letter that stands alone among Greek letters; Greek words stay.

    A space parts it from a Latin letter or digit before it ("TNFα" is "tnf alpha"), none from what
    follows ("κB" is "kappab", "β1" is "beta1"), which are the spellings in use; "μg" is "ug".
    """

    def spell(match: re.Match[str]) -> str:
        before, letter = match.groups()
        return f"{before}{' ' if before else ''}{_GREEK.get(letter, letter)}"

    return _LONE_GREEK.sub(spell, _MICRO.sub("u", text))


_POSSESSIVE = re.compile(r"(?<=\w)(?:'s)+(?!\w)")
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
_COMPARISON = re.compile(r"([<>≤≥]=?) +(?=\d)")


def _punctuation(text: str) -> str:
    """Punctuation becomes a space, except where it tells two names apart; "&" is "and"."""
    if not any(map(str.isalnum, text)):
        return ""
    text = text.replace("&", " and ")
    if text.isascii():  # the same, several times faster
        spaced = _KEPT_OR_NOT.sub(lambda match: match.group(1) or " ", text)
        return _COMPARISON.sub(r"\1", " ".join(spaced.split()))
    kept = {index for match in _KEPT.finditer(text) for index in range(*match.span())}
    chars = [
        char if index in kept or not _is_punctuation(char) else " "
        for index, char in enumerate(text)
    ]
    return _COMPARISON.sub(r"\1", " ".join("".join(chars).split()))


def _is_punctuation(char: str) -> bool:
    if char.isascii():
        return not char.isalnum()
    return unicodedata.category(char)[0] not in "LNM"


_NUMERALS = {
    numeral: str(value)
    for value, numeral in enumerate(
        "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix".split(), start=1
    )
}
_COUNTED = frozenset({"type", "types", "subtype", "stage", "grade", "class", "phase"})


def _numerals(text: str) -> str:
    """Write a roman numeral (I to XIX, a whole word) in digits where it can be nothing else.

    That is after a word that is counted ("type II diabetes", "stage IV"), and as the last word when
    it has two letters or more ("mucolipidosis III"). A lone I, V or X elsewhere is a letter
    ("X linked", "trisomy X", "complementation group I"), and a numeral is never the first word.
    """
    words = text.split(" ")
    for place in range(1, len(words)):
        number = _NUMERALS.get(words[place])
        if number is None:
            continue
        last = place == len(words) - 1 and len(words[place]) > 1
        if last or words[place - 1] in _COUNTED:
            words[place] = number
    return " ".join(words)


_Rules = tuple[tuple[str, Callable[[str], str]], ...]
_SHARED_END: _Rules = (
    ("possessives and apostrophes", _apostrophes),
    ("punctuation and spaces", _punctuation),
    ("roman numerals", _numerals),
)
_ASCII_RULES: _Rules = (
    ("escapes", _entities),
    ("quotes and dashes", _ascii_typography),
    ("case", str.casefold),
    *_SHARED_END,
)
_RULES: _Rules = (
    ("escapes", _entities),
    ("compatibility forms", _compatibility),
    ("quotes and dashes", _typography),
    ("case", str.casefold),
    ("accents", _accents),
    ("greek letters", _greek),
    *_SHARED_END,
)
