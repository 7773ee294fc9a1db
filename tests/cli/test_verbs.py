"""Each verb on small input, checked against what the input says."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding import load_encoder
from tests.cli.conftest import Run


def test_build_search_add_verify(run: Run, workshop: Path, tmp_path: Path) -> None:
    target, encoder = tmp_path / "made here", workshop / "encoder"
    built = run("build", workshop / "names.txt", "-o", target, "--encoder", encoder, "--json")
    assert built.status == 0, built.err
    assert (built.json[0]["added"], built.json[0]["skipped"]) == (5, 1)

    again = run("build", workshop / "names.txt", "-o", target, "--encoder", encoder)
    assert again.status == 1
    assert "--overwrite" in again.err or "overwrite" in again.err

    hits = run("search", target, "heart attack", "-k", 2, "--json").json
    assert [hit["rank"] for hit in hits] == [1, 2]
    assert (hits[0]["id"], hits[0]["text"]) == ("names.txt:1", "heart attack")
    assert hits[0]["score"] == pytest.approx(1.0, abs=1e-4)

    (tmp_path / "more.csv").write_text("id,text,year\nx1,heart attack,2001\nx2,plum cake,2019\n")
    added = run("add", target, tmp_path / "more.csv", "--json").json[0]
    assert (added["added"], added["texts_encoded"]) == (2, 1)
    found = run("search", target, "plum cake", "--where", "year >= 2010", "--json").json
    assert [hit["id"] for hit in found] == ["x2"]

    (tmp_path / "change.csv").write_text("id,text,year\nx2,fig tart,2020\n")
    assert run("add", target, tmp_path / "change.csv").status == 1
    assert run("update", target, tmp_path / "change.csv", "--json").json[0]["updated"] == 1
    assert run("delete", target, "x1", "--json").json[0]["deleted"] == 1
    assert run("compact", target, "--json").json[0]["records"] == 6

    info = run("info", target, "--json").json[0]
    assert (info["records"], info["dim"], info["concepts"]) == (6, 32, 0)
    report = run("verify", target, "--json")
    assert report.status == 0
    assert report.json[0]["ok"] is True
    assert "0 problems" in run("verify", target).out

    vectors = sorted((target / "vectors").iterdir())[-1]
    data = bytearray(vectors.read_bytes())
    data[7] ^= 1
    vectors.write_bytes(bytes(data))
    broken = run("verify", target)
    assert broken.status == 1
    assert vectors.name in broken.out


def test_two_files_without_ids(run: Run, workshop: Path, tmp_path: Path) -> None:
    target, more = tmp_path / "both", tmp_path / "more.txt"
    run("build", workshop / "names.txt", "-o", target, "--encoder", workshop / "encoder")
    more.write_text("plum cake\nfig tart\n")
    assert run("add", target, more, "--json").json[0]["added"] == 2
    assert run("info", target, "--json").json[0]["records"] == 7
    more.write_text("plum cake\nfig roll\nrye toast\n")
    changed = run("update", target, more, "--json").json[0]
    assert [changed[key] for key in ("added", "updated", "unchanged")] == [1, 1, 1]
    hits = run("search", target, "cake", "-k", 20, "--json").json
    assert {hit["id"]: hit["text"] for hit in hits} == {
        "names.txt:1": "heart attack",
        "names.txt:2": "cardiac arrest",
        "names.txt:3": "banana bread",
        "names.txt:5": "NA",
        "names.txt:6": "rye bread",
        "more.txt:1": "plum cake",
        "more.txt:2": "fig roll",
        "more.txt:3": "rye toast",
    }


def test_quotes_of_a_csv_can_be_text(run: Run, workshop: Path, tmp_path: Path) -> None:
    content = 'id,text\na,"heart" attack\nb,"5" pipe\n'
    (tmp_path / "a.csv").write_text(content)
    (tmp_path / "a.tsv").write_text(content.replace(",", "\t"))
    arguments = ("-o", tmp_path / "c", "--encoder", workshop / "encoder", "--no-quoting")
    assert run("build", tmp_path / "a.csv", *arguments).status == 0
    hits = run("search", tmp_path / "c", "heart", "--json").json
    assert {hit["text"] for hit in hits} == {'"heart" attack', '"5" pipe'}
    refused = run("build", tmp_path / "a.tsv", *arguments)
    assert refused.status == 2
    assert "quoting" in refused.err


def test_quarantined_rows_set_the_status(run: Run, workshop: Path, tmp_path: Path) -> None:
    source = tmp_path / "ragged.csv"
    source.write_text("id,text\n1,good\n2,bad,row\n3,fine\n")
    target = tmp_path / "ragged"
    arguments = ("build", source, "-o", target, "--encoder", workshop / "encoder")
    built = run(*arguments)
    assert built.status == 3
    assert "1 rows were quarantined" in built.err
    rows = run("quarantine", target, "--json").json
    assert [(row["line"], row["skipped"]) for row in rows] == [(3, False)]
    assert "bad,row" in run("quarantine", target).out
    assert run(*arguments, "--overwrite", "--allow-quarantine").status == 0


def test_search_for_people(run: Run, home: Path) -> None:
    outcome = run("search", "names", "rye bread", "-k", 3, "--home", home)
    lines = outcome.out.splitlines()
    assert lines[0] == "'rye bread':"
    assert lines[1].split() == ["rank", "score", "id", "text"]
    assert lines[2].split(maxsplit=3) == ["1", "1.000", "names.txt:6", "rye bread"]
    assert len(lines) == 5


def test_search_reads_files_and_standard_input(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries.txt").write_text("heart attack\r\nrye bread", encoding="utf-8-sig")
    from_file = run("search", home / "names", "-f", tmp_path / "queries.txt", "-k", 1, "--json")
    assert [hit["id"] for hit in from_file.json] == ["names.txt:1", "names.txt:6"]
    piped = io.TextIOWrapper(io.BytesIO(b"heart attack\nrye bread\n"))
    monkeypatch.setattr("sys.stdin", piped)
    assert run("search", home / "names", "-k", 1, "--json").json == from_file.json
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    assert "not UTF-8" in run("search", home / "names", "-f", tmp_path / "latin.txt").err


def test_hybrid_explains_its_legs(run: Run, home: Path) -> None:
    hits = run("search", home / "names", "banana", "--hybrid", "-k", 2, "--json").json
    assert hits[0]["text"] == "banana bread"
    assert hits[0]["legs"]["words"] == 1


def test_link_statuses(run: Run, home: Path) -> None:
    outcome = run("link", home / "tiny", "heart attack", "Blepharoptosis", "", "--json")
    assert outcome.status == 0
    exact, redirected, empty = outcome.json
    assert (exact["status"], exact["concept_id"], exact["method"]) == ("linked", "T:1", "exact")
    assert exact["matched_name"] == "Heart attack"
    assert exact["scope"] == "exact"
    assert (redirected["status"], redirected["concept_id"]) == ("linked", "T:2")
    assert any("T:3" in step for step in redirected["trace"])
    assert empty["status"] == "empty"
    assert "Myocardial infarction" in run("link", home / "tiny", "heart attack").out


def test_link_a_table(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text('n\tmention\n1\tMI\n2\t"odd\n3\t\n')
    outcome = run(
        "link", home / "tiny", "-f", tmp_path / "in.tsv", "--column", "mention",
        "-o", tmp_path / "out.tsv", "--json",
    )  # fmt: skip
    assert outcome.json[0]["rows"] == 3
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    assert rows[0][:4] == ["n", "mention", "status", "concept_id"]
    assert rows[1][:4] == ["1", "MI", "linked", "T:1"]
    assert rows[2][1] == '"odd'
    assert rows[3][:3] == ["3", "", "empty"]


def test_encode(run: Run, workshop: Path, tmp_path: Path) -> None:
    output = tmp_path / "vectors.npy"
    arguments = ("encode", workshop / "names.txt", "-o", output, "--encoder", workshop / "encoder")
    outcome = run(*arguments, "--precision", "float32", "--json")
    assert (outcome.json[0]["rows"], outcome.json[0]["skipped"]) == (5, 1)
    texts = [line for line in (workshop / "names.txt").read_text().splitlines() if line]
    expected = load_encoder(
        workshop / "encoder", EncoderConfig(precision=Precision.FLOAT32)
    ).encode(texts)
    stored = np.load(output)
    assert stored.dtype == np.float32
    assert np.allclose(stored, expected, atol=1e-6)
    ids = (tmp_path / "vectors.npy.ids.txt").read_text().split()
    assert ids == [f"names.txt:{line}" for line in (1, 2, 3, 5, 6)]
    assert run(*arguments).status == 2
    broken = run("encode", workshop / "names.txt", "-o", tmp_path / "x.npy", "--encoder", tmp_path)
    assert broken.status == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "vectors.npy",
        "vectors.npy.ids.txt",
    ]


def test_list(run: Run, home: Path, tmp_path: Path) -> None:
    rows = run("list", "--home", home, "--json").json
    assert [(row["name"], row["records"]) for row in rows] == [("names", 5), ("tiny", 7)]
    assert "names" in run("list", "--home", home).out
    assert "No collections" in run("list", "--home", tmp_path).out
    (tmp_path / "link").symlink_to(home / "names")
    assert run("list", "--home", tmp_path, "--json").json[0]["name"] == "link"
    (tmp_path / "link").unlink()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "collection.db").write_text("not a database, but long enough" * 50)
    row = run("list", "--home", tmp_path, "--json").json[0]
    assert row["name"] == "broken"
    assert row["error"]


def test_evaluate_sts_and_lexical(run: Run, workshop: Path, tmp_path: Path) -> None:
    pairs = [("heart", "heart", 5), ("heart", "hearts", 4), ("bread", "zebra", 1), ("a", "qq", 0)]
    text = "".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs)
    (tmp_path / "sts.tsv").write_text("s1\ts2\tscore\n" + text)
    (tmp_path / "words.txt").write_text(text)
    encoder = load_encoder(workshop / "encoder", EncoderConfig(precision=Precision.FLOAT32))
    left = encoder.encode([a for a, _, _ in pairs])
    right = encoder.encode([b for _, b, _ in pairs])
    from scipy.stats import spearmanr

    cosines = np.einsum("ij,ij->i", left, right)
    expected = 100 * spearmanr(cosines, [score for _, _, score in pairs]).statistic
    for verb, file in (("sts", "sts.tsv"), ("lexical", "words.txt")):
        outcome = run(
            "evaluate", verb, tmp_path / file, "--encoder", workshop / "encoder",
            "--precision", "float32", "--json",
        )  # fmt: skip
        assert outcome.status == 0, outcome.err
        assert outcome.json[0]["spearman"]["value"] == pytest.approx(expected, abs=1e-4)


def test_evaluate_retrieval(run: Run, workshop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    documents = {"d1": "heart attack", "d2": "banana bread", "d3": "rye bread"}
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": i, "title": "", "text": t}) + "\n" for i, t in documents.items())
    )
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{i}", "text": t}) + "\n" for i, t in documents.items())
    )
    (folder / "qrels.test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\t{i}\t1\n" for i in documents)
    )
    encoder = workshop / "encoder"
    report = run("evaluate", "retrieval", folder, "--encoder", encoder, "--json").json[0]
    assert report["ndcg_at_10"]["value"] == 1.0
    run("build", folder / "corpus.jsonl", "-o", tmp_path / "docs", "--encoder", encoder)
    through = run(
        "evaluate", "retrieval", folder, "--collection", tmp_path / "docs", "--hybrid",
        "-o", tmp_path / "run.trec", "--json",
    )  # fmt: skip
    assert through.json[0]["ndcg_at_10"]["value"] == 1.0
    assert (tmp_path / "run.trec").read_text().splitlines()[0].split()[:4] == [
        "qd1",
        "Q0",
        "d1",
        "1",
    ]
    assert run("evaluate", "retrieval", folder, "--hybrid", "--encoder", encoder).status == 2


def test_evaluate_linking(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text(
        "mention\tgold_ids\tkind\nheart attack\tt:1\tsingle\n"
        "Pyrexia\tT:4|T:9\tsingle\nFever\tT:2\tx\n"
    )
    report = run(
        "evaluate",
        "linking",
        home / "tiny",
        tmp_path / "gold.tsv",
        "--only",
        "kind=single",
        "--json",
    ).json[0]
    assert report["scores"]["n"] == 2
    assert report["scores"]["accuracy_at_1"]["value"] == 1.0


def test_tune(run: Run, workshop: Path, tmp_path: Path) -> None:
    words = ["heart", "lung", "liver", "bone", "skin", "brain", "eye", "ear"]
    kinds = ["pain", "injury", "tumour", "disease", "swelling"]
    (tmp_path / "names.txt").write_text("\n".join(f"{a} {b}" for a in words for b in kinds))
    outcome = run(
        "tune", tmp_path / "names.txt", "-o", tmp_path / "tuned", "--encoder",
        workshop / "encoder", "--batch-size", 8, "--precision", "float32", "--json",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert outcome.json[0]["kept"] in (True, False)
    assert load_encoder(tmp_path / "tuned").dim == 32
    assert (tmp_path / "tuned" / "card.txt").read_text()
    assert run("tune", tmp_path / "names.txt", "-o", tmp_path / "tuned").status == 2


def test_build_with_tuning_reuses_the_tuned_encoder(
    run: Run, workshop: Path, tmp_path: Path
) -> None:
    source = tmp_path / "names.txt"
    source.write_text("\n".join(f"{a} {b}" for a in "abcdefgh" for b in "klmno"))
    arguments = ("build", source, "-o", tmp_path / "c", "--encoder", workshop / "encoder", "--tune")
    first = run(*arguments)
    assert first.status == 0, first.err
    assert "ept:" in first.err or "kept" in first.err
    second = run(*arguments, "--overwrite")
    assert second.status == 0, second.err
    assert "Using the encoder tuned before" in second.err
