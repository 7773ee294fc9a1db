"""The words that dictionaries use for the kind of a name, as synonym scopes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from mirror_index.records import Scope

_SCOPES = {
    **dict.fromkeys(
        ("label", "preferred", "pref", "pt", "preflabel", "preferredterm", "preferredname"),
        Scope.LABEL,
    ),
    **dict.fromkeys(
        ("exact", "synonym", "syn", "sy", "altlabel", "exactsynonym"),
        Scope.EXACT,
    ),
    **dict.fromkeys(("narrow", "narrowsynonym"), Scope.NARROW),
    **dict.fromkeys(("broad", "broadsynonym"), Scope.BROAD),
    **dict.fromkeys(("related", "relatedsynonym"), Scope.RELATED),
}
_NEAR = 0.8
_FILLER = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True)
class NameKind:
    """The scope of a name and the source's own word for its type, if any."""

    scope: Scope
    name_type: str | None = None


def name_kind(word: str) -> NameKind:
    """Return the meaning of a kind such as ``preferred``, ``synonym`` or ``exact/layperson``.

    Case, spaces, underscores and hyphens do not count. What follows a slash is the type of the
    name. A word that is not known says nothing about equivalence: it is a related name of that
    type.
    """
    head, _, tail = word.strip().partition("/")
    scope = _SCOPES.get(_FILLER.sub("", head).lower())
    if scope is None:
        return NameKind(Scope.RELATED, word.strip() or None)
    return NameKind(scope, tail.strip() or None)


def likely_slip(kind: NameKind) -> str | None:
    """Return the known word that a kind may have been meant to be, None where nothing hints at it.

    A word that is not known makes a name a related one, which is right for ``abbreviation`` and
    wrong for ``exat``.
    """
    if kind.scope is not Scope.RELATED or not kind.name_type:
        return None
    head = _FILLER.sub("", kind.name_type.partition("/")[0]).lower()
    near = get_close_matches(head, _SCOPES, n=1, cutoff=_NEAR)
    return near[0] if near and head not in _SCOPES else None
