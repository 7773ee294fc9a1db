"""Tables, mappings, overrides, diffs and releases from the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import ONTOLOGY, Run


@pytest.fixture
def tiny(run: Run, workshop: Path, tmp_path: Path) -> Path:
    """A collection of the tiny ontology that may be changed."""
    folder = tmp_path / "tiny"
    built = run("build", workshop / "tiny.obo", "-o", folder, "--encoder", workshop / "encoder")
    assert built.status == 0, built.err
    return folder


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "in.tsv"
    path.write_text("id\tmention\n01\tMI\n02\tpyrexia\n03\t!!!\n", encoding="utf-8")
    return path


def test_a_table_goes_to_standard_output(run: Run, home: Path, mentions: Path) -> None:
    out = run("link", home / "tiny", "-f", mentions, "--column", "mention")
    rows = list(csv.DictReader(io.StringIO(out.out), delimiter="\t"))
    assert (out.status, out.err) == (0, "")
    assert [(row["id"], row["status"], row["concept_id"]) for row in rows] == [
        ("01", "linked", "T:1"),
        ("02", "linked", "T:4"),
        ("03", "empty", ""),
    ]
    as_json = run("link", home / "tiny", "-f", mentions, "--column", "mention", "--json")
    assert [row["concept_id"] for row in as_json.json] == ["T:1", "T:4", None]
    assert run("link", home / "tiny", "-f", mentions, "--column", "mention", "-o", "-") == out
    bare = run("link", home / "tiny", "-f", mentions, "-o", mentions.with_name("bare.tsv"))
    assert (bare.status, bare.out.split()[:2]) == (2, [])
    assert "read as one mention a line; --column makes it a table" in bare.err
    as_csv = run("link", home / "tiny", "MI", "a, b", "--format", "csv")
    assert [row[0] for row in csv.reader(io.StringIO(as_csv.out))] == ["mention", "MI", "a, b"]


def test_a_table_from_standard_input(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, mentions: Path
) -> None:
    class Stdin:
        buffer = io.BytesIO(mentions.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin())
    out = run("link", home / "tiny", "-f", "-", "--column", "mention")
    assert out.out.splitlines()[1].startswith("01\tMI\tlinked\tT:1")


def test_rows_that_cannot_be_read_exit_3(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "bad.tsv"
    source.write_text("id\tmention\n" + "1\n" * 25 + "2\tMI\n")
    command = ("link", home / "tiny", "-f", source, "--column", "mention")
    out = run(*command, "-o", tmp_path / "out.tsv", "--json")
    assert out.status == 3
    assert "line 2: the row has 1 cells, the table has 2 columns" in out.err
    assert "25 rows could not be read (5 more than shown)" in out.err
    assert out.json[0]["statuses"]["error"] == 25
    assert (tmp_path / "out.tsv").read_text().splitlines()[-1].startswith("2\tMI\tlinked")
    assert run(*command, "-o", tmp_path / "again.tsv", "--allow-errors").status == 0


def test_a_context_column(run: Run, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    text = "A heart attack (HA) is not the same as HA."
    source.write_text(json.dumps({"mention": "HA", "sentence": text}) + "\n")
    out = run(
        "link", home / "tiny", "-f", source, "--column", "mention",
        "--context-column", "sentence", "--format", "jsonl",
    )  # fmt: skip
    assert out.json[0]["concept_id"] == "T:1"
    missing = run(
        "link", home / "tiny", "-f", source, "--column", "mention", "--context-column", "text"
    )
    assert (missing.status, "no such column: 'text'" in missing.err) == (1, True)


def test_mappings(run: Run, home: Path, mentions: Path, tmp_path: Path) -> None:
    link = ("link", home / "tiny", "-f", mentions, "--column", "mention")
    out = run(*link, "-o", tmp_path / "out.sssom.tsv", "--license", "https://x.org/cc0", "--json")
    assert out.status == 0
    assert out.json[0]["records"] == 3
    assert "No IRI is known for the prefix T: it is declared as a urn" in out.err
    text = (tmp_path / "out.sssom.tsv").read_text()
    assert "#license: https://x.org/cc0\n" in text
    assert "MI\tskos:exactMatch\tT:1\tMyocardial infarction\tsemapv:LexicalMatching" in text
    given = run(*link, "--format", "sssom", "--prefix", "T=https://x.org/T_")
    assert "#  T: https://x.org/T_\n" in given.out
    assert given.err == ""
    bare = run("link", home / "tiny", "MI", "--format", "sssom", "--prefix", "T=https://x.org/T_")
    assert bare.out.splitlines()[-1].startswith("MI\tskos:exactMatch\tT:1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--license", "https://x.org"), "--license goes with --format sssom"),
        (("--mapping-set-id", "https://x.org", "--format", "tsv"), "--mapping-set-id goes with"),
        (("--prefix", "T"), "--prefix goes with"),
        (("--prefix", "T", "--format", "sssom"), "a prefix has no =: 'T'"),
        (("--license", "CC0", "--format", "sssom"), "no absolute IRI: 'CC0'"),
        (("--context-column", "sentence"), "--context-column goes with --column"),
        (("--format", "parquet"), "Parquet cannot go to a stream"),
    ],
)
def test_options_that_go_together(
    run: Run, home: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = run("link", home / "tiny", "MI", *arguments)
    assert (out.status, out.out) == (2, "")
    assert message in out.err


def test_overrides(run: Run, tiny: Path, tmp_path: Path) -> None:
    source = tmp_path / "overrides.tsv"
    source.write_text("mention\taction\twho\nhot\tconcept T:4\tus\nMI\tnil\t\n")
    taken = run("overrides", tiny, "import", source, "--json")
    assert (taken.status, taken.json[0]["added"], taken.json[0]["generation"]) == (0, 2, 2)
    hot, mi = run("link", tiny, "HOT", "MI", "--json").json
    assert (hot["concept_id"], hot["method"], hot["probability"]) == ("T:4", "override", 1.0)
    assert hot["trace"][0] == "override: 'hot': concept T:4 (us)"
    assert mi["status"] == "nil"
    shown = run("overrides", tiny, "list")
    assert shown.out.splitlines()[1].split() == ["hot", "concept", "T:4", "Fever", "ok", "us"]
    assert run("overrides", tiny, "list", "--json").json[1]["action"] == "nil"
    exported = run("overrides", tiny, "export")
    assert exported.out.splitlines()[1:] == ["hot\tconcept T:4\t\tus\t", "MI\tnil\t\t\t"]
    assert run("overrides", tiny, "export", tmp_path / "o.csv", "--json").json == [{"overrides": 2}]
    assert "overrides" in run("history", tiny).out
    source.write_text("mention\taction\nx\tconcept T:9\n")
    refused = run("overrides", tiny, "import", source)
    assert (refused.status, "line 2: there is no concept 'T:9'" in refused.err) == (1, True)
    replaced = run("overrides", tiny, "import", tmp_path / "o.csv", "--replace", "--json").json[0]
    assert (replaced["unchanged"], replaced["generation"]) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("list", "file.tsv"), 2, "list takes no file: 'file.tsv'"),
        (("export", "--replace"), 2, "--replace goes with import"),
        (("import", "no-such.tsv"), 1, "no such file: 'no-such.tsv'"),
        (("remove",), 2, "'remove' is not one of"),
    ],
)
def test_overrides_used_wrongly(
    run: Run, home: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    out = run("overrides", home / "tiny", *arguments)
    assert out.status == status
    assert message in out.err


def test_diff(run: Run, tiny: Path, mentions: Path, tmp_path: Path) -> None:
    link = ("link", tiny, "-f", mentions, "--column", "mention", "-o")
    assert run(*link, tmp_path / "old.tsv").status == 0
    (tmp_path / "o.tsv").write_text("mention\taction\npyrexia\tnil\n")
    assert run("overrides", tiny, "import", tmp_path / "o.tsv").status == 0
    assert run(*link, tmp_path / "new.jsonl").status == 0
    files = (tmp_path / "old.tsv", tmp_path / "new.jsonl")
    out = run("diff", *files, "--key", "id")
    assert out.status == 0
    assert out.out.splitlines()[-1].split()[:5] == ["02", "pyrexia", "lost", "T:4", "nil"]
    as_json = run("diff", *files, "--json", "--fail-on-change")
    assert as_json.status == 1
    assert as_json.json[0]["counts"]["lost"] == 1
    assert run("diff", files[0], files[0], "--fail-on-change").status == 0
    assert run("diff", *files, "--limit", "1").err == ""
    wrong = run("diff", *files, "--column", "text")
    assert (wrong.status, "'text' is not there" in wrong.err) == (1, True)
    assert run("diff", mentions, files[0]).status == 1


def test_compare_releases(run: Run, tiny: Path, mentions: Path, tmp_path: Path) -> None:
    run("link", tiny, "-f", mentions, "--column", "mention", "-o", tmp_path / "links.tsv")
    (tmp_path / "o.tsv").write_text("mention\taction\nhot\tconcept T:4\n")
    run("overrides", tiny, "import", tmp_path / "o.tsv")
    new = tmp_path / "new.obo"
    new.write_text(
        ONTOLOGY.replace(
            'id: T:4\nname: Fever\nsynonym: "Pyrexia" EXACT []\n',
            "id: T:4\nname: obsolete Fever\nis_obsolete: true\nconsider: T:5\n",
        )
        + "\n[Term]\nid: T:5\nname: High temperature\n"
    )
    out = run("compare-releases", tiny, new, "--links", tmp_path / "links.tsv", "--json")
    assert out.status == 0, out.err
    (found,) = out.json
    assert found["counts"]["obsoleted"] == found["counts"]["new"] == 1
    assert found["obsoleted"][0] == {"id": "T:4", "label": "Fever", "became": ["T:5"]}
    assert found["overrides"][0]["effect"] == "obsolete, consider T:5"
    assert [(row["line"], row["effect"]) for row in found["links"]] == [
        (3, "obsolete, consider T:5")
    ]
    shown = run("compare-releases", tiny, new)
    assert "obsoleted:" in shown.out
    assert run("compare-releases", new, new, "--json").json[0]["counts"]["lost"] == 0
    limited = run("compare-releases", tiny, new, "--limit", 1)
    assert "more; --limit 0 shows all" in limited.err
    assert run("compare-releases", "nowhere", new).status == 1
    assert run("compare-releases", tiny, tmp_path / "none.obo").status == 1


def test_a_release_with_bad_rows_exits_3(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "d.tsv"
    source.write_text("concept_id\tname\nA\tone\nB\n")
    out = run("compare-releases", source, source)
    assert (out.status, "1 rows of" in out.err) == (3, True)
    assert run("compare-releases", source, source, "--allow-quarantine").status == 0
