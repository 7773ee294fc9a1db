"""OBO graph JSON: hand-written expectations, and a whole ontology written by the test itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import fastobo
import pytest

from mirror_index.errors import SourceError, UsageError
from mirror_index.readers import read
from mirror_index.records import Concept, Name, Rejected, Scope, SourceItem
from tests.readers.conftest import ReadBack

OBO = "http://purl.obolibrary.org/obo/"
OIO = "http://www.geneontology.org/formats/oboInOwl#"


def _document(*nodes: Any, edges: Any = (), meta: Any = None) -> str:
    graph = {"id": "x", "meta": meta or {}, "nodes": list(nodes), "edges": list(edges)}
    return json.dumps({"graphs": [graph]}, indent=1)


def _node(name: str = "X_1", lbl: str | None = "one", **meta: Any) -> dict[str, Any]:
    node = {"id": f"{OBO}{name}", "type": "CLASS", "meta": meta}
    return node if lbl is None else {**node, "lbl": lbl}


def _concepts(items: list[SourceItem]) -> list[Concept]:
    assert [item for item in items if not isinstance(item, Concept)] == []
    return [item for item in items if isinstance(item, Concept)]


def _rows(items: list[SourceItem]) -> list[Rejected]:
    return [item for item in items if isinstance(item, Rejected)]


def test_a_whole_node(read_back: ReadBack) -> None:
    node = _node(
        lbl="Heart attack",
        definition={"val": "A bad day.", "xrefs": ["PMID:1"]},
        comments=["anything"],
        subsets=["slim"],
        synonyms=[
            {
                "pred": "hasExactSynonym",
                "val": "Infarct, cardiac",
                "xrefs": ["PMID:2"],
                "synonymType": f"{OBO}x#layperson",
            },
            {"pred": "hasNarrowSynonym", "val": "MI", "synonymType": f"{OBO}OMO_0003012"},
            {"pred": "hasBroadSynonym", "val": "Event", "synonymType": ""},
            {"pred": f"{OIO}hasRelatedSynonym", "val": "Blow"},
        ],
        xrefs=[{"val": "UMLS:C1"}, {"val": f"{OBO}MESH_D1"}],
        basicPropertyValues=[
            {"pred": f"{OIO}hasAlternativeId", "val": "X:9"},
            {"pred": f"{OIO}hasOBONamespace", "val": "disease"},
            {"pred": "http://purl.org/dc/terms/creator", "val": "someone"},
        ],
    )
    edges = [
        {"sub": f"{OBO}X_1", "pred": "is_a", "obj": f"{OBO}X_2"},
        {"sub": f"{OBO}X_1", "pred": f"{OBO}BFO_0000050", "obj": f"{OBO}X_3"},
    ]
    (concept,) = _concepts(read_back("a.json", _document(node, edges=edges)))
    assert concept == Concept(
        id="X:1",
        label="Heart attack",
        names=(
            Name(
                text="Infarct, cardiac",
                scope=Scope.EXACT,
                name_type="layperson",
                xrefs=("PMID:2",),
            ),
            Name(text="MI", scope=Scope.NARROW, name_type="OMO:0003012"),
            Name(text="Event", scope=Scope.BROAD),
            Name(text="Blow", scope=Scope.RELATED),
        ),
        definition="A bad day.",
        alt_ids=("X:9",),
        xrefs=("UMLS:C1", "MESH:D1"),
        parents=("X:2",),
        semantic_types=("disease",),
        line=7,
    )


def test_lines_default_namespace_and_edges_before_nodes(read_back: ReadBack) -> None:
    content = (
        '{"other": {"a": [1, {"nodes": []}]},\n"graphs": [\n'
        '{"edges": [{"sub": "X:2", "pred": "is_a", "obj": "X:1"}],\n'
        '"nodes": [{"id": "X:1", "lbl": "one"},\n\n{"id": "X:2",\n"lbl": "two"}],\n'
        f'"meta": {{"basicPropertyValues": [{{"pred": "{OIO}default-namespace", '
        '"val": "ns"}]}},\n'
        '{"nodes": [{"id": "X:3", "lbl": "three", "meta": null}]}]}\n'
    )
    concepts = _concepts(read_back("a.json", content))
    assert [(c.id, c.line, c.parents, c.semantic_types) for c in concepts] == [
        ("X:1", 4, (), ("ns",)),
        ("X:2", 6, ("X:1",), ("ns",)),
        ("X:3", 9, (), ()),
    ]


def test_obsolete_nodes_and_merged_ones(read_back: ReadBack) -> None:
    gone = {"pred": f"{OBO}IAO_0100001", "val": f"{OBO}X_2"}
    nodes = [
        _node("X_1", "obsolete one", deprecated=True, basicPropertyValues=[gone]),
        _node(
            "X_2",
            "two",
            deprecated=False,
            basicPropertyValues=[{"pred": f"{OIO}hasAlternativeId", "val": "X:3"}],
        ),
        _node("X_3", None, deprecated=True, basicPropertyValues=[gone]),
        _node("X_4", None, deprecated=True),
        _node(
            "X_5",
            "five",
            deprecated=True,
            basicPropertyValues=[{"pred": f"{OIO}consider", "val": "X:2"}],
        ),
    ]
    concepts = _concepts(read_back("a.json", _document(*nodes)))
    assert [(c.id, c.label, c.obsolete, c.replaced_by, c.consider) for c in concepts] == [
        ("X:1", "obsolete one", True, ("X:2",), ()),
        ("X:2", "two", False, (), ()),
        ("X:4", "X:4", True, (), ()),
        ("X:5", "five", True, (), ("X:2",)),
    ]


def test_other_kinds_of_node_are_no_terms(read_back: ReadBack) -> None:
    nodes = [_node(), {**_node("X_2"), "type": "PROPERTY"}, {**_node("X_3"), "type": "INDIVIDUAL"}]
    assert [c.id for c in _concepts(read_back("a.json", _document(*nodes)))] == ["X:1"]


@pytest.mark.parametrize(
    ("node", "reason", "skipped"),
    [
        ("text", "the node is no JSON object", False),
        ({"lbl": "x"}, "there is no id", False),
        ({"id": 7, "lbl": "x"}, "id is no string", False),
        ({"id": "X:1"}, "the node has no label (lbl)", True),
        ({"id": "X:1", "lbl": " "}, "the node has no label (lbl)", True),
        ({"id": "X:1", "lbl": ["x"]}, "lbl is no string", False),
        ({"id": "X:1", "lbl": "a\0b"}, "lbl holds a NUL character", False),
        ({"id": "X:1", "lbl": "a\ud800"}, "lbl holds the lone surrogate U+D800", False),
        ({"id": "X:1", "lbl": "x", "meta": []}, None, False),
        ({"id": "X:1", "lbl": "x", "meta": "m"}, "meta is no JSON object", False),
        ({"id": "X:1", "lbl": "x", "meta": {"synonyms": {}}}, None, False),
        (
            {"id": "X:1", "lbl": "x", "meta": {"synonyms": ["y"]}},
            "synonyms is no list of JSON objects",
            False,
        ),
        (
            {"id": "X:1", "lbl": "x", "meta": {"synonyms": [{"val": "y"}]}},
            "there is no pred",
            False,
        ),
        (
            {"id": "X:1", "lbl": "x", "meta": {"synonyms": [{"pred": "hasExactSynonym"}]}},
            "there is no val",
            False,
        ),
    ],
)
def test_a_bad_node_costs_itself_only(
    read_back: ReadBack, node: Any, reason: str | None, skipped: bool
) -> None:
    items = read_back("a.json", _document(node, _node("X_2", "two")))
    assert [i.id for i in items if isinstance(i, Concept)][-1] == "X:2"
    if reason is None:
        assert _rows(items) == []
        return
    (row,) = _rows(items)
    assert (row.line, row.reason, row.skipped) == (7, reason, skipped)


def test_bad_edges_and_bad_meta_are_named(read_back: ReadBack) -> None:
    edges = [{"sub": "X:1", "pred": "is_a"}, 5]
    items = read_back("a.json", _document(_node(), edges=edges, meta={"basicPropertyValues": 1}))
    assert [row.reason for row in _rows(items)] == [
        "basicPropertyValues is no list of JSON objects",
        "there is no obj",
        "the edge is no JSON object",
    ]
    assert [i.id for i in items if isinstance(i, Concept)] == ["X:1"]


def test_a_real_ontology_as_the_test_writes_it(hp_part: Path, tmp_path: Path) -> None:
    expected = [c for c in read(hp_part) if isinstance(c, Concept)]
    (tmp_path / "part.json").write_text(_written(expected), encoding="utf-8")
    found = _concepts(list(read(tmp_path / "part.json")))
    assert len(expected) == 700
    assert [_without_line(c) for c in found] == [_without_line(c) for c in expected]


def _without_line(concept: Concept) -> tuple[object, ...]:
    return tuple(getattr(concept, name) for name in Concept.__slots__ if name != "line")


def _written(concepts: list[Concept]) -> str:
    """A writer of OBO graphs, for concepts of an OBO file."""
    nodes = [
        {
            "id": _iri(c.id),
            "lbl": c.label,
            "type": "CLASS",
            "meta": {
                "definition": {"val": c.definition} if c.definition else None,
                "synonyms": [
                    {
                        "pred": f"has{name.scope.value.capitalize()}Synonym",
                        "val": name.text,
                        "xrefs": list(name.xrefs),
                        **({"synonymType": f"{OBO}hp#{name.name_type}"} if name.name_type else {}),
                    }
                    for name in c.names
                ],
                "xrefs": [{"val": xref} for xref in c.xrefs],
                "basicPropertyValues": [
                    *({"pred": f"{OIO}hasAlternativeId", "val": alt} for alt in c.alt_ids),
                    *({"pred": f"{OBO}IAO_0100001", "val": _iri(to)} for to in c.replaced_by),
                    *({"pred": f"{OIO}consider", "val": to} for to in c.consider),
                    *({"pred": f"{OIO}hasOBONamespace", "val": ns} for ns in c.semantic_types),
                ],
                "deprecated": c.obsolete,
            },
        }
        for c in concepts
    ]
    edges = [
        {"sub": _iri(c.id), "pred": "is_a", "obj": _iri(to)} for c in concepts for to in c.parents
    ]
    return json.dumps({"graphs": [{"nodes": nodes, "edges": edges}]})


def _iri(short: str) -> str:
    return OBO + short.replace(":", "_", 1)


def test_a_real_ontology_as_another_library_writes_it(hp_part: Path, tmp_path: Path) -> None:
    """The other library writes no synonyms, so only the rest is compared."""
    with (tmp_path / "part.json").open("wb") as stream:
        fastobo.dump_graph(fastobo.load(str(hp_part)), stream)
    expected = {c.id: c for c in read(hp_part) if isinstance(c, Concept)}
    found = {c.id: c for c in _concepts(list(read(tmp_path / "part.json")))}
    assert found.keys() == expected.keys()
    for one in found.values():
        other = expected[one.id]
        assert (one.label, one.definition) == (other.label, other.definition)
        assert sorted(one.parents) == sorted(other.parents)
        assert sorted(one.alt_ids) == sorted(other.alt_ids)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the source is empty"),
        ("\ufeff \n", "not JSON|empty|no OBO graph"),
        ("[]", "no OBO graph document"),
        ("{}", "no OBO graph document"),
        ('{"a": 1}\n{"a": 2}\n', "more than one value.*line 2"),
        ('{"graphs": {}}', "'\\[' is expected.*line 1"),
        ('{"graphs": [1]}', "'{' is expected"),
        (_document(_node())[:-40], "this is not JSON.*line"),
        ('{"graphs": [{"nodes": [{"id": "X:1",}]}]}', "this is not JSON"),
        ('{"graphs": [], }', "this is not JSON"),
        ('{"graphs": [] 5}', "',' is expected"),
        ("{graphs: []}", "this is not JSON"),
        ("{1: []}", "a key in double quotes"),
        ('{"a": ' + "[" * 100_000, "this JSON cannot be used"),
        ('{"graphs": [{"nodes": [{"id": "X:1", "lbl": "\xe9"}]}]}'.encode("latin-1"), "byte 0xE9"),
        ("id: X:1\n", "no OBO graph document"),
        (gzip.compress(_document(_node()).encode())[:-10], "cannot be read"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "bytes",
)
def test_hostile_sources_end_in_one_error(
    read_back: ReadBack, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(SourceError, match=f"(?s){complaint}"):
        read_back("a.json", content)


def test_ten_megabytes_on_one_line(read_back: ReadBack) -> None:
    nodes = [
        {"id": f"X:{n}", "lbl": f"name {n} {'x' * 900}", "type": "CLASS"} for n in range(10_000)
    ]
    content = json.dumps({"graphs": [{"nodes": nodes}]})
    assert len(content) > 9_000_000
    concepts = _concepts(read_back("a.json", content))
    assert [c.id for c in concepts] == [f"X:{n}" for n in range(10_000)]
    assert {c.line for c in concepts} == {1}


def test_gzip_bom_crlf_and_encoding(read_back: ReadBack) -> None:
    content = _document(_node(lbl="é"))
    plain = _concepts(read_back("a.json", content))
    assert _concepts(read_back("a.json.gz", gzip.compress(content.encode()))) == plain
    marked = b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode()
    assert _concepts(read_back("b.json", marked)) == plain
    raw = json.dumps(json.loads(content), ensure_ascii=False, indent=1).encode("utf-16")
    assert _concepts(read_back("c.json", raw, encoding="utf-16")) == plain
    with pytest.raises(UsageError, match="unknown character encoding"):
        read_back("d.json", content, encoding="utf-99")
