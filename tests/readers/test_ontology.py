"""OWL and SKOS: hand-written expectations, fastobo as a writer and rdflib as another reader."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import fastobo
import pytest
import rdflib

from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.readers.rdf import RdfSource
from mirror_index.records import Concept, Name, Rejected, Scope, SourceItem
from tests.readers.conftest import ReadBack

OWL = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY obo "http://purl.obolibrary.org/obo/"> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xmlns:oio="http://www.geneontology.org/formats/oboInOwl#" xmlns:obo="&obo;">
<owl:Ontology rdf:about="&obo;x.owl"><oio:default-namespace>tiny</oio:default-namespace>
{ontology}
</owl:Ontology>
{body}
</rdf:RDF>
"""
TTL = """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix ex: <http://example.org/> .
"""


def _owl(body: str, ontology: str = "") -> str:
    return OWL.replace("{body}", body).replace("{ontology}", ontology)


def _concepts(items: list[SourceItem]) -> list[Concept]:
    assert [item for item in items if not isinstance(item, Concept)] == []
    return [item for item in items if isinstance(item, Concept)]


def test_a_whole_class(read_back: ReadBack) -> None:
    body = """<owl:Axiom>
  <owl:annotatedSource rdf:resource="&obo;X_1"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>Infarct, cardiac</owl:annotatedTarget>
  <oio:hasSynonymType rdf:resource="&obo;x#layperson"/><oio:hasDbXref>PMID:2</oio:hasDbXref>
</owl:Axiom>
<owl:Class rdf:about="&obo;X_1">
  <rdfs:label xml:lang="en">Heart attack</rdfs:label>
  <obo:IAO_0000115>A "bad" day &amp; worse.</obo:IAO_0000115>
  <oio:hasExactSynonym>Infarct, cardiac</oio:hasExactSynonym>
  <oio:hasNarrowSynonym>MI</oio:hasNarrowSynonym>
  <oio:hasBroadSynonym>Event</oio:hasBroadSynonym>
  <oio:hasRelatedSynonym xml:lang="de">Herzinfarkt</oio:hasRelatedSynonym>
  <oio:hasAlternativeId>X:9</oio:hasAlternativeId>
  <oio:hasDbXref>UMLS:C1</oio:hasDbXref>
  <oio:hasOBONamespace>disease</oio:hasOBONamespace>
  <rdfs:subClassOf rdf:resource="&obo;X_2"/>
  <rdfs:subClassOf><owl:Restriction><owl:onProperty rdf:resource="&obo;BFO_50"/>
    <owl:someValuesFrom rdf:resource="&obo;X_3"/></owl:Restriction></rdfs:subClassOf>
</owl:Class>"""
    (concept,) = _concepts(read_back("a.owl", _owl(body)))
    assert concept == Concept(
        id="X:1",
        label="Heart attack",
        language="en",
        names=(
            Name(
                text="Infarct, cardiac",
                scope=Scope.EXACT,
                name_type="layperson",
                xrefs=("PMID:2",),
            ),
            Name(text="MI", scope=Scope.NARROW),
            Name(text="Event", scope=Scope.BROAD),
            Name(text="Herzinfarkt", scope=Scope.RELATED, language="de"),
        ),
        definition='A "bad" day & worse.',
        alt_ids=("X:9",),
        xrefs=("UMLS:C1",),
        parents=("X:2",),
        semantic_types=("disease",),
        line=15,
    )


@pytest.mark.parametrize("flag", ["true", "1"])
def test_obsolete_classes(read_back: ReadBack, flag: str) -> None:
    body = f"""<owl:Class rdf:about="&obo;X_1"><rdfs:label>obsolete one</rdfs:label>
<owl:deprecated>{flag}</owl:deprecated><obo:IAO_0100001 rdf:resource="&obo;X_2"/>
<oio:consider>X:3</oio:consider></owl:Class>
<owl:Class rdf:about="&obo;X_4"><owl:deprecated>{flag}</owl:deprecated>
<obo:IAO_0100001>X:5</obo:IAO_0100001></owl:Class>
<owl:Class rdf:about="&obo;X_6"><rdfs:label>six</rdfs:label>
<oio:hasAlternativeId>X:7</oio:hasAlternativeId><owl:deprecated>false</owl:deprecated></owl:Class>
<owl:Class rdf:about="&obo;X_7"><owl:deprecated>{flag}</owl:deprecated>
<obo:IAO_0100001 rdf:resource="&obo;X_6"/></owl:Class>
<owl:DeprecatedClass rdf:about="&obo;X_8"><rdfs:label>eight</rdfs:label></owl:DeprecatedClass>"""
    concepts = _concepts(read_back("a.owl", _owl(body)))
    assert [(c.id, c.label, c.obsolete, c.replaced_by, c.consider) for c in concepts] == [
        ("X:1", "obsolete one", True, ("X:2",), ("X:3",)),
        ("X:4", "X:4", True, ("X:5",), ()),
        ("X:6", "six", False, (), ()),  # X:7 is its alternative id and no concept of its own
        ("X:8", "eight", True, (), ()),
    ]


