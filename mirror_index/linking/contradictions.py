"""What a mention and a name cannot both mean, however near their vectors lie.

Vectors and shared words hardly tell "severe" from "mild", "salted" from "unsalted", or asthma from
the fear of it. The lists are English; in another language they match nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from itertools import product

from mirror_index.linking.words import FILLERS, OPPOSITE_PREFIXES, OPPOSITES, deny, fold

_EXCLUSIVE = (
    "increased elevated raised high | decreased reduced low diminished",
    "mild | moderate | severe | profound",
    "first 1st | second 2nd | third 3rd | fourth 4th | fifth 5th",
    "single solitary | multiple",
    "complete total | partial",
    "interior inside indoor | exterior outside outdoor",
    "infantile | juvenile | adult",
    "neonatal | childhood | adult",
    "adult | baby infant | child kid",
    "women woman female girl | men man male boy",
    "black | white | red | blue | green | yellow | cyan | magenta | brown | gray | purple | pink",
    "femur femoral | tibia tibial | fibula fibular | humerus humeral | radius | ulna ulnar",
    "atrial atrium | ventricular ventricle",
    "mitral | aortic | tricuspid",
    "cervical | thoracic | lumbar | sacral",
    "hand | foot",
    "finger | toe",
    "arm | leg",
    "eye ocular | ear | nose nasal | tongue | tooth teeth dental",
    "lung pulmonary respiratory | breast mammary | kidney renal | liver hepatic | heart cardiac | "
    "brain | stomach gastric | colon | rectum rectal | pancreas pancreatic | prostate prostatic | "
    "ovary ovarian | testis testicular | uterus uterine | bladder | thyroid | spleen splenic | "
    "skin cutaneous | bone",
)
"""Values of which a thing has one: groups of values, each with the words for it."""

ABSENT = frozenset(
    "absence absent lack lacking missing free excluded excluding exclusion rule ruled negative "
    "unlikely resolved history hx fear".split()
)
"""Words that say of the name beside them that it is not there, or no more, or dreaded.

They can be part of another one's meaning: "absence of hair" is alopecia."""

TURNING = frozenset(
    # not for certain
    "suspected suspicion possible probable presumed questionable risk "
    # not in this person
    "fh fhx father mother brother sister aunt uncle parent grandfather grandmother "
    # something is done about it
    "prevention prophylaxis screening vaccine vaccination".split()
)
"""Words that turn whatever stands beside them into something else."""

NONE = frozenset({"no", "without", "denies", "denied", "never", "neither"})
OTHER = frozenset({"non", "not"})
"""Denials that say nothing is there, and that something is of another kind: "no Hodgkin lymphoma"
is no "non-Hodgkin lymphoma"."""

AGAINST = ("un", "in", "im", "ir", "il", "non", "an", "a", "ab", "dis")
"""Prefixes that turn a word into its opposite."""

PREFIXES = (
    *OPPOSITE_PREFIXES,
    ("pre", "post"),
    ("intra", "extra"),
    ("uni", "bi"),
    ("supra", "infra"),
    ("over", "under"),
    ("homo", "hetero"),
)
"""Pairs of prefixes that make opposites."""

_GENERIC = frozenset({"condition", "disease", "disorder", "syndrome", "type"})
_FEWEST = 4  # letters of a word without its prefix

Value = tuple[int, int]


def contradict(one: str, other: str) -> bool:
    """Whether a mention and a name cannot mean the same.

    They cannot when one denies what the other says (`words.deny`) or in another way; when only one
    speaks of a risk, a suspicion, a relative, a vaccine or the like, or is the other and a word
    that it is absent, history or feared; when their only other words are opposites by their form
    ("salted" and "unsalted", "wired" and "wireless"); when they end with other letters ("hepatitis
    A" and "hepatitis B"); or when they give a thing other values ("left" and "right", "mild" and
    "severe", "femur" and "tibia").

    Args:
        one: key of a mention.
        other: key of a name.
    """
    words, others = _words(one), _words(other)
    mine, theirs = words - others, others - words
    return (
        deny(one, other)
        or _denied_otherwise(mine, theirs)
        or _denied_otherwise(theirs, mine)
        or TURNING.isdisjoint(words) != TURNING.isdisjoint(others)
        or (not theirs and not ABSENT.isdisjoint(mine))
        or (not mine and not ABSENT.isdisjoint(theirs))
        or _other_values(words, others)
        or (len(mine) == len(theirs) == 1 and _opposed(*mine, *theirs))
        or len(set(_letters(one, other))) > 1
    )


def contained(one: str, other: str) -> bool:
    """Whether all words of a key are in another one, which has more, generic words aside.

    Such names are mostly those of a more general and a more special thing ("cataract", "congenital
    cataract"). "Syndrome", "disease" and the like say nothing more.

    Args:
        one: key of a mention.
        other: key of a name.
    """
    words, others = _words(one) - _GENERIC, _words(other) - _GENERIC
    return bool(words and others) and words != others and (words < others or others < words)


def _words(key: str) -> frozenset[str]:
    raw = key.split()
    return frozenset([fold(word) for word in raw if word not in FILLERS] or raw)


def _denied_otherwise(mine: Set[str], theirs: Set[str]) -> bool:
    return not NONE.isdisjoint(mine) and not OTHER.isdisjoint(theirs)


def _letters(one: str, other: str) -> list[str]:
    """Return the letters ("a" is one) that both keys end with, none when one ends otherwise."""
    last = [key.rpartition(" ")[2] for key in (one, other)]
    return last if all(len(word) == 1 and word.isalpha() for word in last) else []


def _other_values(words: Iterable[str], others: Iterable[str]) -> bool:
    mine, theirs = _values(words), _values(others)
    return any(mine[group].isdisjoint(theirs[group]) for group in mine.keys() & theirs.keys())


def _values(words: Iterable[str]) -> dict[int, set[int]]:
    """Return the values that words give, by group."""
    found: dict[int, set[int]] = {}
    for word in words:
        for group, value in _VALUES.get(word, ()):
            found.setdefault(group, set()).add(value)
    return found


@lru_cache(maxsize=65_536)
def _opposed(word: str, other: str) -> bool:
    """Whether two words are opposites by their form."""
    if _endless(word, other) or _endless(other, word):
        return True
    starts = [(start, "") for start in AGAINST] + list(PREFIXES)
    return any(
        word.removeprefix(a) == (rest := other.removeprefix(b))
        and len(rest) >= _FEWEST
        and word == a + rest
        and other == b + rest
        for start, end in starts
        for a, b in ((start, end), (end, start))
    )


def _endless(word: str, other: str) -> bool:
    """Whether the first word is "wireless" and the other "wire" or "wired"."""
    stem = word.removesuffix("less")
    return stem != word and len(stem) >= _FEWEST and other in {stem, f"{stem}d", f"{stem}ed"}


def _by_word() -> Iterator[tuple[str, Value]]:
    groups = [*_EXCLUSIVE, *(" | ".join(pair) for pair in OPPOSITES)]
    for number, group in enumerate(groups):
        for value, words in enumerate(group.split("|")):
            yield from product(map(fold, words.split()), [(number, value)])


_VALUES: dict[str, list[Value]] = {}
for _word, _value in _by_word():
    _VALUES.setdefault(_word, []).append(_value)
