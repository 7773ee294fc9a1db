"""Similarity benchmarks against scipy, on hand-made files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mirror_index.errors import SourceError, UsageError
from mirror_index.evaluation.sts import (
    average_ranks,
    evaluate_lexical,
    evaluate_sts,
    pearson,
    spearman,
)
from tests.fakes import HashEncoder

PAIRS = [
    ("a red car", "a red cart", 4.5),
    ("a red car", "some blue sky", 0.5),
    ('the "quoted" one', "the quoted one", 4.0),
    ("fish soup", "fish soups", 4.5),
    ("fish soup", "stone wall", 0.0),
    ("old man", "old woman", 2.5),
]


def sts_file(tmp_path: Path, name: str = "sts.tsv") -> Path:
    path = tmp_path / name
    rows = "".join(f"x\t{score}\t{a}\t{b}\n" for a, b, score in PAIRS)
    path.write_text(f"subset\tscore\ts1\ts2\n{rows}", encoding="utf-8")
    return path


def expected_cosines(encoder: HashEncoder) -> np.ndarray:
    return np.array(
        [
            float((encoder.encode([a])[0].astype(float)) @ encoder.encode([b])[0])
            for a, b, _ in PAIRS
        ]
    )


def test_it_is_the_correlation_of_scipy(tmp_path: Path) -> None:
    encoder = HashEncoder()
    report = evaluate_sts(sts_file(tmp_path), encoder, samples=200)
    cosines, gold = expected_cosines(encoder), [score for *_, score in PAIRS]
    assert report.spearman.value == pytest.approx(100 * stats.spearmanr(cosines, gold).statistic)
    assert report.pearson.value == pytest.approx(100 * stats.pearsonr(cosines, gold).statistic)
    assert report.spearman.low <= report.spearman.value <= report.spearman.high
    assert report.mean_cosine == pytest.approx(cosines.mean())
    assert (report.n, report.file) == (6, "sts.tsv")
    assert report.to_json()["encoder"] == encoder.fingerprint


def test_each_distinct_text_is_encoded_once(tmp_path: Path) -> None:
    encoder = HashEncoder()
    evaluate_sts(sts_file(tmp_path), encoder, samples=10)
    assert encoder.encoded == len({text for a, b, _ in PAIRS for text in (a, b)})


def test_other_column_names_and_csv(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text('left,right,gold\n"a, b","a b",5\nx,y,1\n"p",q,2\n', encoding="utf-8")
    report = evaluate_sts(path, HashEncoder(), columns=("left", "right", "gold"), samples=10)
    assert report.n == 3


def test_lexical_files_have_no_header(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("car\tcart\t5\ncar\tsky\t1\nman\tmen\t4\n", encoding="utf-8")
    encoder = HashEncoder()
    report = evaluate_lexical(path, encoder, samples=10)
    cosines = [
        float(encoder.encode([a])[0].astype(float) @ encoder.encode([b])[0])
        for a, b in [("car", "cart"), ("car", "sky"), ("man", "men")]
    ]
    assert report.n == 3
    assert report.spearman.value == pytest.approx(
        100 * stats.spearmanr(cosines, [5, 1, 4]).statistic
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("s1\ts2\tscore\na\tb\tx\n", "not a number: 'x'.*line 2"),
        ("s1\ts2\tscore\na\tb\t1\na\tb\tnan\n", "not a number: 'nan'.*line 3"),
        ("s1\ts2\tscore\na\t \t1\n", "empty text in column 's2'.*line 2"),
        ("s1\ts2\tscore\na\tb\t1\n", "at least two pairs"),
        ("s1\ts2\tscore\na\tb\t1\nc\td\t1\n", "scores differ"),
        ("s1\ttext\tscore\na\tb\t1\n", "no such column: 's2'"),
    ],
)
def test_bad_files_say_where(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=message):
        evaluate_sts(path, HashEncoder())


def test_three_columns_are_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="three columns"):
        evaluate_sts(sts_file(tmp_path), HashEncoder(), columns=("s1", "s2"))


def test_ranks_share_ties_and_constants_have_no_correlation() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0, 3.0, 1.0])
    assert average_ranks(values).tolist() == stats.rankdata(values).tolist()
    constant = np.ones(6)
    assert spearman(values, constant) == 0.0
    assert pearson(constant, values) == 0.0
    assert pearson(values, values * 2) == 1.0
