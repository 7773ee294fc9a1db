"""Reading dictionaries of every kind from the command line, and `lint`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ONTOLOGY, Run

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:apple a skos:Concept ; skos:prefLabel "apple"@en, "Apfel"@de ; skos:altLabel "malum" .
ex:pear a skos:Concept ; skos:prefLabel "pear"@en, "Birne"@de .
"""
ROW = "{cui}|{lat}|P|L|PF|S|Y|A||||{sab}|PT|{cui}|{text}|0|N||\n"


@pytest.fixture
def sources(workshop: Path, tmp_path: Path) -> Path:
    (tmp_path / "fruit.ttl").write_text(SKOS, encoding="utf-8")
    rows = [
        ("C1", "ENG", "MSH", "Fever"),
        ("C1", "GER", "MSHGER", "Fieber"),
        ("C2", "ENG", "X", "Y"),
    ]
    (tmp_path / "MRCONSO.RRF").write_text(
        "".join(ROW.format(cui=c, lat=lang, sab=sab, text=text) for c, lang, sab, text in rows)
    )
    (tmp_path / "m.sssom.tsv").write_text(
        "#mapping_set_id: http://x.org/m\nsubject_label\tpredicate_id\tobject_id\n"
        "cardiac arrest of a sort\tskos:closeMatch\tT:1\nnobody\tskos:exactMatch\tZ:1\n"
    )
    return tmp_path


def test_languages_are_chosen_counted_and_shown(run: Run, workshop: Path, sources: Path) -> None:
    out = sources / "fruit"
    encoder = ("--encoder", workshop / "encoder")
    built = run(
        "build",
        sources / "fruit.ttl",
        "-o",
        out,
        *encoder,
        "--lang",
        "de",
        "--lang",
        "fr",
        "--json",
    )
    assert (built.status, built.json[0]["added"], built.json[0]["skipped"]) == (0, 3, 1)
    found = run("search", out, "Apfel", "-k", "1", "--json").json[0]
    assert (found["id"], found["metadata"]) == ("ex:apple", {"language": "de"})
    rows = run("quarantine", out, "--json").json
    assert [row["reason"] for row in rows] == [
        "2 names are not in a chosen language and were left out (en 2)"
    ]
    refused = run("lint", sources, "--lang", "JPN")
    assert refused.status == 1
    assert "The languages there are: en 2, de 1" in refused.err


def test_a_release_of_the_umls(run: Run, workshop: Path, sources: Path) -> None:
    built = run(
        "build", sources, "-o", sources / "umls", "--encoder", workshop / "encoder",
        "--lang", "ENG", "--sab", "MSH", "--sab", "MSHGER", "--json",
    )  # fmt: skip
    assert (built.status, built.json[0]["added"], built.json[0]["skipped"]) == (0, 1, 3)
    answer = run("link", sources / "umls", "fever", "--json").json[0]
    assert (answer["concept_id"], answer["label"]) == ("C1", "Fever")


def test_mappings_add_names(run: Run, workshop: Path, sources: Path) -> None:
    built = run(
        "build", workshop / "tiny.obo", "-o", sources / "tiny", "--json",
        "--encoder", workshop / "encoder", "--synonyms", sources / "m.sssom.tsv",
    )  # fmt: skip
    assert (built.status, built.json[0]["skipped"]) == (0, 1)
    answer = run("link", sources / "tiny", "Cardiac arrest of a sort", "--json").json[0]
    assert (answer["concept_id"], answer["scope"]) == ("T:1", "related")
    absent = run("lint", workshop / "tiny.obo", "--synonyms", sources / "none.tsv")
    assert (absent.status, "no such file" in absent.err) == (1, True)


def test_lint_of_a_clean_source(run: Run, workshop: Path) -> None:
    (workshop / "clean.obo").write_text(ONTOLOGY.replace('"MI"', '"MyI"'))
    done = run("lint", workshop / "clean.obo", "--strict")
    assert (done.status, done.out) == (0, "0 findings in 4 concepts and 7 names\n")


def test_lint_says_the_line_and_strict_fails(run: Run, workshop: Path) -> None:
    source = workshop / "tiny.obo"
    done = run("lint", source)
    assert done.status == 0
    assert done.out.splitlines() == [
        "line 4: short name: T:1: 'MI' has 2 characters",
        "1 findings in 4 concepts and 7 names: short name 1",
    ]
    assert run("lint", source, "--strict").status == 1
    (report,) = run("lint", source, "--json", "--strict").json
    assert report["counts"] == {"short name": 1}
    assert report["findings"] == [
        {"kind": "short name", "line": 4, "id": "T:1", "what": "'MI' has 2 characters"}
    ]


def test_lint_with_an_encoder(run: Run, workshop: Path) -> None:
    (workshop / "odd.txt").write_text(
        "plain\n\U0001f9ea\n" + "word " * 100 + "\n", encoding="utf-8"
    )
    (report,) = run(
        "lint", workshop / "odd.txt", "--encoder", workshop / "encoder", "--json", "--limit", "1"
    ).json
    assert report["counts"]["unknown token"] >= 1
    assert report["counts"]["truncated name"] == 1
    assert {one["kind"] for one in report["findings"]} == set(report["counts"])


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("a.owl", "", 1),
        ("a.owl", "<html></html>", 1),
        ("a.json", '{"graphs": [', 1),
        ("a.json", "[]", 1),
        ("MRCONSO.RRF", "a|b\n", 1),
        ("a.xyz", "a", 1),
        ("a.sssom.tsv", "a\tb\n", 1),
        ("none.obo", None, 1),
    ],
)
def test_lint_of_what_cannot_be_read(
    run: Run, tmp_path: Path, name: str, content: str | None, status: int
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    done = run("lint", tmp_path / name)
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith("Error: ")


def test_what_is_no_language_is_wrong_usage(run: Run, sources: Path) -> None:
    assert run("lint", sources / "fruit.ttl", "--lang", "not a language").status == 2
    assert run("lint", sources / "m.sssom.tsv", "--format", "tsv", "--lang", "en").status == 2


def test_only_rdf_loads_the_library_for_rdf(workshop: Path) -> None:
    code = (
        "import sys\nfrom mirror_index.readers import read\n"
        f"list(read({str(workshop / 'tiny.obo')!r}))\nprint('pyoxigraph' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_change_of_language_is_a_change(run: Run, workshop: Path, sources: Path) -> None:
    source, out = sources / "fruit.ttl", sources / "changing"
    assert run("build", source, "-o", out, "--encoder", workshop / "encoder").status == 0
    source.write_text(SKOS.replace("@de", "@de-AT"), encoding="utf-8")
    assert run("update", out, source, "--json").status == 0
    found = run("search", out, "Apfel", "-k", "1", "--json").json[0]
    assert found["metadata"] == {"language": "de-at"}


def test_a_name_that_is_lost_is_quarantined(run: Run, workshop: Path, tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text(
        '{"graphs": [{"nodes": [\n{"id": "X:1", "lbl": "one thing", "meta": {"synonyms": [\n'
        '{"pred": "hasExactSynonim", "val": "lost name"}]}}]}]}'
    )
    build = ("build", source, "--encoder", workshop / "encoder", "--json")
    done = run(*build, "-o", tmp_path / "a")
    assert (done.status, done.json[0]["added"], done.json[0]["quarantined"]) == (3, 1, 1)
    (row,) = run("quarantine", tmp_path / "a", "--json").json
    assert (row["line"], "did you mean hasExactSynonym" in row["reason"]) == (2, True)
    assert "lost name" in row["content"]
    assert run(*build, "-o", tmp_path / "b", "--allow-quarantine").status == 0
