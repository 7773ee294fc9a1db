"""OBO graph JSON, node by node: one bad node costs that node and is named by its line."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers.cells import RowError, rejected, text_flaw
from mirror_index.readers.curies import curie, local_name, type_name
from mirror_index.readers.jsontree import JsonWalker
from mirror_index.readers.properties import OBO, OIO, SYNONYM_FLAW, SYNONYMS, synonym_flaw
from mirror_index.readers.source import check_encoding, empty_source, read_bytes, source_name
from mirror_index.records import Concept, Name, Rejected, Scope, SourceItem

_NODE_KEYS = frozenset(("id", "lbl", "type", "meta", "propertyType"))
_META_KEYS = frozenset(
    "basicPropertyValues comments definition deprecated subsets synonyms version xrefs".split()
)
_SYNONYM_SCOPES = {local_name(iri): kind for iri, kind in SYNONYMS.items() if iri.startswith(OIO)}
_PROPERTIES = {
    f"{OIO}hasAlternativeId": "alt_ids",
    f"{OIO}hasOBONamespace": "semantic_types",
    f"{OBO}IAO_0100001": "replaced_by",
    f"{OIO}consider": "consider",
}
_DEFAULT_NAMESPACES = (f"{OIO}default-namespace", f"{OIO}hasDefaultNamespace")
_IS_A = frozenset(("is_a", "http://www.w3.org/2000/01/rdf-schema#subClassOf", "subClassOf"))


@dataclass(slots=True)
class _Graph:
    """One graph: what its nodes gave so far, and what is known only at its end."""

    items: list[SourceItem] = field(default_factory=list)
    unlabelled: set[str] = field(default_factory=set)
    parents: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    namespace: str | None = None

    def finished(self) -> Iterator[SourceItem]:
        """Yield the items, with the parents and the default namespace filled in.

        An obsolete node without a label that is an alternative id of another is no concept of its
        own: so `alt_id` of OBO is written in OWL.
        """
        concepts = [item for item in self.items if isinstance(item, Concept)]
        merged = {alt for one in concepts for alt in one.alt_ids} & self.unlabelled
        for item in self.items:
            if not isinstance(item, Concept):
                yield item
            elif item.id not in merged:
                types = item.semantic_types or tuple(filter(None, (self.namespace,)))
                parents = tuple(dict.fromkeys(self.parents.get(item.id, ())))
                yield replace(item, parents=parents, semantic_types=types)


def read_obograph(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield a concept per class of an OBO graph document (JSON); other nodes are no terms.

    Synonyms, definition, cross-references and the rest are read from ``meta``, parents from the
    ``is_a`` edges; IRIs become CURIEs by the rules of `curies.curie`. A node that cannot be read is
    rejected at its line, one without any name skipped (imports leave such stubs) unless it is
    obsolete. For a label that is not there stands the first exact synonym, else the id. A synonym
    property that is not known, or looks like one, is rejected with the text it held; other unknown
    keys are skipped. The text and the concepts of a graph are held in memory.

    Raises:
        SourceError: the source cannot be read, is empty, or is no OBO graph document.
    """
    walker = JsonWalker(_text(source, options.encoding))
    found = False
    try:
        if walker.next_is != "{":
            raise _not_a_graph(source)
        for key in walker.members():
            if key != "graphs":
                walker.value()
                continue
            found = True
            for _ in walker.elements():
                yield from _graph(walker).finished()
        walker.end()
    except json.JSONDecodeError as error:
        raise SourceError(
            f"this is not JSON: {error.msg}",
            where=f"{source_name(source)}, line {error.lineno}, column {error.colno}",
            remedy="Check that the file is complete",
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"this JSON cannot be used: {error}", where=f"{source_name(source)}, line {walker.line}"
        ) from error
    if not found:
        raise _not_a_graph(source)


def _text(source: str | Path, encoding: str) -> str:
    check_encoding(encoding)
    data = read_bytes(source)
    if not data.strip():
        raise empty_source(source)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"byte 0x{data[error.start]:02X} cannot be decoded as {encoding}",
            where=f"{source_name(source)}, line {line}",
            remedy="Name the encoding of the file",
        ) from error


def _not_a_graph(source: str | Path) -> SourceError:
    return SourceError(
        "this JSON is no OBO graph document: it has no list of graphs",
        where=source_name(source),
        remedy="For one JSON object a line, name the format jsonl; a list of objects is made into "
        "that by: jq -c '.[]' in.json > out.jsonl",
    )


def _graph(walker: JsonWalker) -> _Graph:
    graph = _Graph()
    for key in walker.members():
        if key == "nodes" and walker.next_is == "[":
            for line in walker.elements():
                _take_node(graph, walker.value(), line)
        elif key == "edges" and walker.next_is == "[":
            for line in walker.elements():
                _take_edge(graph, walker.value(), line)
        elif key == "meta":
            _take_meta(graph, walker.value(), walker.line)
        elif (value := walker.value()) is not None and key in ("nodes", "edges"):
            graph.items.append(rejected(walker.line, f"{key} is no list", _shown(value)))
    return graph


def _take_meta(graph: _Graph, meta: object, line: int) -> None:
    try:
        for one in _list(_object(meta or {}, "meta"), "basicPropertyValues"):
            if one.get("pred") in _DEFAULT_NAMESPACES:
                graph.namespace = _string(one, "val")
    except RowError as error:
        graph.items.append(rejected(line, error.reason, _shown(meta)))


