"""Comparing two systems, against scipy and against the reports of each alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mirror_index.errors import MirrorIndexError, SourceError
from mirror_index.evaluation import (
    compare_items,
    compare_lexical,
    compare_retrieval,
    compare_sts,
    evaluate_retrieval,
    evaluate_sts,
    spearman,
)
from mirror_index.evaluation.intervals import paired_statistic
from tests.fakes import HashEncoder


def judged(path: Path, header: str) -> Path:
    rng = np.random.default_rng(3)
    words = ["liver", "hepatic", "bone", "osseous", "lung", "pulmonary", "skin", "dermal"]
    rows = [
        f"{rng.choice(words)} {n}\t{rng.choice(words)} {n}\t{rng.random():.3f}" for n in range(40)
    ]
    path.write_text(header + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_sts_of_two_encoders_equals_both_reports(tmp_path: Path) -> None:
    file = judged(tmp_path / "pairs.tsv", "s1\ts2\tscore\n")
    first, second = HashEncoder(), HashEncoder(salt="other")
    found = compare_sts(file, first, second, names=("x", "y"))
    alone = [evaluate_sts(file, encoder).spearman.value for encoder in (first, second)]
    rho = found.measures["spearman"]
    assert (found.task, found.a, found.b, found.n) == ("sts", "x", "y", 40)
    assert [rho.a.value, rho.b.value] == pytest.approx(alone)
    assert rho.difference.value == pytest.approx(alone[1] - alone[0])
    assert rho.difference.low <= rho.difference.value <= rho.difference.high
    assert found.to_json()["measures"]["pearson"]["p"] == found.measures["pearson"].p


def test_an_encoder_does_not_differ_from_itself(tmp_path: Path) -> None:
    file = judged(tmp_path / "words.tsv", "")
    found = compare_lexical(file, HashEncoder(), HashEncoder())
    assert {m.p for m in found.measures.values()} == {1.0}
    assert {m.difference.value for m in found.measures.values()} == {0.0}


def test_the_paired_bootstrap_agrees_with_that_of_scipy() -> None:
    rng = np.random.default_rng(8)
    gold = rng.normal(size=120)
    before = gold + rng.normal(0.0, 2.0, size=120)
    after = gold + rng.normal(0.0, 1.0, size=120)
    found = paired_statistic(spearman, before, after, gold, samples=2000)
    oracle = stats.bootstrap(
        (before, after, gold),
        lambda b, a, g: stats.spearmanr(a, g).statistic - stats.spearmanr(b, g).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(1),
    )
    assert found.difference.low == pytest.approx(oracle.confidence_interval.low, abs=0.03)
    assert found.difference.high == pytest.approx(oracle.confidence_interval.high, abs=0.03)
    assert found.p == pytest.approx(2 * np.mean(oracle.bootstrap_distribution <= 0), abs=0.03)
    assert found.p < 0.01


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(MirrorIndexError, match="differ in length"):
        paired_statistic(spearman, np.zeros(3), np.zeros(2), np.zeros(3))
    with pytest.raises(MirrorIndexError, match="differ in length"):
        compare_items([1.0, 0.0], [1.0])


def beir(folder: Path) -> Path:
    def write(name: str, rows: Sequence[object]) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    write("corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": f"text {n}"} for n in range(6)])
    write("queries.jsonl", [{"_id": f"q{n}", "text": f"text {n}"} for n in range(4)])
    (folder / "qrels").mkdir()
    judgements = "".join(f"q{n}\td{n}\t1\n" for n in range(4))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judgements)
    return folder


def test_an_encoder_against_a_search_query_by_query(tmp_path: Path) -> None:
    folder = beir(tmp_path)

    def always_d0(texts: Sequence[str]) -> list[list[tuple[str, float]]]:
        return [[("d0", 1.0)] for _ in texts]

    found = compare_retrieval(folder, always_d0, HashEncoder())
    ndcg = found.measures["ndcg_at_10"]
    assert (ndcg.a.value, ndcg.b.value) == (0.25, 1.0)
    assert ndcg.difference.value == pytest.approx(0.75)
    alone = evaluate_retrieval(folder, HashEncoder())
    assert found.measures["map"].b == alone.map
    assert found.n == alone.queries == 4


def test_a_search_that_finds_no_document_is_refused(tmp_path: Path) -> None:
    folder = beir(tmp_path)
    with pytest.raises(SourceError, match="none of the ids"):
        compare_retrieval(folder, HashEncoder(), lambda texts: [[("other", 1.0)] for _ in texts])
