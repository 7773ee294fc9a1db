"""Whether a word that looks like a short name is meant as that name."""

from __future__ import annotations

from mirror_index.characters import compatibility, typography

SHORT = 3
"""Names with no more letters and digits than this must be spelled in the text as they are in the
dictionary, capitals included, and have a capital or a digit."""

FUNCTION_WORDS = frozenset(
    "a about after all also am an and any are as at be been being both but by can could did do "
    "does done due each else ever few for from had has have he her here him his how i if in into "
    "is it its less let like may me more most much must my no non nor not now of off on one only "
    "or other our out over own per she should since so some such than that the their them then "
    "there these they this those to too two under until up us use very via was we well were what "
    "when where which while who why will with within would yet you your".split()
)
"""Words of grammar: names only where the dictionary and the text both write them in capitals."""


def is_plausible(text: str, start: int, end: int, name: str) -> bool:
    """Say whether ``text[start:end]``, which reads like `name`, is likely to mean it.

    A single letter or digit never is. A function word ("all", "was", "can") and a name of two or
    three letters has to be spelled like the name, with a capital or a digit in it, and must not
    stand in a line that is all capitals anyway.
    """
    mention = text[start:end]
    if _letters(mention) < 2:
        return False
    if not is_short(mention) and mention.casefold() not in FUNCTION_WORDS:
        return True
    marked = any(char.isupper() or char.isdigit() for char in mention)
    if not marked or _typed(mention) != _typed(name):
        return False
    if mention.casefold() not in FUNCTION_WORDS:
        return True
    return mention.isupper() and not _shouted(text, start, end)


def is_short(mention: str) -> bool:
    """Say whether a mention has `SHORT` letters and digits at most."""
    return _letters(mention) <= SHORT


def _typed(name: str) -> str:
    """Return a name with its capitals, but with plain dashes, quotes, letters and spaces."""
    return " ".join(typography(compatibility(name)).split())


def _letters(mention: str) -> int:
    return sum(map(str.isalnum, mention))


def _shouted(text: str, start: int, end: int) -> bool:
    """Whether the line around a word is written in capitals."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    around = text[first:start] + text[end : len(text) if last < 0 else last]
    return any(map(str.isupper, around)) and not any(map(str.islower, around))
