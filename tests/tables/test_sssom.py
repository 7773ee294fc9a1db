"""SSSOM output: read back by a strict reader written from the specification, and by its library."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import Collection
from mirror_index.errors import UsageError
from mirror_index.records import Concept, Name, Scope
from mirror_index.tables import SssomOptions, link_table
from mirror_index.tables.sources import MentionList
from tests.dictionaries import Build

# What the specification calls built in; every other prefix must be declared.
BUILT_IN = {"owl", "rdf", "rdfs", "semapv", "skos", "sssom", "linkml", "xsd"}
JUSTIFICATIONS = {
    "semapv:LexicalMatching",
    "semapv:LexicalSimilarityThresholdMatching",
    "semapv:SemanticSimilarityThresholdMatching",
    "semapv:ManualMappingCuration",
    "semapv:CompositeMatching",
}
ITEMS = (
    Concept(
        id="HP:1",
        label="Seizure",
        names=(
            Name(text="fits", scope=Scope.EXACT),
            Name(text="convulsion", scope=Scope.NARROW),
            Name(text="shaking", scope=Scope.BROAD),
        ),
    ),
    Concept(
        id="X-Y.z:2",
        label="Headache | pain",
        names=(Name(text="cephalgia", scope=Scope.RELATED),),
    ),
    Concept(id="D 3", label='quoted "name"'),
    Concept(id="https://example.org/a#b_4", label="Iri thing"),
    Concept(id="HP:5", label="fits"),
    Concept(id="skos:6", label="Clash of prefixes"),
)
MENTIONS = (
    *("seizure", "fits", "convulsion", "shaking", "cephalgia", "headache | pain", 'quoted "name"'),
    *("iri thing", "seizuree problem", "zzz qqq", "", "!!!", " ", "seizure", "clash of prefixes"),
    *('a "b"\tc\nd', "#start", "epileptic zeizures"),
)


@dataclass
class MappingSet:
    metadata: dict[str, str]
    prefixes: dict[str, str]
    rows: list[dict[str, str]]


def read_strictly(text: str) -> MappingSet:
    """Read SSSOM/TSV, asserting what the specification demands."""
    assert "\r" not in text
    assert not text.startswith("\ufeff")
    metadata: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    stream = io.StringIO(text, newline="")
    section = ""
    line = stream.readline()
    while line.startswith("#"):
        found = re.fullmatch(r"#(  )?([\w.-]+):(?: (.+))?\n", line)
        assert found, line
        value = found[3] or ""
        if value.startswith('"'):
            assert value.endswith('"')
            value = value[1:-1]
        else:
            assert not re.search(r": |^[\d'&*!|>%@`#]| #", value), line
        if found[1]:
            assert section == "curie_map"
            assert found[2] not in prefixes
            prefixes[found[2]] = value
        else:
            section = found[2]
            metadata[section] = value
        line = stream.readline()
    header = line.rstrip("\n").split("\t")
    rows = [
        dict(zip(header, cells, strict=True))
        for cells in csv.reader(stream, "excel-tab", strict=True)
    ]
    check(metadata, prefixes, rows)
    return MappingSet(metadata, prefixes, rows)


def check(metadata: dict[str, str], prefixes: dict[str, str], rows: list[dict[str, str]]) -> None:
    assert re.match(r"(https?://|urn:)", metadata["mapping_set_id"])
    assert re.match(r"https?://", metadata["license"])
    assert metadata["subject_type"] == "rdfs literal"
    assert metadata["sssom_version"] == "1.1"
    used = {metadata["object_source"].partition(":")[0]}
    for row in rows:
        assert row["subject_label"].strip()
        for slot in ("predicate_id", "object_id", "mapping_justification"):
            assert re.fullmatch(r"[A-Za-z_][\w.-]*:[^\s|\"<>]+", row[slot]), row
        assert row["mapping_justification"] in JUSTIFICATIONS
        assert 0 <= float(row["confidence"]) <= 1
        assert row["similarity_score"] == "" or 0 <= float(row["similarity_score"]) <= 1
        used |= {
            value.partition(":")[0]
            for slot in ("predicate_id", "object_id", "mapping_justification", "object_match_field")
            for value in row[slot].split("|")
            if value
        }
    assert used - BUILT_IN == set(prefixes)
    assert not BUILT_IN & set(prefixes)
    assert list(prefixes) == sorted(prefixes)
    keys = [tuple(row.values()) for row in rows]
    assert len(set(keys)) == len(keys)


@pytest.fixture
def mapped(build: Build, tmp_path: Path) -> tuple[Collection, Path, Any]:
    collection = build(ITEMS)
    output = tmp_path / "out.sssom.tsv"
    return collection, output, link_table(collection, MentionList(MENTIONS), output)


def test_mappings(mapped: tuple[Collection, Path, Any]) -> None:
    _, output, report = mapped
    found = read_strictly(output.read_text(encoding="utf-8"))
    by_mention: dict[str, list[dict[str, str]]] = {}
    for row in found.rows:
        by_mention.setdefault(row["subject_label"], []).append(row)
    assert set(by_mention) == {mention for mention in MENTIONS if mention.strip()}
    shape = {
        mention: [(row["predicate_id"], row["object_id"]) for row in rows]
        for mention, rows in by_mention.items()
    }
    assert shape["seizure"] == [("skos:exactMatch", "HP:1")]
    assert sorted(shape["fits"]) == [("skos:closeMatch", "HP:1"), ("skos:closeMatch", "HP:5")]
    assert shape["convulsion"] == [("skos:broadMatch", "HP:1")]
    assert shape["shaking"] == [("skos:narrowMatch", "HP:1")]
    assert shape["cephalgia"] == [("skos:relatedMatch", "X-Y.z:2")]
    assert shape['quoted "name"'] == [("skos:exactMatch", "local:D%203")]
    assert shape["iri thing"] == [("skos:exactMatch", "ns1:4")]
    assert shape["clash of prefixes"] == [("skos:exactMatch", "local:skos:6")]
    assert found.prefixes["ns1"] == "https://example.org/a#b_"
    assert found.prefixes["HP"] == "http://purl.obolibrary.org/obo/HP_"
    for mention in ("zzz qqq", "!!!", "#start"):
        assert shape[mention] == [("skos:exactMatch", "sssom:NoTermFound")]
    assert float(by_mention["!!!"][0]["confidence"]) == 1.0
    assert by_mention["seizure"][0]["match_string"] == "seizure"
    assert by_mention["seizure"][0]["object_match_field"] == "rdfs:label"
    assert by_mention["fits"][0]["comment"].startswith("ambiguous")
    assert report.records == len(found.rows)
    assert report.left_out == 3  # "", " " and the repeat
    assert set(report.unknown_prefixes) == {"X-Y.z", "local"}


def test_what_is_ambiguous_about_a_single_concept(build: Build, tmp_path: Path) -> None:
    collection = build([Concept(id="HP:1", label="relapsing-remitting polychondritis")])
    output = tmp_path / "out.sssom.tsv"
    link_table(collection, MentionList(["painful relapsing-remitting polychondritis"]), output)
    (row,) = read_strictly(output.read_text(encoding="utf-8")).rows
    assert (row["predicate_id"], row["object_id"]) == ("skos:closeMatch", "HP:1")
    assert row["comment"].startswith("ambiguous: the concept may be more general")


@pytest.mark.filterwarnings("default")  # what the library calls is deprecated in its own parts
def test_the_library_reads_and_validates_it(mapped: tuple[Collection, Path, Any]) -> None:
    parsers = pytest.importorskip("sssom.parsers", reason="the sssom library is not installed")
    validators = pytest.importorskip("sssom.validators")
    read = parsers.parse_sssom_table(mapped[1])
    assert set(read.df["subject_label"]) == {mention for mention in MENTIONS if mention.strip()}
    assert set(read.df["subject_type"]) == {"rdfs literal"}
    validators.validate(read, fail_on_error=True)


def test_what_a_set_says_about_itself(build: Build) -> None:
    collection = build(ITEMS)

    def written(**options: Any) -> MappingSet:
        out = io.StringIO()
        link_table(
            collection,
            MentionList(["cephalgia"]),
            out,
            output_format="sssom",
            sssom=SssomOptions(**options),
        )
        return read_strictly(out.getvalue())

    default = written()
    assert default.metadata["license"] == "https://w3id.org/sssom/license/unspecified"
    assert default.metadata["mapping_set_id"] == written().metadata["mapping_set_id"]
    assert default.prefixes["X-Y.z"].startswith("urn:")
    own = written(
        license="https://creativecommons.org/publicdomain/zero/1.0/",
        mapping_set_id="https://example.org/set?a=b&c=d",
        prefixes={"X-Y.z": "https://example.org/xyz#"},
    )
    assert own.metadata["license"] == "https://creativecommons.org/publicdomain/zero/1.0/"
    assert own.metadata["mapping_set_id"] == "https://example.org/set?a=b&c=d"
    assert own.prefixes["X-Y.z"] == "https://example.org/xyz#"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"license": "CC0"}, "license is no absolute IRI: 'CC0'"),
        ({"mapping_set_id": "my set"}, "mapping set id is no absolute IRI"),
        ({"prefixes": {"skos": "https://x.org/"}}, "cannot be declared: 'skos=https://x.org/'"),
        ({"prefixes": {"A B": "https://x.org/"}}, "cannot be declared"),
        ({"prefixes": {"A": "nowhere"}}, "cannot be declared"),
    ],
)
def test_options_that_make_no_valid_set(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SssomOptions(**options)


def test_the_parts_of_a_composite_mention_are_related(build: Build) -> None:
    out = io.StringIO()
    link_table(build(), MentionList(["seizure and cephalgia"]), out, output_format="sssom")
    rows = read_strictly(out.getvalue()).rows
    assert [(row["predicate_id"], row["object_id"]) for row in rows] == [
        ("skos:relatedMatch", "D:6"),
        ("skos:relatedMatch", "D:7"),
    ]
    assert {row["subject_label"] for row in rows} == {"seizure and cephalgia"}
    assert {row["mapping_justification"] for row in rows} == {"semapv:CompositeMatching"}
    assert rows[1]["comment"] == "composite: the part 'cephalgia'"


def test_an_empty_set_is_still_one(build: Build) -> None:
    out = io.StringIO()
    report = link_table(build(ITEMS), MentionList([""]), out, output_format="sssom")
    assert read_strictly(out.getvalue()).rows == []
    assert (report.records, report.left_out) == (0, 1)
