"""L6: synonyms that stand only under `meta` of OBO graph JSON are names; a misspelt one is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mirror_index import Collection, link
from mirror_index.readers import read
from mirror_index.readers.lint import FindingKind, lint
from mirror_index.records import Concept, LinkStatus, Rejected, Scope
from tests.fakes import HashEncoder

OIO = "http://www.geneontology.org/formats/oboInOwl#"


def _write(path: Path, **more: Any) -> Path:
    node = {
        "id": "http://purl.obolibrary.org/obo/X_1",
        "lbl": "Myocardial infarction",
        "type": "CLASS",
        "meta": {
            "synonyms": [
                {"pred": "hasExactSynonym", "val": "Heart attack"},
                {"pred": "hasRelatedSynonym", "val": "Coronary event"},
            ],
        },
    }
    node["meta"] |= more  # type: ignore[operator]
    other = {"id": "http://purl.obolibrary.org/obo/X_2", "lbl": "Ptosis", "type": "CLASS"}
    path.write_text(json.dumps({"graphs": [{"nodes": [node, other]}]}, indent=2))
    return path


def test_they_can_be_searched_and_linked(tmp_path: Path) -> None:
    items = read(_write(tmp_path / "a.json"))
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (hits,) = collection.search(["coronary event"])
        assert (hits[0].concept_id, hits[0].scope) == ("X:1", Scope.RELATED)
        (answer,) = link(collection, ["heart attack"])
        assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "X:1")
        assert answer.label == "Myocardial infarction"


@pytest.mark.parametrize(
    "more",
    [
        {"synonyms": [{"pred": "hasExactSynonim", "val": "lost name"}]},
        {"synonyms": [{"pred": f"{OIO}hasExactSynonim", "val": "lost name"}]},
        {"synonyms": [{"pred": "hasSomeOther", "val": "lost name"}]},
        {"synonims": [{"pred": "hasExactSynonym", "val": "lost name"}]},
        {"basicPropertyValues": [{"pred": f"{OIO}hasExactSynonim", "val": "lost name"}]},
        {"basicPropertyValues": [{"pred": f"{OIO}hasExactSynonym", "val": "lost name"}]},
    ],
)
def test_a_misspelt_property_is_reported_with_its_line_and_text(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    path = _write(tmp_path / "a.json", **more)
    rejected, *concepts = read(path)
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("unknown synonym property")
    assert "lost name" in rejected.content
    assert (rejected.line, rejected.skipped) == (5, False)
    assert [concept.id for concept in concepts if isinstance(concept, Concept)] == ["X:1", "X:2"]
    assert lint(read(path)).counts == {FindingKind.SYNONYM_PROPERTY: 1}


def test_in_owl_and_obo_too(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f"@prefix oio: <{OIO}> .\n@prefix obo: <http://purl.obolibrary.org/obo/> .\n"
        'obo:X_1 a owl:Class ; rdfs:label "one" ;\n  oio:hasExactSynonim "lost name" .\n'
    )
    (tmp_path / "a.obo").write_text(
        'format-version: 1.4\n\n[Term]\nid: X:1\nname: one\nsynonim: "lost name" EXACT []\n'
    )
    for name in ("a.ttl", "a.obo"):
        rejected, concept = read(tmp_path / name)
        assert isinstance(rejected, Rejected)
        assert rejected.reason.startswith("unknown synonym property")
        assert (rejected.line, "lost name" in rejected.content) == (6, True)
        assert isinstance(concept, Concept)
        assert concept.label == "one"


_NODE = (
    '{"graphs": [{"nodes": [{"id": "http://purl.obolibrary.org/obo/X_1", "type": "CLASS", %s}]}]}'
)
_META = '"meta": {"synonyms": [{"pred": "%s", "val": "heart attack"}]}'
_TTL = (
    "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix oio: <%s> .\n"
    "@prefix obo: <http://purl.obolibrary.org/obo/> .\n"
    'obo:X_1 a owl:Class ; oio:%s "heart attack" .\n'
)
_OBO = 'format-version: 1.4\n\n[Term]\nid: X:1\nsynonym: "heart attack" %s []\n'


@pytest.mark.parametrize(
    ("kind", "label", "scope"),
    [("Exact", "heart attack", Scope.LABEL), ("Broad", "X:1", Scope.BROAD)],
)
def test_what_has_synonyms_only_is_found_by_them(
    tmp_path: Path, kind: str, label: str, scope: Scope
) -> None:
    prop = f"has{kind}Synonym"
    texts = {
        "a.json": _NODE % (_META % prop),
        "b.json": _NODE % ('"lbl": "", ' + _META % prop),
        "a.ttl": _TTL % (OIO, prop),
        "a.obo": _OBO % kind.upper(),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (concept,) = read(tmp_path / name)
        assert isinstance(concept, Concept), name
        assert (concept.id, concept.label) == ("X:1", label)
        scopes = {record.text: record.scope for record in concept.records()}
        assert scopes["heart attack"] == scope
