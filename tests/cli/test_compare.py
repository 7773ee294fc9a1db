"""`evaluate compare` through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.tiny import write_tiny_encoder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("other") / "encoder", "roberta")


def test_sts(run: Run, workshop: Path, other: Path, tmp_path: Path) -> None:
    rows = ["heart attack\tcardiac arrest\t4", "rye bread\tbanana bread\t3", "rye\theart\t0"]
    (tmp_path / "sts.tsv").write_text("s1\ts2\tscore\n" + "\n".join(rows) + "\n")
    arguments = ("evaluate", "compare", workshop / "encoder", other, "--task", "sts", "--data")
    found = run(*arguments, tmp_path / "sts.tsv", "--json")
    assert found.status == 0
    report = found.json[0]
    assert report["b"] == str(other)
    rho = report["measures"]["spearman"]
    assert rho["difference"]["value"] == pytest.approx(rho["b"]["value"] - rho["a"]["value"])
    shown = run(*arguments, tmp_path / "sts.tsv").out
    assert "B - A" in shown
    assert "pearson" in shown


def test_lexical(run: Run, workshop: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("heart\tcardiac\t4\nrye\theart\t0\n")
    encoder = workshop / "encoder"
    found = run(
        "evaluate", "compare", encoder, encoder, "--task", "lexical", "--data",
        tmp_path / "words.txt", "--json",
    )  # fmt: skip
    assert found.json[0]["measures"]["spearman"]["p"] == 1.0


def test_retrieval_of_an_encoder_and_a_collection(run: Run, workshop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    docs = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate("abc")]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "b"}) + "\n")
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    encoder = workshop / "encoder"
    built = run("build", folder / "corpus.jsonl", "-o", tmp_path / "docs", "--encoder", encoder)
    assert built.status == 0
    arguments = ("evaluate", "compare", "docs", encoder, "--home", tmp_path, "--task", "retrieval")
    found = run(*arguments, "--data", folder, "--json")
    assert found.json[0]["measures"]["ndcg_at_10"]["difference"]["value"] == 0.0
    refused = run(*arguments, "--data", folder, "--hybrid")
    assert refused.status == 2
    assert "--hybrid needs collections" in refused.err


def test_linking(run: Run, home: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text(
        "mention\tgold_ids\tkind\nheart attack\tT:1\tx\nspaceship\tNIL\tx\nFever\tT:4\ty\n"
    )
    arguments = ("evaluate", "compare", "tiny", "tiny", "--home", home, "--task", "linking")
    found = run(*arguments, "--data", gold, "--only", "kind=x", "--json").json[0]
    assert found["n"] == 2
    assert found["measures"]["accuracy_at_1"]["a"]["value"] == 1.0
    assert found["measures"]["decided"]["difference"]["value"] == 0.0
    assert run(*arguments, "--data", gold, "--only", "kind").status == 2
