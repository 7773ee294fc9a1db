"""The words of a name as linking compares them: folded, numbered, and what they contradict.

Folding undoes endings and spellings that rarely tell two names apart (plurals, British forms). It
serves the comparison of candidates only; the key of a name (`mirror_index.names`) stays strict.
The lists are English; in another language they match nothing and the model gives them no weight.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

FILLERS = frozenset({"a", "an", "and", "by", "for", "in", "of", "on", "or", "the", "to", "with"})

_NUMERALS = frozenset("i ii iii iv v vi vii viii ix x xi xii".split())
_GREEK = frozenset("alpha beta gamma delta epsilon zeta kappa lambda omega".split())
OPPOSITES = (
    ("left", "right"),
    ("upper", "lower"),
    ("increased", "decreased"),
    ("high", "low"),
    ("elevated", "reduced"),
    ("large", "small"),
    ("long", "short"),
    ("proximal", "distal"),
    ("anterior", "posterior"),
    ("superior", "inferior"),
    ("medial", "lateral"),
    ("dorsal", "ventral"),
    ("internal", "external"),
    ("central", "peripheral"),
    ("unilateral", "bilateral"),
    ("acute", "chronic"),
    ("congenital", "acquired"),
    ("benign", "malignant"),
    ("primary", "secondary"),
    ("dominant", "recessive"),
    ("early", "late"),
    ("present", "absent"),
    ("positive", "negative"),
    ("male", "female"),
    ("maternal", "paternal"),
    ("systolic", "diastolic"),
    ("open", "closed"),
    ("typical", "atypical"),
)
OPPOSITE_PREFIXES = (("hyper", "hypo"), ("macro", "micro"), ("tachy", "brady"), ("poly", "oligo"))
_DENIALS = frozenset({"no", "not", "non", "without", "never", "neither", "denies", "denied"})
_NEGATIONS = _DENIALS | {"absence", "absent", "lack", "lacking", "missing"}


class Pole(NamedTuple):
    """One side (0 or 1) of a numbered pair of opposites."""

    pair: int
    side: int


_POLES = {
    word: Pole(number, side)
    for number, pair in enumerate(OPPOSITES)
    for side, word in enumerate(pair)
}
_PREFIX_POLES = {
    prefix: Pole(number, side)
    for number, pair in enumerate(OPPOSITE_PREFIXES, start=len(OPPOSITES))
    for side, prefix in enumerate(pair)
}
_DIGIT = re.compile(r"\d")
_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("xes", "x"),
    ("ses", "sis"),
    ("ae", "a"),
)
_BRITISH = (("ae", "e"), ("oe", "e"), ("our", "or"), ("isation", "ization"), ("ise", "ize"))


@lru_cache(maxsize=200_000)
def fold(word: str) -> str:
    """Return a word without its plural ending and in American spelling."""
    if len(word) < 4 or _DIGIT.search(word):
        return word
    for ending, other in _ENDINGS:
        if word.endswith(ending):
            word = word.removesuffix(ending) + other
            break
    else:
        if word.endswith("s") and word[-2] not in "sui":
            word = word[:-1]
    for british, american in _BRITISH:
        word = word.replace(british, american)
    return word


def is_number(word: str) -> bool:
    """Whether a word counts or numbers: digits, a roman numeral, a letter, a Greek letter."""
    lettered = (len(word) == 1 and word != "a") or word in _NUMERALS or word in _GREEK
    return lettered or _DIGIT.search(word) is not None


@lru_cache(maxsize=200_000)
def pole(word: str) -> Pole | None:
    """Return the pair of opposites a word belongs to and its side in it, None for most words."""
    found = _POLES.get(word)
    if found is None and len(word) > 7:
        for prefix, side in _PREFIX_POLES.items():
            if word.startswith(prefix):
                return side
    return found


def is_negation(word: str) -> bool:
    """Whether a word says that something is not there."""
    return word in _NEGATIONS


def deny(one: str, other: str) -> bool:
    """Whether one of two keys denies something and the other says nothing of an absence.

    "No nausea" is no nausea; "absent patella" may well be "no patella" or "aplasia of the patella".
    """
    words, others = set(one.split()), set(other.split())
    denies, denied = not words.isdisjoint(_DENIALS), not others.isdisjoint(_DENIALS)
    if denies == denied:
        return False
    return (others if denies else words).isdisjoint(_NEGATIONS)
