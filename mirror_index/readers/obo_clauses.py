r"""The values of OBO clauses: quoted text, synonyms, references, comments and escapes.

Follows the OBO flat file format 1.4, with what 1.2 allows beyond it: a synonym without a scope
(related), and the tags that carry the scope in their name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirror_index.readers.cells import RowError
from mirror_index.records import Name, Scope

_SCOPES = {scope.value.upper(): scope for scope in Scope if scope is not Scope.LABEL}
_ESCAPES = {"n": "\n", "t": "\t", "W": " "}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TRAILER = rf'\s*(?:\{{(?:{_QUOTED}|[^{{}}"])*\}}\s*)*(?:!.*)?$'
_TEXT = re.compile(rf"\s*({_QUOTED})(?=\s)")
_TAIL = re.compile(
    rf"\s*+(?:(?P<scope>[^\s\[\]\"]+)(?:\s+(?P<type>[^\s\[\]\"]+))?)?"
    rf'\s*\[(?P<xrefs>(?:{_QUOTED}|\\.|[^\]"\\])*)\]{_TRAILER}'
)
_REFERENCE = re.compile(r"\s*(?!!)((?:\\\S|[^\s{])+)")
_XREF = re.compile(rf"(?:{_QUOTED}|\\.|[^,\"\\])+")
_BEFORE_TRAILER = re.compile(r'(?:\\.|[^\\\s]|\s++(?!["{!]|$))*+(?=\s+["{!]|\s*$)')
_COMMENT = re.compile(r"(?:^|\s)!.*$")
_QUALIFIERS = re.compile(
    rf"(?<!\s)\s++\{{\s*[^\s={{}}]+\s*=\s*{_QUOTED}(?:{_QUOTED}|[^{{}}\"])*\}}\s*$"
)


@dataclass(frozen=True, slots=True)
class _Quoted:
    """A quoted text, the words between it and its references, and the references."""

    text: str
    scope: str | None
    name_type: str | None
    xrefs: tuple[str, ...]


def unescape(text: str) -> str:
    r"""Return the text with ``\n``, ``\t``, ``\W`` and any other escaped character replaced."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), text)


def free_text(value: str) -> str:
    """Return an unquoted text (a name) without its trailing qualifiers and comment.

    Raises:
        RowError: nothing is left.
    """
    text = _QUALIFIERS.sub("", _COMMENT.sub("", value)).strip()
    if not text:
        raise RowError("there is no value")
    return unescape(text)


def reference(value: str) -> str:
    """Return the identifier that a clause begins with (``HP:1 {source="x"} ! label`` -> ``HP:1``).

    Raises:
        RowError: there is none.
    """
    found = _REFERENCE.match(value)
    if found is None:
        raise RowError("there is no identifier")
    return unescape(found[1])


def identifier(value: str) -> str:
    """Return the identifier of a term, which is all there is to the clause but its trailer.

    Raises:
        RowError: there is none, or more follows: another term may begin with the same word.
    """
    first = reference(value)
    found = _REFERENCE.match(value)
    if found is not None and re.fullmatch(_TRAILER, value[found.end() :]) is None:
        raise RowError(f"an identifier has no spaces, and more follows {first!r}")
    return first


def cross_reference(value: str) -> str:
    """Return a cross-reference, which unlike other identifiers may hold spaces in old files.

    Raises:
        RowError: there is none.
    """
    found = _BEFORE_TRAILER.match(f" {value}")
    if found is None or not found[0].strip():
        raise RowError("there is no identifier")
    return unescape(found[0].strip())


def boolean(value: str) -> bool:
    """Return a flag.

    Raises:
        RowError: neither true nor false.
    """
    word = _COMMENT.sub("", value).strip().lower()
    if word not in {"true", "false"}:
        raise RowError("the value is neither true nor false")
    return word == "true"


def definition(value: str) -> str:
    """Return the text of a ``def`` clause.

    Raises:
        RowError: no quoted text followed by a list of references.
    """
    quoted = _quoted(value)
    if quoted.scope is not None:
        raise RowError(_INNER_QUOTE)
    return quoted.text


def synonym(value: str, implied: Scope | None) -> Name:
    """Return the name of a ``synonym`` clause.

    Args:
        value: ``"text" SCOPE type [references]``; scope and type may be absent.
        implied: the scope that the tag itself tells (``exact_synonym``); None for ``synonym``.

    Raises:
        RowError: an inner quote without a backslash, an unknown scope, no list of references, no
            text.
    """
    quoted = _quoted(value)
    if not quoted.text.strip():
        raise RowError("the text is empty")
    scope, name_type = implied, quoted.scope
    if implied is None:
        name_type = quoted.name_type
        if quoted.scope is None:
            scope = Scope.RELATED
        else:
            scope = _SCOPES.get(quoted.scope)
    if scope is None:
        raise RowError(f"the scope {quoted.scope!r} is none of {', '.join(_SCOPES)}")
    return Name(text=quoted.text, scope=scope, name_type=name_type, xrefs=quoted.xrefs)


_INNER_QUOTE = (
    "the quoted text is not followed by a list of references in square brackets; "
    "a quote inside the text needs a backslash before it"
)


def _quoted(value: str) -> _Quoted:
    text = _TEXT.match(value)
    tail = None if text is None else _TAIL.match(value, text.end())
    if text is None or tail is None:
        raise RowError(_INNER_QUOTE)
    return _Quoted(
        text=unescape(text[1][1:-1]),
        scope=tail["scope"],
        name_type=tail["type"],
        xrefs=tuple(
            cross_reference(item[0]) for item in _XREF.finditer(tail["xrefs"]) if item[0].strip()
        ),
    )
