"""RDF in XML or Turtle as statements with line numbers. The only module that loads pyoxigraph."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast
from xml.parsers import expat

import pyoxigraph as ox

from mirror_index.errors import SourceError
from mirror_index.readers.source import empty_source, open_bytes, peek, source_name, unreadable

# Relative IRIs need a base; it is taken off again, so that `<#a>` stays `#a` wherever the file is.
_BASE = "x-source:///"
_BOM = b"\xef\xbb\xbf"
_PEEK = 4096
# Declared entities abbreviate namespaces; what expands further than this is an attack.
_ENTITY_LIMIT = 65_536
# The parser takes quadratic time in the depth of elements.
_DEPTH_LIMIT = 1000
_ENTITY = re.compile("&([^;#&]+);")
_XML = re.compile(rb"\s*<(\?xml|!|\w+:RDF\b|RDF\b|Ontology\b|html\b)", re.IGNORECASE)
_OTHER_SYNTAX = re.compile(rb"\s*(?:#[^\n]*\s+)*(Prefix|Ontology)(\s*\(|:)")
_RDF_ROOT = "http://www.w3.org/1999/02/22-rdf-syntax-ns# RDF"


class Statement(NamedTuple):
    """One triple.

    `node` is whether the value is an IRI or a blank node (which begins with ``_:``), not a text;
    `line` is where the parser stood when it had read it.
    """

    subject: str
    predicate: str
    value: str
    node: bool
    language: str | None
    line: int


class RdfSource:
    """Reads the statements of one source once; afterwards `prefixes` holds what it declares."""

    def __init__(self, source: str | Path) -> None:
        self._source = source
        self.prefixes: Mapping[str, str] = {}

    def statements(self) -> Iterator[Statement]:
        """Yield the statements in the order of the source.

        Nothing outside the source is read: imports, external entities and remote contexts are not
        followed, and entities that expand to much more than they are refused.

        Raises:
            SourceError: the source cannot be opened, is empty, no RDF/XML or Turtle, damaged or cut
                short, at the line where that shows.
        """
        with open_bytes(self._source) as binary:
            head = peek(binary, self._source)[:_PEEK].removeprefix(_BOM)
            if not head.strip():
                raise empty_source(self._source)
            self._check_syntax(head)
            guard = _Guard() if _XML.match(head) else None
            feed = _Feed(binary, guard)
            kind = ox.RdfFormat.TURTLE if guard is None else ox.RdfFormat.RDF_XML
            try:
                parser = ox.parse(cast(BinaryIO, feed), kind, base_iri=_BASE)
                for quad in parser:
                    yield _statement(quad, feed.line)
            except (SourceError, SyntaxError, expat.ExpatError, ValueError) as error:
                raise self._failure(error, feed.line) from error
            except (OSError, EOFError, zlib.error) as error:
                raise unreadable(self._source, error, after_line=feed.line) from error
            self.prefixes = {**parser.prefixes, **({} if guard is None else guard.prefixes)}

    def _check_syntax(self, head: bytes) -> None:
        if _OTHER_SYNTAX.match(head) is not None:
            raise SourceError(
                "OWL in functional or Manchester syntax is not read",
                where=source_name(self._source),
                remedy="Save the ontology as RDF/XML, Turtle, OBO or OBO graph JSON",
            )

    def _failure(self, error: Exception, line: int) -> SourceError:
        line = getattr(error, "lineno", None) or line
        where = f"{source_name(self._source)}, line {line}"
        if isinstance(error, SourceError):
            return SourceError(error.what, where=where, remedy=error.remedy)
        return SourceError(
            f"this is no RDF that can be read: {str(error)[:300]}",
            where=where,
            remedy="Check that the file is complete; RDF/XML and Turtle in UTF-8 are read",
        )


def _statement(quad: ox.Quad, line: int) -> Statement:
    value = quad.object
    if isinstance(value, ox.Literal):
        text, node, language = value.value, False, value.language
    else:
        text, node, language = _node(value), True, None
    return Statement(_node(quad.subject), quad.predicate.value, text, node, language, line)


def _node(node: object) -> str:
    if isinstance(node, ox.NamedNode):
        return node.value.removeprefix(_BASE)
    return str(node)


class _Feed:
    """What the parser reads from: a line a call, so that `line` says where it stands."""

    def __init__(self, binary: BinaryIO, guard: _Guard | None) -> None:
        self._binary = binary
        self._guard = guard
        self._whole = True
        self.line = 0

    def read(self, size: int) -> bytes:
        """Return the next line, or at most `size` bytes of it; nothing at the end."""
        piece = self._binary.readline(size)
        if self._whole and piece:
            self.line += 1
        if self.line == 1:
            piece = piece.removeprefix(_BOM)
        self._whole = piece.endswith(b"\n")
        if self._guard is not None:
            self._guard.check(piece)
        return piece


class _Guard:
    """Reads XML along with the parser, which takes cut-off files and lets entities explode."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.EntityDeclHandler = self._entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._depth = 0
        self._parser.StartNamespaceDeclHandler = self._namespace
        self._lengths: dict[str, int] = {}
        self.prefixes: dict[str, str] = {}

    def check(self, piece: bytes) -> None:
        """Take the next bytes, none at the end.

        Raises:
            ExpatError: this is no well-formed XML, or references to entities blow it up.
            SourceError: an entity is external or too long, or the root is not ``rdf:RDF``.
        """
        self._parser.Parse(piece, not piece)

    def _namespace(self, prefix: str | None, iri: str) -> None:
        if prefix and iri:
            self.prefixes.setdefault(prefix, iri)

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        if self._depth == 0 and name != _RDF_ROOT:
            shown = name.rpartition(" ")[2]
            owl = " (OWL/XML)" if shown == "Ontology" else ""
            raise SourceError(
                f"this is not RDF/XML: the outermost element is {shown}{owl}",
                remedy="Save the ontology as RDF/XML, Turtle, OBO or OBO graph JSON",
            )
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            raise SourceError(
                f"elements are nested more than {_DEPTH_LIMIT} deep",
                remedy="This is an attack, not an ontology",
            )

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def _entity(
        self,
        name: str,
        is_parameter: int,
        value: str | None,
        _base: str | None,
        system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        if value is None or is_parameter:
            raise SourceError(
                f"the entity {name!r} is declared to stand for {system or 'a parameter'}, "
                "and only entities that stand for a text are read"
            )
        inner = sum(self._lengths.get(one, 0) for one in _ENTITY.findall(value))
        self._lengths[name] = len(value) + inner
        if self._lengths[name] > _ENTITY_LIMIT:
            raise SourceError(
                f"the entity {name!r} expands to more than {_ENTITY_LIMIT} characters",
                remedy="This is an attack, not an ontology",
            )