def _take_edge(graph: _Graph, edge: object, line: int) -> None:
    try:
        values = _object(edge, "the edge")
        if _string(values, "pred") in _IS_A:
            child = curie(_string(values, "sub"), {})
            graph.parents[child].append(curie(_string(values, "obj"), {}))
    except RowError as error:
        graph.items.append(rejected(line, error.reason, _shown(edge)))


def _take_node(graph: _Graph, node: object, line: int) -> None:
    """Add the concept of a node, and what cannot be taken of it."""
    try:
        values = _object(node, "the node")
        if values.get("type") not in (None, "CLASS"):
            return
        remarks: list[Rejected] = []
        concept = _concept(values, line, remarks)
        graph.items.extend(remarks)
        if values.get("lbl") is None:
            graph.unlabelled.add(concept.id)
        graph.items.append(concept)
    except RowError as error:
        graph.items.append(rejected(line, error.reason, _shown(node), skipped=error.skipped))


def _concept(node: Mapping[str, Any], line: int, remarks: list[Rejected]) -> Concept:
    meta = _object(node.get("meta") or {}, "meta")
    identifier = curie(_string(node, "id"), {})
    _unknown_keys(node, _NODE_KEYS, identifier, line, remarks)
    _unknown_keys(meta, _META_KEYS, identifier, line, remarks)
    names = _names(meta, identifier, line, remarks)
    many = _properties(meta, identifier, line, remarks)
    definition = meta.get("definition")
    obsolete = str(meta.get("deprecated", False)).lower() in ("true", "1")
    return Concept(
        id=identifier,
        label=_label(node, identifier, obsolete, names),
        names=names,
        definition=_string(_object(definition, "definition"), "val") if definition else None,
        xrefs=tuple(curie(_string(xref, "val"), {}) for xref in _list(meta, "xrefs")),
        obsolete=obsolete,
        line=line,
        alt_ids=tuple(many["alt_ids"]),
        semantic_types=tuple(many["semantic_types"]),
        replaced_by=tuple(many["replaced_by"]),
        consider=tuple(many["consider"]),
    )


def _label(
    node: Mapping[str, Any], identifier: str, obsolete: bool, names: tuple[Name, ...]
) -> str:
    """Return the label, else an exact synonym, else the id (other names, or obsolete)."""
    if node.get("lbl") is not None:
        label = _string(node, "lbl")
        if label.strip():
            return label
    exact = next((name.text for name in names if name.scope is Scope.EXACT), None)
    if exact is None and not names and not obsolete:
        raise RowError("the node has no label (lbl)", skipped=True)
    return exact or identifier


def _names(
    meta: Mapping[str, Any], identifier: str, line: int, remarks: list[Rejected]
) -> tuple[Name, ...]:
    names = []
    for synonym in _list(meta, "synonyms"):
        prop, text = _string(synonym, "pred"), _string(synonym, "val")
        kind = _SYNONYM_SCOPES.get(local_name(prop))
        if kind is None:
            flaw = synonym_flaw(prop) or f"{SYNONYM_FLAW} {prop}"
            remarks.append(rejected(line, flaw, f"{identifier} {text}"))
        elif text.strip():
            given = synonym.get("synonymType")
            names.append(
                Name(
                    text=text,
                    scope=kind[0],
                    name_type=type_name(given) if isinstance(given, str) and given else None,
                    xrefs=tuple(curie(str(xref), {}) for xref in synonym.get("xrefs") or ()),
                )
            )
        else:
            remarks.append(rejected(line, "a synonym is empty", identifier, skipped=True))
    return tuple(names)


def _properties(
    meta: Mapping[str, Any], identifier: str, line: int, remarks: list[Rejected]
) -> defaultdict[str, list[str]]:
    many: defaultdict[str, list[str]] = defaultdict(list)
    for one in _list(meta, "basicPropertyValues"):
        prop, value = _string(one, "pred"), one.get("val")
        target = _PROPERTIES.get(prop)
        if target is not None:
            many[target].append(curie(_string(one, "val"), {}))
            continue
        flaw = synonym_flaw(prop)
        if flaw is None and prop in SYNONYMS:
            flaw = f"{SYNONYM_FLAW} {prop}: synonyms stand under meta.synonyms"
        if flaw is not None:
            remarks.append(rejected(line, flaw, f"{identifier} {value}"))
    return many


def _unknown_keys(
    values: Mapping[str, Any],
    known: frozenset[str],
    identifier: str,
    line: int,
    remarks: list[Rejected],
) -> None:
    for key in (key for key in values if key not in known):
        flaw = synonym_flaw(key)
        if flaw is None and key == "synonyms":
            flaw = f"{SYNONYM_FLAW} synonyms: synonyms stand under meta"
        content = f"{identifier} {_shown(values[key])}"
        reason = flaw or f"OBO graphs have no key {key!r} here"
        remarks.append(rejected(line, reason, content, skipped=flaw is None))


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RowError(f"{what} is no JSON object")
    return value


def _list(values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = values.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RowError(f"{key} is no list of JSON objects")
    return found


def _string(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        raise RowError(f"{key} is no string" if key in values else f"there is no {key}")
    flaw = text_flaw(value)
    if flaw is not None:
        raise RowError(f"{key} {flaw}")
    return value


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