def test_properties_individuals_and_blank_nodes_are_no_concepts(read_back: ReadBack) -> None:
    body = """<owl:ObjectProperty rdf:about="&obo;X_1"><rdfs:label>part of</rdfs:label>
</owl:ObjectProperty><owl:NamedIndividual rdf:about="&obo;X_2"><rdfs:label>i</rdfs:label>
</owl:NamedIndividual><owl:Class><rdfs:label>anonymous</rdfs:label></owl:Class>
<owl:Class rdf:about="&obo;X_3"><rdfs:label>three</rdfs:label></owl:Class>"""
    anonymous, *concepts = read_back("a.owl", _owl(body))
    assert isinstance(anonymous, Rejected)
    assert (anonymous.content, anonymous.skipped) == ("anonymous", True)
    assert [c.id for c in _concepts(concepts)] == ["X:3"]


def test_what_is_not_taken_is_said_with_its_line(read_back: ReadBack) -> None:
    body = """<owl:Class rdf:about="&obo;X_1"/>
<owl:Class rdf:about="&obo;X_2"><rdfs:label>two</rdfs:label>
<oio:hasExactSynonim>zwei</oio:hasExactSynonim></owl:Class>
<owl:Class rdf:about="http://elsewhere.org/X_2"><rdfs:label>no</rdfs:label></owl:Class>
<owl:Class rdf:about="http://a.org/XX_2"><rdfs:label>a</rdfs:label></owl:Class>
<owl:Class rdf:about="http://b.org/XX_2"><rdfs:label>b</rdfs:label></owl:Class>"""
    imports = '<owl:imports rdf:resource="http://example.org/other.owl"/>'
    items = read_back("a.owl", _owl(body, imports))
    rows = [item for item in items if isinstance(item, Rejected)]
    assert [(row.line, row.skipped, row.reason) for row in rows] == [
        (7, True, "imports are not followed"),
        (9, True, "there is no label"),
        (
            11,
            False,
            "unknown synonym property http://www.geneontology.org/formats/oboInOwl#hasExactSynonim"
            "; did you mean hasExactSynonym?",
        ),
        (14, False, "the id XX:2 is that of http://a.org/XX_2 already"),
    ]
    assert rows[2].content == "http://purl.obolibrary.org/obo/X_2 zwei"
    concepts = [item for item in items if isinstance(item, Concept)]
    assert [c.id for c in concepts] == ["X:2", "http://elsewhere.org/X_2", "XX:2"]
    assert concepts[0].semantic_types == ("tiny",)


def test_ids_a_class_gives_itself_when_no_rule_makes_one(read_back: ReadBack) -> None:
    body = """<owl:Class rdf:about="http://a.org/x/y?z"><rdfs:label>a</rdfs:label><oio:id>A:1</oio:id>
</owl:Class><owl:Class rdf:about="&obo;B_1"><rdfs:label>b</rdfs:label><oio:id>C:1</oio:id>
<rdfs:subClassOf rdf:resource="http://a.org/x/y?z"/></owl:Class>"""
    concepts = _concepts(read_back("a.owl", _owl(body)))
    assert [(c.id, c.parents) for c in concepts] == [("A:1", ()), ("B:1", ("A:1",))]


SKOS = (
    TTL
    + """
ex:apple a skos:Concept ;
  skos:prefLabel "Apfel"@de, "apple"@en, "pomme"@fr ;
  skos:altLabel "apple fruit"@en-GB, "malum" ; skos:hiddenLabel "aple"@en ;
  skos:notation "F1" ; skos:definition "Eine Frucht"@de, "A fruit"@en ;
  skos:broader ex:fruit ; skos:inScheme ex:foods ; skos:exactMatch <http://other.org/A_1> .
ex:fruit a skos:Concept ; skos:prefLabel "Obst"@de ; skos:narrower ex:pear .
ex:pear a skos:Concept ; xl:prefLabel ex:pearLabel ; xl:altLabel [ xl:literalForm "Birne"@de ] .
ex:pearLabel xl:literalForm "pear"@en .
ex:quince a skos:Concept ; skos:prefLabel "quince"@en ; owl:deprecated true ;
  dct:isReplacedBy ex:pear .
"""
)


