"""OBO ontologies, frame by frame: one bad frame costs that frame and is named by its line.

The parser is our own. fastobo, the obvious library, ends the process's work with a panic (no
`Exception`) on a value such as ``is_obsolete: TRUE`` and refuses a term for slips in clauses that
play no part here; the tests hold this parser against it on a whole ontology.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers.cells import RowError, rejected, text_flaw
from mirror_index.readers.obo_clauses import (
    boolean,
    cross_reference,
    definition,
    free_text,
    identifier,
    reference,
    synonym,
)
from mirror_index.readers.properties import synonym_flaw
from mirror_index.readers.source import Line, empty_source, source_name, text_lines
from mirror_index.records import Concept, Name, Scope, SourceItem

_STANZA = re.compile(r"\[\s*(\w*)\s*\]?\s*(?:!.*)?$")
_NO_TERMS = frozenset(("typedef", "instance", "annotation"))
_TAG = re.compile(r"([\w-]+):(.*)$", re.DOTALL)

_ONCE: dict[str, Callable[[str], str]] = {
    "id": identifier,
    "name": free_text,
    "namespace": free_text,
    "def": definition,
}
_MANY: dict[str, Callable[[str], str]] = {
    "alt_id": reference,
    "consider": reference,
    "is_a": reference,
    "replaced_by": reference,
    "xref": cross_reference,
}
_SYNONYMS: dict[str, Scope | None] = {
    "synonym": None,
    **{f"{scope.value}_synonym": scope for scope in Scope if scope is not Scope.LABEL},
}
_OLD_TAGS = {"use_term": "consider", "xref_analog": "xref", "xref_unk": "xref"}
_UNUSED = frozenset(
    (
        "builtin",
        "comment",
        "created_by",
        "creation_date",
        "disjoint_from",
        "equivalent_to",
        "intersection_of",
        "is_anonymous",
        "property_value",
        "relationship",
        "subset",
        "union_of",
    )
)


@dataclass(slots=True)
class _Frame:
    """A stanza: its kind, the line of its header and the lines below it."""

    kind: str
    header: Line
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class _Term:
    """The clauses of one [Term] frame, collected."""

    once: dict[str, str] = field(default_factory=dict)
    many: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: list[Name] = field(default_factory=list)
    obsolete: bool | None = None
    unknown: list[Line] = field(default_factory=list)


def read_obo(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield a concept per [Term] frame of an OBO file (1.2 or 1.4); other frames are no terms.

    The namespace (the frame's, else the file's default) is the semantic type. A frame with a clause
    that cannot be read is rejected at the line of that clause; a term without any name at the line
    of its header, unless it is obsolete. For a name that is not there stands the first exact
    synonym, else the id. A clause with a tag that the
    format does not have is reported as skipped and costs nothing else, one that looks like a
    synonym's as rejected: a name is lost. So is the header of a frame of a kind that is not known.

    Raises:
        SourceError: the source cannot be read, is empty, or does not begin like an OBO file.
    """
    with text_lines(source, options.encoding) as lines:
        namespace: str | None = None
        for frame in _frames(_logical(lines), source):
            if frame.kind == "":
                namespace = _default_namespace(frame)
            elif frame.kind == "term":
                yield from _items(frame, namespace)
            elif frame.kind not in _NO_TERMS:
                reason = "OBO has no frame of this kind, and what it holds is lost"
                yield rejected(frame.header.number, reason, frame.header.text)


def _logical(lines: Iterator[Line]) -> Iterator[Line]:
    """Join a line that ends in an unescaped backslash with the next; trim, drop empty ones."""
    for line in lines:
        text = line.body
        while text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2:
            following = next(lines, None)
            text = text[:-1] + ("" if following is None else following.body)
        text = text.strip()
        if text and not text.startswith("!"):
            yield Line(line.number, text)


