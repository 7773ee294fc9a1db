"""Similarity benchmarks: rank correlation of cosines with the judgements of people.

Sentence level: STS 2012-2016, STS-B, SICK-R. Word level: SimLex-999, WordSim-353, UMNSRS. The
figure of the literature is Spearman's rho x 100 over all pairs of a file together (the "all"
setting of Gao et al., EMNLP 2021, which Mirror-BERT reports too).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mirror_index.errors import SourceError, UsageError
from mirror_index.evaluation.intervals import FloatVector, Interval, bootstrap_statistic
from mirror_index.evaluation.tables import Table, TableRow, require_columns
from mirror_index.records import normalise_text
from mirror_index.vectors import EncoderLike

LEXICAL_COLUMNS = ("w1", "w2", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class StsReport:
    """Correlation of cosines with judgements, times 100, with 95% bootstrap intervals.

    Attributes:
        file: name of the evaluated file.
        n: pairs.
        spearman: rank correlation (ties share their mean rank).
        pearson: linear correlation.
        mean_cosine: mean cosine of the pairs; near 1 for an encoder whose space is a narrow cone.
        encoder: fingerprint of the encoder.
    """

    file: str
    n: int
    spearman: Interval
    pearson: Interval
    mean_cosine: float
    encoder: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPairs:
    """Pairs of texts with the similarity people gave them.

    Attributes:
        file: name of the file they come from.
        left: first text of each pair.
        right: second text of each pair.
        gold: (n,) float64 judgements.
    """

    file: str
    left: Sequence[str]
    right: Sequence[str]
    gold: FloatVector

    def cosines(self, encoder: EncoderLike) -> FloatVector:
        """Return the (n,) float64 cosines of the pairs; each distinct text is encoded once."""
        row_of = {text: row for row, text in enumerate(dict.fromkeys((*self.left, *self.right)))}
        vectors = encoder.encode(list(row_of)).astype(np.float64)
        first = vectors[[row_of[text] for text in self.left]]
        second = vectors[[row_of[text] for text in self.right]]
        cosines: FloatVector = np.einsum("ij,ij->i", first, second)
        return cosines


def evaluate_sts(
    path: str | Path,
    encoder: EncoderLike,
    columns: Sequence[str] = ("s1", "s2", "score"),
    *,
    samples: int = 1000,
    seed: int = 0,
) -> StsReport:
    """Evaluate on a TSV or CSV file with a header.

    Args:
        path: the file; other columns than the three are ignored.
        encoder: encodes each distinct text once.
        columns: names of the first text, the second text and the score.
        samples: bootstrap resamples of the intervals.
        seed: seed of the resampling.

    Raises:
        UsageError: not three column names.
        SourceError: an absent column, an empty text, a score that is no finite number (the line is
            named), fewer than two pairs, or scores that are all equal.
    """
    return _evaluate(read_sts(path, columns), encoder, samples, seed)


def evaluate_lexical(
    path: str | Path, encoder: EncoderLike, *, samples: int = 1000, seed: int = 0
) -> StsReport:
    """Evaluate on a file without a header whose rows are ``word, word, score``.

    Raises:
        SourceError: as for `evaluate_sts`.
    """
    return _evaluate(read_lexical(path), encoder, samples, seed)


def read_sts(path: str | Path, columns: Sequence[str] = ("s1", "s2", "score")) -> JudgedPairs:
    """Read judged pairs from a TSV or CSV file with a header.

    Raises:
        UsageError: not three column names.
        SourceError: as for `evaluate_sts`.
    """
    if len(columns) != 3:
        raise UsageError(
            "three columns are needed",
            value=tuple(columns),
            remedy="Name the two text columns and the score column",
        )
    table = Table(path)
    require_columns(table, columns, "--columns")
    return _judged_pairs(table, columns)


def read_lexical(path: str | Path) -> JudgedPairs:
    """Read judged pairs from a file without a header whose rows are ``word, word, score``.

    Raises:
        SourceError: as for `evaluate_sts`.
    """
    return _judged_pairs(Table(path, header=LEXICAL_COLUMNS), LEXICAL_COLUMNS)


def spearman(left: FloatVector, right: FloatVector) -> float:
    """Return Spearman's rho of two vectors; 0.0 when one of them is constant."""
    return pearson(average_ranks(left), average_ranks(right))


def pearson(left: FloatVector, right: FloatVector) -> float:
    """Return Pearson's r of two vectors; 0.0 when one of them is constant."""
    x, y = left - left.mean(), right - right.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return 0.0 if scale == 0.0 else max(-1.0, min(1.0, float(x @ y) / scale))


def average_ranks(values: FloatVector) -> FloatVector:
    """Return float64 ranks from 1 up, one a value; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatVector = (last - (counts - 1) / 2.0)[places]
    return ranks


def _judged_pairs(table: Table, columns: Sequence[str]) -> JudgedPairs:
    left_column, right_column, score_column = columns
    left: list[str] = []
    right: list[str] = []
    scores: list[float] = []
    for row in table:
        left.append(_text(row, left_column, table.name))
        right.append(_text(row, right_column, table.name))
        scores.append(_score(row, score_column, table.name))
    gold = np.array(scores, dtype=np.float64)
    if gold.size < 2 or bool((gold == gold[0]).all()):
        raise SourceError(
            "a correlation needs at least two pairs whose scores differ",
            value=f"{gold.size} pairs",
            where=table.name,
        )
    return JudgedPairs(file=table.name, left=left, right=right, gold=gold)


def _evaluate(pairs: JudgedPairs, encoder: EncoderLike, samples: int, seed: int) -> StsReport:
    cosines = pairs.cosines(encoder)
    rho, r = (
        bootstrap_statistic(statistic, cosines, pairs.gold, samples=samples, seed=seed)
        for statistic in (spearman, pearson)
    )
    return StsReport(
        file=pairs.file,
        n=int(pairs.gold.size),
        spearman=rho.scaled(100.0),
        pearson=r.scaled(100.0),
        mean_cosine=float(cosines.mean()),
        encoder=encoder.fingerprint,
    )


def _text(row: TableRow, column: str, file: str) -> str:
    text = normalise_text(row.cells[column])
    if not text:
        raise SourceError(f"an empty text in column {column!r}", where=f"{file}, line {row.line}")
    return text


def _score(row: TableRow, column: str, file: str) -> float:
    raw = row.cells[column]
    try:
        score = float(raw)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise SourceError(
            f"the score in column {column!r} is not a number",
            value=raw,
            where=f"{file}, line {row.line}",
            remedy="Correct or remove the row",
        )
    return score