def test_a_thesaurus(read_back: ReadBack) -> None:
    apple, fruit, pear, quince = _concepts(read_back("a.ttl", SKOS))
    assert apple == Concept(
        id="ex:apple",
        label="apple",
        language="en",
        names=(
            Name(text="apple fruit", scope=Scope.EXACT, language="en-gb"),
            Name(text="malum", scope=Scope.EXACT),
            Name(text="aple", scope=Scope.EXACT, name_type="hidden", language="en"),
            Name(text="Apfel", scope=Scope.EXACT, name_type="preferred", language="de"),
            Name(text="pomme", scope=Scope.EXACT, name_type="preferred", language="fr"),
        ),
        definition="A fruit",
        alt_ids=("F1",),
        xrefs=("http://other.org/A_1",),
        parents=("ex:fruit",),
        semantic_types=("ex:foods",),
        line=8,
    )
    assert (fruit.label, fruit.language, fruit.line) == ("Obst", "de", 13)
    assert (pear.label, pear.names[0].text, pear.parents) == ("pear", "Birne", ("ex:fruit",))
    assert (quince.obsolete, quince.replaced_by) == (True, ("ex:pear",))


def test_a_choice_of_languages(read_back: ReadBack) -> None:
    *concepts, row = read_back("a.ttl", SKOS, languages=("de", "en"))
    assert isinstance(row, Rejected)
    assert row.reason == "1 names are not in a chosen language and were left out (fr 1)"
    apple = concepts[0]
    assert isinstance(apple, Concept)
    assert (apple.label, apple.definition) == ("Apfel", "Eine Frucht")
    records = {record.text: dict(record.metadata) for record in apple.records()}
    assert records == {
        "Apfel": {"language": "de"},
        "apple": {"language": "en"},
        "apple fruit": {"language": "en-gb"},
        "malum": {},
        "aple": {"language": "en"},
    }


def test_a_concept_without_a_name_in_the_language_is_skipped(read_back: ReadBack) -> None:
    items = read_back("a.ttl", SKOS, languages=("fr",))
    assert [(i.line, i.reason) for i in items if isinstance(i, Rejected)] == [
        (13, "there is no label in a chosen language"),
        (14, "there is no label in a chosen language"),
        (0, "8 names are not in a chosen language and were left out (en 4, de 3, en-gb 1)"),
    ]
    assert [i.label for i in items if isinstance(i, Concept)] == ["pomme", "ex:quince"]
    with pytest.raises(SourceError, match=r"no name is in a chosen language.*The languages there"):
        read_back("b.ttl", SKOS.replace(', "malum"', ""), languages=("xx",))


def test_formats_take_their_own_vocabulary(read_back: ReadBack) -> None:
    mixed = SKOS + 'ex:c a owl:Class ; skos:prefLabel "class" .\n'
    assert len(_concepts(read_back("a.ttl", mixed))) == 5
    assert [c.id for c in _concepts(read_back("a.ttl", mixed, format="owl"))] == ["ex:c"]
    assert len(_concepts(read_back("a.ttl", mixed, format="skos"))) == 4
    with pytest.raises(SourceError, match=r"no concept of the format owl, but 4 of skos"):
        read_back("a.ttl", SKOS, format="owl")
    assert read_back("a.ttl", TTL + "ex:a ex:b ex:c .") == []


def test_relative_iris_stay_relative(read_back: ReadBack) -> None:
    (concept,) = _concepts(read_back("a.ttl", TTL + '<#a> a skos:Concept ; skos:prefLabel "a" .'))
    assert concept.id == "#a"


def test_gzip_bom_and_crlf(read_back: ReadBack) -> None:
    plain = _concepts(read_back("a.ttl", SKOS))
    packed = gzip.compress(SKOS.encode())
    assert _concepts(read_back("a.ttl.gz", packed)) == plain
    assert _concepts(read_back("b.ttl", packed)) == plain
    marked = b"\xef\xbb\xbf" + SKOS.replace("\n", "\r\n").encode()
    assert _concepts(read_back("c.ttl", marked)) == plain


def test_the_statements_are_those_of_rdflib(tmp_path: Path) -> None:
    body = _LABEL.replace("<rdfs:label>{}", '<rdfs:label xml:lang="de">é &lt; x')
    for name, content, kind in (("a.ttl", SKOS, "turtle"), ("a.owl", _owl(body), "xml")):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        graph = rdflib.Graph().parse(path, format=kind)
        expected = sorted(
            (_bare(s), str(p), _bare(o), (getattr(o, "language", None) or "").lower())
            for s, p, o in graph
        )
        found = sorted(
            (_bare(s.subject), s.predicate, _bare(s.value), s.language or "")
            for s in RdfSource(path).statements()
        )
        assert found == expected