def _frames(lines: Iterator[Line], source: str | Path) -> Iterator[_Frame]:
    """Yield the header of the file as a frame of kind "", then its stanzas."""
    frame: _Frame | None = None
    for line in lines:
        opens = line.text.startswith("[")
        if not opens and frame is None and _TAG.match(line.text) is None:
            raise SourceError(
                "this is not an OBO file",
                value=line.text[:80].encode("utf-8", "backslashreplace").decode(),
                where=f"{source_name(source)}, line {line.number}",
                remedy="An OBO file begins with format-version: 1.2 or 1.4",
            )
        if opens:
            if frame is not None:
                yield frame
            stanza = _STANZA.match(line.text)
            frame = _Frame("?" if stanza is None else stanza[1].lower() or "?", line)
        elif frame is None:
            frame = _Frame("", line, [line])
        else:
            frame.lines.append(line)
    if frame is None:
        raise empty_source(source)
    yield frame


def _default_namespace(frame: _Frame) -> str | None:
    for line in frame.lines:
        if line.text.startswith("default-namespace:"):
            return line.text.partition(":")[2].strip() or None
    return None


def _items(frame: _Frame, namespace: str | None) -> Iterator[SourceItem]:
    term = _Term()
    for line in (frame.header, *frame.lines):
        try:
            _check_line(line)
            if line is not frame.header:
                _take(term, line)
        except RowError as error:
            yield rejected(line.number, f"{error.reason}{_place(term, frame)}", line.text)
            return
    for line in term.unknown:
        flaw = synonym_flaw(line.text.partition(":")[0])
        reason = flaw or "OBO has no such tag"
        yield rejected(line.number, reason, line.text, skipped=flaw is None)
    try:
        yield _concept(term, frame, namespace)
    except RowError as error:
        reason = f"{error.reason}{_place(term, frame)}"
        yield rejected(frame.header.number, reason, frame.header.text)


def _check_line(line: Line) -> None:
    flaw = text_flaw(line.text)
    if flaw is not None:
        raise RowError(f"the line {flaw}")


def _place(term: _Term, frame: _Frame) -> str:
    called = term.once.get("id", "without an id")
    return f" (term {called}, which begins on line {frame.header.number})"


def _take(term: _Term, line: Line) -> None:
    """Add one clause to the term.

    Raises:
        RowError: its value cannot be read, or it may occur only once.
    """
    found = _TAG.match(line.text)
    if found is None:
        raise RowError("there is no tag before a colon")
    tag, value = _OLD_TAGS.get(found[1], found[1]), found[2]
    try:
        if tag in _ONCE:
            if tag in term.once:
                raise RowError("the clause occurs twice")
            term.once[tag] = _ONCE[tag](value)
        elif tag in _MANY:
            term.many[tag].append(_MANY[tag](value))
        elif tag in _SYNONYMS:
            term.names.append(synonym(value, _SYNONYMS[tag]))
        elif tag == "is_obsolete":
            if term.obsolete is not None:
                raise RowError("the clause occurs twice")
            term.obsolete = boolean(value)
        elif tag not in _UNUSED:
            term.unknown.append(line)
    except RowError as error:
        raise RowError(f"{found[1]}: {error.reason}") from error


def _concept(term: _Term, frame: _Frame, namespace: str | None) -> Concept:
    identifier = term.once.get("id")
    if identifier is None:
        raise RowError("there is no id clause")
    label = term.once.get("name")
    if label is None:
        if not term.obsolete and not term.names:
            raise RowError("there is no name clause")
        exact = (name.text for name in term.names if name.scope is Scope.EXACT)
        label = next(exact, identifier)
    semantic_type = term.once.get("namespace", namespace)
    return Concept(
        id=identifier,
        label=label,
        names=tuple(term.names),
        definition=term.once.get("def"),
        alt_ids=tuple(term.many["alt_id"]),
        xrefs=tuple(term.many["xref"]),
        parents=tuple(term.many["is_a"]),
        semantic_types=() if semantic_type is None else (semantic_type,),
        obsolete=bool(term.obsolete),
        replaced_by=tuple(term.many["replaced_by"]),
        consider=tuple(term.many["consider"]),
        line=frame.header.number,
    )
