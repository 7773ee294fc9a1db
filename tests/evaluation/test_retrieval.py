"""Retrieval scores against values computed by hand, and dense ranking against brute force."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mirror_index.errors import SourceError, UsageError
from mirror_index.evaluation import load_beir, retrieval
from mirror_index.evaluation.retrieval import (
    evaluate_retrieval,
    rank_dense,
    score_run,
    write_trec_run,
)
from tests.fakes import HashEncoder

CORPUS = [
    {"_id": "d1", "title": "Aspirin", "text": "reduces fever"},
    {"_id": "d2", "title": "", "text": "stone walls of the castle"},
    {"_id": "d3", "text": "fever and chills"},
    {"_id": "q2", "title": "", "text": "castle"},
]
QUERIES = [
    {"_id": "q1", "text": "fever"},
    {"_id": "q2", "text": "castle"},
    {"_id": "q3", "text": "?"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td3\t2\nq2\td2\t1\n"


def write_lines(path: Path, rows: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", encoding="utf-8")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "mini"
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def test_loading(beir: Path) -> None:
    data = load_beir(beir)
    assert data.documents["d1"] == "Aspirin reduces fever"
    assert data.documents["d2"] == "stone walls of the castle"
    assert data.queries == {"q1": "fever", "q2": "castle"}
    assert data.qrels["q1"] == {"d1": 1, "d3": 2}


def test_files_of_a_split_come_first(beir: Path) -> None:
    write_lines(beir / "queries.dev.jsonl", [{"_id": "q9", "text": "walls"}])
    (beir / "qrels.dev.tsv").write_text("query-id\tcorpus-id\tscore\nq9\td2\t1\n", encoding="utf-8")
    assert load_beir(beir, "dev").queries == {"q9": "walls"}


def test_scores_by_hand() -> None:
    qrels = {"q1": {"d1": 1, "d3": 2}, "q2": {"d2": 1}, "q3": {"d1": 1}}
    run = {
        "q1": [("d1", 0.9), ("d2", 0.8), ("d3", 0.7)],
        "q2": [*((f"x{n}", 1.0) for n in range(10)), ("d2", 1.0)],
    }
    scores = score_run(qrels, run)
    ideal = 2 + 1 / math.log2(3)
    assert scores["ndcg_at_10"]["q1"] == pytest.approx((1 + 2 / math.log2(4)) / ideal)
    assert scores["map"]["q1"] == pytest.approx((1 + 2 / 3) / 2)
    assert scores["mrr_at_10"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert scores["map"]["q2"] == pytest.approx(1 / 11)
    assert scores["recall_at_10"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert scores["recall_at_100"] == {"q1": 1.0, "q2": 1.0, "q3": 0.0}


def test_equal_scores_keep_the_order_of_the_ranking() -> None:
    qrels = {"q": {"a": 1}}
    assert score_run(qrels, {"q": [("a", 1.0), ("z", 1.0)]})["mrr_at_10"]["q"] == 1.0
    assert score_run(qrels, {"q": [("a", 1.0), ("z", 1.0)]})["map"]["q"] == 1.0


def test_an_encoder_is_evaluated_by_exact_ranking(beir: Path) -> None:
    report = evaluate_retrieval(beir, HashEncoder())
    data = load_beir(beir)
    encoder = HashEncoder()
    oracle = {}
    for query_id, text in data.queries.items():
        scored = [
            (-float(encoder.encode([text])[0] @ encoder.encode([doc])[0]), doc_id)
            for doc_id, doc in data.documents.items()
            if doc_id != query_id
        ]
        oracle[query_id] = [doc_id for _, doc_id in sorted(scored)]
    assert {q: [doc for doc, _ in ranking] for q, ranking in report.run.items()} == oracle
    assert (report.queries, report.documents, report.data) == (2, 4, "mini")
    assert report.recall_at_10.value == 1.0
    assert "run" not in report.to_json()


def test_a_search_may_replace_the_ranking_and_identical_ids_may_stay(beir: Path) -> None:
    def search(texts: Sequence[str]) -> list[list[tuple[str, float]]]:
        assert list(texts) == ["fever", "castle"]
        return [[("d3", 1.0)], [("q2", 1.0), ("d2", 0.5)]]

    dropped = evaluate_retrieval(beir, search=search)
    kept = evaluate_retrieval(beir, search=search, ignore_identical_ids=False)
    assert dropped.mrr_at_10.value == 1.0
    assert kept.mrr_at_10.value == 0.75


def test_ids_of_no_document_are_an_error_and_no_zero(beir: Path) -> None:
    with pytest.raises(SourceError, match=r"none of the ids .*'7'.*'d1'.*--id-column _id"):
        evaluate_retrieval(beir, search=lambda texts: [[("7", 1.0)], [("8", 1.0)]])
    mixed = evaluate_retrieval(beir, search=lambda texts: [[("7", 1.0)], [("d2", 1.0)]])
    assert mixed.mrr_at_10.value == 0.5
    assert evaluate_retrieval(beir, search=lambda texts: [[], []]).mrr_at_10.value == 0.0


def test_one_of_encoder_and_search(beir: Path) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        evaluate_retrieval(beir)
    with pytest.raises(UsageError, match="exactly one"):
        evaluate_retrieval(beir, HashEncoder(), search=lambda texts: [])


def test_dense_ranking_is_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_QUERY_BLOCK", 3)
    monkeypatch.setattr(retrieval, "_DOCUMENT_BLOCK", 7)
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(40, 8)).astype(np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    documents[25] = documents[3]
    ids = [f"d{n:02}" for n in rng.permutation(40)]
    queries = np.vstack([documents[:6], documents[3:4]])
    found = rank_dense(queries, documents, ids, 5)
    for query, ranking in zip(queries.astype(float), found, strict=True):
        scores = np.round(documents.astype(float) @ query, 6)
        best = sorted(zip((-scores).tolist(), ids, strict=True))[:5]
        assert [doc for doc, _ in ranking] == [doc for _, doc in best]
        assert [score for _, score in ranking] == pytest.approx([-s for s, _ in best], abs=2e-6)
    assert {ids[3], ids[25]} == {found[3][0][0], found[3][1][0]}


def test_a_run_is_written_as_trec_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    write_trec_run(path, {"q1": [("d1", 0.5), ("d2", 0.25)]}, tag="t")
    assert path.read_text() == "q1 Q0 d1 1 0.500000 t\nq1 Q0 d2 2 0.250000 t\n"
    with pytest.raises(UsageError, match="white space: 'd 1'"):
        write_trec_run(path, {"q1": [("d 1", 0.5)]})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", "{}\n", "_id and text.*corpus.jsonl, line 1"),
        ("corpus.jsonl", "\n", "no documents"),
        ("corpus.jsonl", "nonsense\n", "not JSON.*line 1"),
        ("corpus.jsonl", "[1]\n", "not a JSON object"),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n', "1 judged queries have no text: 'q2'"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\thigh\n", "'high'.*line 2"),
        ("qrels/test.tsv", "query-id\tcorpus-id\n", "no such column: 'score'"),
    ],
)
def test_bad_folders_say_where(beir: Path, name: str, content: str, message: str) -> None:
    (beir / name).write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        load_beir(beir)


def test_a_missing_file_is_named(beir: Path) -> None:
    with pytest.raises(SourceError, match=r"qrels.train.tsv or qrels/train.tsv"):
        load_beir(beir, "train")
