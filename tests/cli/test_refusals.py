"""Nothing asked for is passed over in silence: what a count on stderr leads to, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirror_index.cli.app import app
from tests.cli.conftest import Run
from tests.tiny import write_tiny_encoder


@pytest.fixture
def collection(run: Run, workshop: Path, tmp_path: Path) -> Path:
    """A collection with a text too long and one with characters that the tokenizer lacks."""
    long = "heart " * 200
    (tmp_path / "s.csv").write_text(f"id,text\na,short\nb,{long}\nc,\u75be\u75c5\n")
    encoder = workshop / "encoder"
    built = run("build", tmp_path / "s.csv", "-o", tmp_path / "c", "--encoder", encoder, "--json")
    assert built.status == 0
    assert (built.json[0]["truncated"], built.json[0]["unknown"]) == (1, 1)
    assert f"`mirror-index audit {tmp_path / 'c'}` lists them" in built.err
    return tmp_path / "c"


def test_audit_lists_what_was_not_read_whole(run: Run, collection: Path) -> None:
    cut, odd = run("audit", collection, "--json").json
    header = ["id", "tokens", "truncated", "unknown", "line", "text", "collides_with"]
    assert list(cut) == header
    assert (cut["id"], cut["truncated"], cut["unknown"], cut["line"]) == ("b", True, False, 3)
    assert cut["tokens"] > 200
    assert cut["text"].startswith("heart heart")
    assert (odd["id"], odd["truncated"], odd["unknown"], odd["line"]) == ("c", False, True, 4)
    assert len(run("audit", collection, "--limit", 1, "--json").json) == 1
    lines = run("audit", collection).out.splitlines()
    assert lines[0].split() == header
    assert lines[1].split()[2:5] == ["yes", "no", "3"]


def test_a_change_without_findings_says_nothing(run: Run, home: Path, collection: Path) -> None:
    (collection.parent / "more.csv").write_text("id,text\nd,rye\n")
    assert run("add", collection, collection.parent / "more.csv").err == ""
    assert run("audit", home / "names", "--json").out == ""


def test_quarantined_rows_name_their_source(run: Run, collection: Path) -> None:
    for name in ("one.csv", "two.csv"):
        source = collection.parent / name
        source.write_text("id,text\nx,good,bad\n")
        assert run("add", collection, source).status == 3
    rows = run("quarantine", collection, "--json").json
    assert [(Path(row["source"]).name, row["line"]) for row in rows] == [
        ("one.csv", 2),
        ("two.csv", 2),
    ]
    assert run("quarantine", collection).out.split()[:2] == ["source", "line"]


def test_deleting_what_is_not_there(run: Run, collection: Path) -> None:
    nothing = run("delete", collection, "nobody", "no one", "nobody", "--json")
    assert (nothing.status, nothing.out) == (1, "")
    assert "none of the 2 ids is there: 'nobody'" in nothing.err
    one = run("delete", collection, "nobody")
    assert one.status == 1
    assert "no record of this id: 'nobody'" in one.err
    some = run("delete", collection, "nobody", "a", "--json")
    assert (some.status, some.json[0]["deleted"], some.json[0]["skipped"]) == (0, 1, 1)
    assert "1 of 2 ids were not in" in some.err
    filtered = run("delete", collection, "b", "--where", "id = 'c'", "--json")
    assert (filtered.status, filtered.json[0]["deleted"], filtered.err) == (0, 0, "")


@pytest.mark.parametrize(
    "option",
    [
        ("--encoder", "x"),
        ("--pooling", "mean"),
        ("--max-length", "9"),
        ("--prompt", ""),
        ("--device", "auto"),
        ("--threads", "1"),
    ],
)
def test_a_collection_takes_no_options_of_an_encoder(
    run: Run, home: Path, option: tuple[str, str]
) -> None:
    outcome = run("evaluate", "retrieval", ".", "--collection", home / "names", *option)
    assert outcome.status == 2
    assert f"{option[0]} goes without --collection" in outcome.err


def test_a_collection_of_something_else_is_no_zero(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "rye bread"}) + "\n")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "rye"}) + "\n")
    (tmp_path / "qrels.test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    outcome = run("evaluate", "retrieval", tmp_path, "--collection", home / "names", "--json")
    assert (outcome.status, outcome.out) == (1, "")
    assert "none of the ids" in outcome.err
    assert "--id-column _id" in outcome.err


def test_linking_never_overwrites(run: Run, home: Path, tmp_path: Path) -> None:
    table = tmp_path / "in.tsv"
    table.write_text("mention\nMI\n")
    outcome = run("link", home / "tiny", "-f", table, "--column", "mention", "-o", table)
    assert outcome.status == 2
    assert "exists already" in outcome.err
    assert table.read_text() == "mention\nMI\n"


def test_tuning_with_quarantined_rows(run: Run, workshop: Path, tmp_path: Path) -> None:
    words = [f"{a} {b}" for a in ("heart", "lung", "bone", "skin", "eye") for b in "abcd"]
    source = tmp_path / "names.csv"
    source.write_text("id,text\n" + "".join(f"{n},{word}\n" for n, word in enumerate(words)))
    with source.open("a") as file:
        file.write("x,a,b\ny,\n")
    arguments = ("tune", source, "--encoder", workshop / "encoder", "--precision", "float32")
    outcome = run(*arguments, "-o", tmp_path / "one")
    assert outcome.status == 3
    assert "1 rows of the source could not be taken" in outcome.err
    assert outcome.out.count("kept:") == outcome.out.lower().count("kept:") == 1
    card = json.loads((tmp_path / "one" / "card.json").read_text())
    assert (card["counts"]["rejected"], card["counts"]["quarantined"]) == (2, 1)
    allowed = run(*arguments, "-o", tmp_path / "two", "--allow-quarantine", "--json")
    assert (allowed.status, allowed.err) == (0, "")


def test_help_of_verify_says_whose_answers_are_checked(run: Run) -> None:
    verify = app.get_command(None, "verify")  # type: ignore[arg-type]
    (option,) = (one for one in verify.params if one.name == "encoder")  # type: ignore[union-attr]
    assert "not those of the stored encoder" in option.help  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line",
    [
        ["build", "s.csv", "-o", ""],
        ["info", ""],
        ["search", "", "rye"],
        ["tune", "s.csv", "-o", ""],
        ["encode", "s.csv", "-o", ""],
        ["list", "--home", ""],
    ],
)
def test_an_empty_name_is_not_the_working_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("id,text\na,rye\n")
    refused = run(*line)
    assert refused.status == 2
    assert "empty name" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["s.csv"]


def test_a_file_is_no_collection(run: Run, collection: Path) -> None:
    for file in (collection / "collection.db", collection.parent / "s.csv"):
        refused = run("info", file)
        assert (refused.status, "a collection is a folder" in refused.err) == (1, True)


def test_an_encoder_given_to_a_check_is_looked_at(
    run: Run, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_tiny_encoder(tmp_path / "other", "roberta")
    found = run("verify", collection, "--encoder", other)
    assert found.status == 1
    assert "give the one it was built with" in found.err + found.out
    assert "Restore" not in found.out
    monkeypatch.chdir(tmp_path)
    for verb in ("verify", "repair"):
        assert "not a model" in run(verb, collection, "--encoder", "").err
