"""Mentions that name several things at once: "nausea and vomiting", "breast and ovarian cancer".

What a mention may stand for is proposed here, from its words alone; whether the parts are names of
the dictionary decides which proposal, if any, is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Parts = tuple[str, ...]

_AND = r"(?:and/or|and|or|as\s+well\s+as|plus|&|\+)"
_BETWEEN = re.compile(rf"\s*[,;]\s+(?:{_AND}\s+)?|\s+{_AND}\s+|\s+/\s*|\s*/\s+", re.IGNORECASE)
_CONJUNCTION = re.compile(rf"(?:^|\s){_AND}\s|\s/|/\s", re.IGNORECASE)
_BOTH = re.compile(r"^\s*(?:both|either)\s+", re.IGNORECASE)
_LISTED = re.compile(r"\s*[,;]\s+")
_SLASH = re.compile(r"(?<![^\W\d_])([^\W\d_]{3,})/([^\W\d_]{3,})(?![^\W\d_])")
_SPLICE = re.compile(rf"(?<!\S)(\S*[^\W\d_])-\s+{_AND}\s+(\S+)", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"\s(?:of|in|with|without|to|by|for|on|at|from|due|after|during)\s", re.IGNORECASE
)
_MEMBER = re.compile(r"[0-9]+[a-z]?|[IVX]+[A-Za-z]?|[A-Za-z]")
_MOST_PARTS = 6
_LONGEST = 1000  # characters; proposals grow with the square of the length


def proposals(mention: str) -> Iterator[Parts]:
    """Yield the ways to read a mention as several, each two to six parts, the likeliest first.

    * a common end: "breast and ovarian cancer" as "breast cancer", "ovarian cancer";
    * no common end: "nausea and vomiting";
    * a common start before numbers or letters: "hepatitis A and B", "type 1 and 2 diabetes";
    * a slash between words: "cleft lip/palate" as "cleft lip", "cleft palate";
    * a hyphen left hanging: "hypo- and hyperthyroidism";
    * a list without a conjunction: "nausea, vomiting".

    A conjunction after a preposition binds what follows it ("pain in arms and legs"), so that such
    a mention is not cut there. "1,2-dichloroethane" and "CD4+ T cell" hold nothing to cut at. A
    mention of more than 1,000 characters stays whole.
    """
    if len(mention) > _LONGEST:
        return
    seen: set[Parts] = set()
    for parts in (
        *_spliced(mention),
        *_slashed(mention),
        *_coordinated(_BOTH.sub("", mention)),
        *_listed(mention),
    ):
        distinct = tuple(dict.fromkeys(" ".join(part.split()) for part in parts))
        if 2 <= len(distinct) <= _MOST_PARTS and all(distinct) and distinct not in seen:
            seen.add(distinct)
            yield distinct


def _coordinated(mention: str) -> Iterator[Parts]:
    if not _CONJUNCTION.search(mention):
        return
    parts = [part.strip() for part in _BETWEEN.split(mention.strip())]
    if len(parts) < 2 or not all(parts):
        return
    *others, last = parts
    if any(_PREPOSITION.search(f" {part} ") for part in others):
        return
    yield from _common_start(others, last)
    words = last.split()
    for place in range(1, len(words)):
        end = " ".join(words[place:])
        yield (*(f"{other} {end}" for other in others), last)
    yield tuple(parts)


def _listed(mention: str) -> Iterator[Parts]:
    if not _CONJUNCTION.search(mention):
        yield tuple(part.strip() for part in _LISTED.split(mention.strip()))


def _common_start(others: list[str], last: str) -> Iterator[Parts]:
    """Yield "type 1 diabetes", "type 2 diabetes" for "type 1 and 2 diabetes"."""
    start, _, first = others[0].rpartition(" ")
    member, _, end = last.partition(" ")
    members = [first, *others[1:], member]
    if start and all(_MEMBER.fullmatch(one) for one in members):
        yield tuple(f"{start} {one} {end}" for one in members)


def _slashed(mention: str) -> Iterator[Parts]:
    match = _SLASH.search(mention)
    if match is None or mention.count("/") > 1 or _CONJUNCTION.search(f" {mention} "):
        return
    before, after = mention[: match.start()], mention[match.end() :]
    yield tuple(f"{before}{one}{after}" for one in match.groups())
    yield before + match.group(1), match.group(2) + after


def _spliced(mention: str) -> Iterator[Parts]:
    """Yield the ways in which "hypo-" can borrow the end of "hyperthyroidism"."""
    match = _SPLICE.search(mention)
    if match is None:
        return
    before, after = mention[: match.start()], mention[match.end() :]
    start, whole = match.groups()
    _, hyphen, end = whole.partition("-")
    if hyphen and end:
        yield f"{before}{start}-{end}{after}", f"{before}{whole}{after}"
    for place in range(2, len(whole) - 2):
        if "-" not in whole[place - 1 : place + 1]:
            yield f"{before}{start}{whole[place:]}{after}", f"{before}{whole}{after}"
