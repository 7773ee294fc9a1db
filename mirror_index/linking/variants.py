"""British and American spellings, singular and plural, spaces: what differs and means the same.

`fold_word` maps all forms of a word to one; `variants` goes the other way and yields the keys a
dictionary may hold instead of the one at hand, and `spacings` those with a space less or more. None
touches the key of a name: what differs in wording is no exact match, but a weaker one of its own
kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, product

BRITISH = (
    # ae and oe
    ("aemi", "emi"), ("anaesth", "anesth"), ("haem", "hem"), ("aetiolog", "etiolog"),
    ("caec", "cec"), ("caesar", "cesar"), ("caesium", "cesium"), ("faec", "fec"),
    ("gynaec", "gynec"), ("naev", "nev"), ("paed", "ped"), ("palaeo", "paleo"),
    ("phaeo", "pheo"), ("praevia", "previa"), ("amoeb", "ameb"), ("coeliac", "celiac"),
    ("foet", "fet"), ("homoeo", "homeo"), ("manoeuv", "maneuv"), ("oedem", "edem"),
    ("oesophag", "esophag"), ("oestr", "estr"), ("pnoea", "pnea"), ("rrhoea", "rrhea"),
    # our, re, ogue, lled
    ("behaviour", "behavior"), ("colour", "color"), ("favour", "favor"), ("flavour", "flavor"),
    ("humour", "humor"), ("labour", "labor"), ("neighbour", "neighbor"), ("odour", "odor"),
    ("tumour", "tumor"), ("vapour", "vapor"), ("calibre", "caliber"), ("centre", "center"),
    ("fibre", "fiber"), ("goitre", "goiter"), ("litre", "liter"), ("metre", "meter"),
    ("titre", "titer"), ("analogue", "analog"), ("catalogue", "catalog"),
    ("labelled", "labeled"), ("labelling", "labeling"), ("modelling", "modeling"),
    ("signalling", "signaling"), ("channelled", "channeled"), ("tunnelling", "tunneling"),
    # s or z, c or k, ph or f, and single words
    ("isation", "ization"), ("ised", "ized"), ("ising", "izing"), ("alyse", "alyze"),
    ("leuco", "leuko"), ("sulph", "sulf"), ("ageing", "aging"), ("aluminium", "aluminum"),
    ("artefact", "artifact"), ("defence", "defense"), ("disc", "disk"), ("grey", "gray"),
    ("judgement", "judgment"), ("mould", "mold"), ("moustache", "mustache"),
    ("neurone", "neuron"), ("programme", "program"), ("sceptic", "skeptic"),
)  # fmt: skip
"""British letters and what stands for them in American words; see docs/linking.md."""

_AT_START = {"disc", "grey", "mould", "foet", "oedem", "oestr", "caec", "faec", "naev", "leuco"}
_AT_END = {"isation", "ised", "ising", "neurone", "disc", "metre", "litre"}

IRREGULAR = {
    "feet": "foot", "teeth": "tooth", "children": "child", "women": "woman", "men": "man",
    "calves": "calf", "halves": "half", "phalanges": "phalanx", "larynges": "larynx",
    "cortices": "cortex", "indices": "index", "appendices": "appendix", "vertices": "vertex",
    "matrices": "matrix", "helices": "helix", "foramina": "foramen", "lumina": "lumen",
    "nuclei": "nucleus", "bronchi": "bronchus", "thrombi": "thrombus", "emboli": "embolus",
    "nevi": "nevus", "calculi": "calculus", "bacilli": "bacillus", "cocci": "coccus",
    "fungi": "fungus", "villi": "villus", "gyri": "gyrus", "sulci": "sulcus",
    "humeri": "humerus", "radii": "radius", "bacteria": "bacterium", "ova": "ovum",
    "septa": "septum", "atria": "atrium", "ganglia": "ganglion", "testes": "testis",
    "mitochondria": "mitochondrion", "metastases": "metastasis", "crises": "crisis",
    "irides": "iris", "viruses": "virus", "sinuses": "sinus", "fetuses": "fetus",
    "mice": "mouse", "lice": "louse", "geese": "goose", "knives": "knife", "leaves": "leaf",
    "loaves": "loaf", "shelves": "shelf", "wolves": "wolf", "scarves": "scarf",
    "potatoes": "potato", "tomatoes": "tomato", "mosquitoes": "mosquito", "echoes": "echo",
    "heroes": "hero", "tornadoes": "tornado", "torpedoes": "torpedo", "volcanoes": "volcano",
    "mangoes": "mango", "avocadoes": "avocado", "buffaloes": "buffalo", "cargoes": "cargo",
}  # fmt: skip
"""Plurals that no rule makes, in American spelling."""

_INVARIANT = {"series", "species", "caries", "scabies", "rabies", "facies"}
_SINGULAR = (
    (re.compile(r"(?<=..)itides$"), "itis"),
    (re.compile(r"(?<=...)(?<=[oey])ses$"), "sis"),
    (re.compile(r"(?<=..)omata$"), "oma"),
    (re.compile(r"(?<=...)ae$"), "a"),
    (re.compile(r"(?<=..)ies$"), "y"),
    (re.compile(r"(?<=ss|sh|ch)es$|(?<=[xz])es$"), ""),
    (re.compile(r"(?<=...)(?<![sui])s$"), ""),
)
_PLURAL = (
    (re.compile(r"(?<=..)itis$"), ("itides",)),
    (re.compile(r"(?<=...)(?<=[oey])sis$"), ("ses",)),
    (re.compile(r"(?<=..)oma$"), ("omas", "omata")),
    (re.compile(r"(?<=...)a$"), ("as", "ae")),
    (re.compile(r"(?<=[^aeiou])y$"), ("ies",)),
    (re.compile(r"(?<=ss|sh|ch)$|(?<=[xz])$"), ("es",)),
    (re.compile(r"(?<=...)(?<![sui])$"), ("s",)),
)
# "in active disease" is no "inactive disease", "a typical seizure" no "atypical seizure".
_SPACE = re.compile(r"(?<!\ba)(?<!\b[aio]n)(?<!\b[nt]o) | (?=\w\b)")
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_]{3})(?=[^\W\d_]{3})")
_LONGEST_SPLIT = 200  # characters of a key; a longer one is no name that lacks a space
_LONGEST = 400
_FEWEST_LETTERS = 4
_FEWEST_ALONE = 5
_MOST = 128
_VOWELS = frozenset("aeiouy")


def fold(key: str) -> str:
    """Return the form that the variants of a key share; a key of one short word is its own.

    "AIDS" is no plural and "ALS" neither: a word that stands alone has to have five letters, one of
    several has four.
    """
    words = key.split(" ")
    fewest = _FEWEST_ALONE if len(words) == 1 else _FEWEST_LETTERS
    return " ".join([fold_word(word) if len(word) >= fewest else word for word in words])


@lru_cache(maxsize=65_536)
def fold_word(word: str) -> str:
    """Return the American singular of a word of a key; of others the word itself.

    Applied to a singular that looks like a plural it takes an s too many, always the same one.
    """
    if not (word.isascii() and word.isalpha()):
        return word
    word = _american(word)
    if word in _INVARIANT:
        return word
    if word in IRREGULAR:
        return IRREGULAR[word]
    for pattern, ending in _SINGULAR:
        changed = pattern.sub(ending, word)
        if changed != word:
            return changed
    return word


def _american(word: str) -> str:
    if _ANY_BRITISH.search(word):
        for pattern, american in _TO_AMERICAN:
            word = pattern.sub(american, word)
    return word


def _anchored(british: str, letters: str) -> re.Pattern[str]:
    start = "^" if british in _AT_START else ""
    # A stem of the end of a word may be followed by the s of a plural.
    end = "(?=s?$)" if british in _AT_END else ""
    return re.compile(start + letters + end)


_TO_AMERICAN = tuple((_anchored(british, british), american) for british, american in BRITISH)
_TO_BRITISH = tuple((_anchored(british, american), british) for british, american in BRITISH)
# Most words hold none of them, which one search tells.
_ANY_BRITISH, _ANY_AMERICAN = (
    re.compile("|".join(pattern.pattern for pattern, _ in pairs))
    for pairs in (_TO_AMERICAN, _TO_BRITISH)
)


def variants(key: str) -> Iterator[str]:
    """Yield at most 127 other keys that fold to the same as `key`, those nearest to it first."""
    words = key.split(" ")
    fewest = _FEWEST_ALONE if len(words) == 1 else _FEWEST_LETTERS
    choices = [_forms(word, fewest) if len(word) >= fewest else (word,) for word in words]
    for combination in islice(product(*choices), 1, _MOST):
        yield " ".join(combination)


def spacings(key: str) -> Iterator[str]:
    """Yield the other keys that differ from `key` in one space, left out or put into a word.

    One is put between a letter and a digit ("vitamin b12"), and where both parts of a word have
    three letters ("nonword"). Letters that all stand alone are joined at once ("h i v"). A key of
    more than 400 characters is a text and no name: it has none.
    """
    if len(key) > _LONGEST:
        return
    words = key.split(" ")
    if len(words) > 2 and all(len(word) == 1 and word.isalpha() for word in words):
        yield "".join(words)
    for match in _SPACE.finditer(key):
        yield key[: match.start()] + key[match.end() :]
    for match in _SEAM.finditer(key[:_LONGEST_SPLIT]):
        yield f"{key[: match.start()]} {key[match.start() :]}"


@lru_cache(maxsize=65_536)
def _forms(word: str, fewest: int) -> tuple[str, ...]:
    """Return a word and its other forms, none of which folds to anything else."""
    if not (word.isascii() and word.isalpha()) or not _VOWELS & set(word):
        return (word,)
    folded = fold_word(word)
    spelt = {folded: None, **dict.fromkeys(_plurals(folded))}
    both = dict.fromkeys([word, *spelt, *(other for one in spelt for other in _british(one))])
    return tuple(
        one
        for one in both
        if one == word or (fold_word(one) == folded and (len(one) >= fewest or one == folded))
    )


def _british(word: str) -> Iterator[str]:
    for pattern, british in _TO_BRITISH if _ANY_AMERICAN.search(word) else ():
        changed = pattern.sub(british, word)
        if changed != word:
            yield changed


def _plurals(word: str) -> Iterator[str]:
    if word in _PLURALS_OF:
        yield from _PLURALS_OF[word]
    for pattern, endings in _PLURAL:
        if pattern.search(word):
            yield from (pattern.sub(ending, word, count=1) for ending in endings)
            return


_PLURALS_OF: dict[str, list[str]] = {}
for _plural, _singular in IRREGULAR.items():
    _PLURALS_OF.setdefault(_singular, []).append(_plural)
