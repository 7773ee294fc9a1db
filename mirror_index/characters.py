"""What is undone letter by letter before names are compared: escapes, typography, accents, Greek.

Each rule is a function of the text alone; `names` runs them in order. The patterns are public to
it, which replays them to tell the position of what they changed.
"""

from __future__ import annotations

import re
import unicodedata

_ENTITIES = {
    "&apos;": "'",
    "&#39;": "'",
    "&#x27;": "'",
    "&quot;": '"',
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
}
ENTITY = re.compile("|".join(map(re.escape, _ENTITIES)), re.IGNORECASE)


def unescape(text: str) -> str:
    """Undo the XML escapes that dictionaries carry over from their source format."""
    if "&" not in text:
        return text
    return ENTITY.sub(entity, text)


def entity(match: re.Match[str]) -> str:
    """Return the character that a matched escape stands for."""
    return _ENTITIES[match.group().lower()]


# NFKC takes an accent that stands alone apart into a space and a mark; people type it for "'".
SPACING_ACCENTS = re.compile("[´\u0384\u1fbd\u1fbf\u1ffd\u1ffe]")
TRADE_MARKS = re.compile("[™℠®©℗]")
# NFKC writes "1½" as "11⁄2" and "10⁹" as "109": keep the two numbers apart first.
GLUED_NUMBERS = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞↉²³¹⁰⁴-⁹])")


def compatibility(text: str) -> str:
    """Unicode NFKC: ligatures, full-width forms, super- and subscripts become plain characters."""
    text = SPACING_ACCENTS.sub("'", text)
    return nfkc(GLUED_NUMBERS.sub(" ", TRADE_MARKS.sub(" ", text)))


def nfkc(text: str) -> str:
    """Return the compatibility form of Unicode, composed."""
    return unicodedata.normalize("NFKC", text)


APOSTROPHES = "‘’‚‛ʻʼʽʹˈ′‵`´＇ꞌ׳"
UNIFIED = str.maketrans(
    {
        **dict.fromkeys(APOSTROPHES, "'"),
        **dict.fromkeys("“”„‟«»″‶ʺ＂״", '"'),
        **dict.fromkeys("‐‑‒–—―⁃−﹘﹣－⸺⸻˗", "-"),
        "⁄": "/",
        "∕": "/",
        "：": ":",
        "＋": "+",
    }
)
_ASCII_UNIFIED = str.maketrans({"`": "'"})
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]"
)


def typography(text: str) -> str:
    """One apostrophe, one quote, one dash; soft hyphens and zero-width characters vanish."""
    return INVISIBLE.sub("", text.translate(UNIFIED))


def ascii_typography(text: str) -> str:
    """Do the same for a text of ASCII alone, where the backquote is all there is to unify."""
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


def strip_accents(text: str) -> str:
    """Strip accents from Latin and Greek letters, spell out ligatures (Ayme, Lofgren, Sjogren)."""
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", text):
        if not unicodedata.combining(char):
            base = char
        elif _loses_marks(base):
            continue
        kept.append(char)
    return nfkc("".join(kept)).translate(_LETTERS)


GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
        "sigma tau upsilon phi chi psi omega".split(),
        strict=True,
    )
)
# In a unit the letter is a prefix that people type as a "u".
MICRO = re.compile(r"(?<![^\W\d_])μ(?=(?:g|l|m|mol|iu)(?![^\W\d_]))")
LONE_GREEK = re.compile(r"(?<![\u0370-\u03ff])([a-z0-9]?)([α-ω])(?![\u0370-\u03ff])")


def spell_greek(text: str) -> str:
    """Spell out a Greek letter that stands alone among Greek letters; Greek words stay.

    A space parts it from a Latin letter or digit before it ("TNFα" is "tnf alpha"), none from what
    follows ("κB" is "kappab", "β1" is "beta1"), which are the spellings in use; "μg" is "ug".
    """
    return LONE_GREEK.sub(spelled, MICRO.sub("u", text))


def spelled(match: re.Match[str]) -> str:
    """Return the name of a matched Greek letter, parted from a letter before it."""
    before, letter = match.groups()
    return f"{before}{' ' if before else ''}{GREEK.get(letter, letter)}"
