"""Two encoders or rankers on one task, item by item: the difference, its interval, and p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.evaluation.beir import load_beir
from mirror_index.evaluation.intervals import (
    Interval,
    bootstrap_mean,
    paired_difference,
    paired_statistic,
)
from mirror_index.evaluation.retrieval import Search, rank_corpus, score_run
from mirror_index.evaluation.sts import JudgedPairs, pearson, read_lexical, read_sts, spearman
from mirror_index.vectors import EncoderLike


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureComparison:
    """One measure of both, and what lies between them.

    Attributes:
        a: of the first, with its 95% interval.
        b: of the second.
        difference: ``b - a`` over the same items, with its paired 95% bootstrap interval.
        p: two-sided p-value of "there is no difference".
    """

    a: Interval
    b: Interval
    difference: Interval
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on one task.

    Attributes:
        task: sts, lexical, retrieval or linking.
        data: name of the file or folder.
        a: what the first is called.
        b: what the second is called.
        n: items (pairs, queries or mentions) both were measured on.
        measures: by the name each has in the report of a single system.
    """

    task: str
    data: str
    a: str
    b: str
    n: int
    measures: Mapping[str, MeasureComparison]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def compare_sts(
    path: str | Path,
    first: EncoderLike,
    second: EncoderLike,
    columns: Sequence[str] = ("s1", "s2", "score"),
    *,
    names: Sequence[str] = ("a", "b"),
    samples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two encoders on judged pairs (see `evaluate_sts`), by a bootstrap over the pairs.

    Args:
        path: a TSV or CSV file with a header.
        first: encoder A.
        second: encoder B.
        columns: names of the first text, the second text and the score.
        names: what to call the two.
        samples: bootstrap resamples.
        seed: of the resampling.

    Raises:
        UsageError: not three column names.
        SourceError: as for `evaluate_sts`.
    """
    pairs = read_sts(path, columns)
    return _compare_pairs("sts", pairs, (first, second), names, samples, seed)


def compare_lexical(
    path: str | Path,
    first: EncoderLike,
    second: EncoderLike,
    *,
    names: Sequence[str] = ("a", "b"),
    samples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two encoders on a headerless file of ``word, word, score``; see `compare_sts`."""
    return _compare_pairs("lexical", read_lexical(path), (first, second), names, samples, seed)


def _compare_pairs(
    task: str,
    pairs: JudgedPairs,
    encoders: Sequence[EncoderLike],
    names: Sequence[str],
    samples: int,
    seed: int,
) -> Comparison:
    first, second = (pairs.cosines(encoder) for encoder in encoders)
    measures = {}
    for name, statistic in (("spearman", spearman), ("pearson", pearson)):
        found = paired_statistic(statistic, first, second, pairs.gold, samples=samples, seed=seed)
        measures[name] = MeasureComparison(
            a=found.before.scaled(100.0),
            b=found.after.scaled(100.0),
            difference=found.difference.scaled(100.0),
            p=found.p,
        )
    return Comparison(
        task=task, data=pairs.file, a=names[0], b=names[1], n=len(pairs.gold), measures=measures
    )


def compare_retrieval(
    folder: str | Path,
    first: EncoderLike | Search,
    second: EncoderLike | Search,
    *,
    split: str = "test",
    names: Sequence[str] = ("a", "b"),
) -> Comparison:
    """Compare two rankers of a BEIR folder, query by query; see `evaluate_retrieval`.

    Args:
        folder: a BEIR folder.
        first: ranker A: an encoder (exact dense ranking), or a search such as a collection's.
        second: ranker B.
        split: which queries and judgements.
        names: what to call the two.

    Raises:
        SourceError: as for `evaluate_retrieval`.
    """
    data = load_beir(folder, split)
    scores = [score_run(data.qrels, rank_corpus(data, ranker)) for ranker in (first, second)]
    return Comparison(
        task="retrieval",
        data=data.name,
        a=names[0],
        b=names[1],
        n=len(data.queries),
        measures={
            measure: compare_items(
                [scores[0][measure][query] for query in data.queries],
                [scores[1][measure][query] for query in data.queries],
            )
            for measure in scores[0]
        },
    )


def compare_items(
    first: Sequence[float] | NDArray[Any], second: Sequence[float] | NDArray[Any]
) -> MeasureComparison:
    """Compare two systems by the mean of a score over the same items, one number each.

    Raises:
        MirrorIndexError: no items, or the two sides differ in length.
    """
    paired = paired_difference(first, second)
    return MeasureComparison(
        a=bootstrap_mean(np.asarray(first)),
        b=bootstrap_mean(np.asarray(second)),
        difference=paired.difference,
        p=paired.p,
    )