def _bare(node: object) -> str:
    if isinstance(node, rdflib.BNode) or str(node).startswith("_:"):
        return "_"
    return str(node)


def test_a_real_ontology_as_another_library_writes_it(hp_part: Path, tmp_path: Path) -> None:
    fastobo.dump_owl(fastobo.load(str(hp_part)), str(tmp_path / "part.owl"), format="rdf")
    expected = {c.id: _unordered(c) for c in read(hp_part) if isinstance(c, Concept)}
    found = {c.id: _unordered(c) for c in _concepts(list(read(tmp_path / "part.owl")))}
    assert len(expected) == 700
    assert found == expected


def _unordered(concept: Concept) -> Concept:
    """The same whatever the order of what has none, and without the line."""
    names = [replace(name, xrefs=tuple(sorted(set(name.xrefs)))) for name in concept.names]
    return replace(
        concept,
        names=tuple(sorted(names, key=lambda name: (name.text, name.scope.rank))),
        alt_ids=tuple(sorted(concept.alt_ids)),
        xrefs=tuple(sorted(concept.xrefs)),
        parents=tuple(sorted(concept.parents)),
        consider=tuple(sorted(concept.consider)),
        line=None,
    )


_LABEL = '<owl:Class rdf:about="&obo;X_1"><rdfs:label>{}</rdfs:label></owl:Class>'
_BOMB = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


def _with_entities(entities: str, text: str) -> str:
    return _owl(_LABEL.replace("{}", text)).replace("<!ENTITY obo", entities + "<!ENTITY obo")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (_with_entities('<!ENTITY a0 "ha">' + _BOMB, "&a11;"), "'a5' expands to more than 65536"),
        (_with_entities(f'<!ENTITY q "{"x" * 60000}">', "&q;" * 20000), "amplification"),
        (_with_entities('<!ENTITY f SYSTEM "file:///etc/passwd">', "&f;"), "file:///etc/passwd"),
        (_with_entities('<!ENTITY % p SYSTEM "http://x.org/x.dtd"> %p;', "a"), "stand for a text"),
        (_owl("<rdf:Description><owl:a>" * 2000), "nested more than 1000 deep"),
        (_owl(_LABEL)[:-20], "line 9"),
        (_owl(_LABEL).replace("</rdfs:label>", ""), "mismatched tag.*line 9"),
        ("<html><body>Not found</body></html>", "outermost element is html"),
        ('<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>', "OWL/XML"),
        ("Prefix(:=<http://a.org/>)\nOntology(<http://a.org/>)", "functional or Manchester"),
        ("Prefix: : <http://a.org/>\nOntology: <http://a.org/>", "functional or Manchester"),
        ("id,name\n1,2\n", "no RDF that can be read.*line 1"),
        ('{"graphs": []}', "no RDF that can be read.*line 1"),
        (TTL + 'ex:a skos:prefLabel "open\n', "no RDF that can be read.*line 7"),
        (TTL + 'ex:a skos:prefLabel "cut" ;\n  a', "no RDF that can be read.*line 8"),
        (b'@prefix a: <http://a/> .\na:b a:c "\xe9" .\n', "UTF-8.*line 2"),
        (_owl("").encode("utf-16"), "no RDF that can be read"),
        ('<?xml version="1.0" encoding="iso-8859-1"?>' + _owl("")[21:], "Only UTF-8"),
        ("", "the source is empty"),
        (b"\xef\xbb\xbf \n", "the source is empty"),
        (gzip.compress(_owl(_LABEL * 50).encode())[:200], "cannot be read"),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, str) else "bytes",
)
def test_hostile_sources_end_in_one_error(
    read_back: ReadBack, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(SourceError, match=f"(?s){complaint}"):
        read_back("a.owl", content)


def test_a_long_line_and_a_nul(read_back: ReadBack) -> None:
    long = "x" * 3_000_000
    items = read_back("a.ttl", TTL + f'ex:a a skos:Concept ; skos:prefLabel "{long}" .\n')
    assert [c.label for c in _concepts(items)] == [long]
    (row,) = read_back("b.ttl", TTL + 'ex:a a skos:Concept ; skos:prefLabel "a\\u0000b" .\n')
    assert isinstance(row, Rejected)
    assert (row.line, row.reason, row.skipped) == (7, "a name holds a NUL character", False)


def test_nothing_outside_the_source_is_opened(
    read_back: ReadBack, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("no network")

    monkeypatch.setattr(socket, "socket", refuse)
    imports = '<owl:imports rdf:resource="http://example.org/other.owl"/>'
    items = read_back("a.owl", _owl(_LABEL.replace("{}", "one"), imports))
    assert [item.label for item in items if isinstance(item, Concept)] == ["one"]
