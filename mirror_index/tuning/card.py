"""The before/after card: what tuning changed, on strings and names the tuner never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mirror_index.evaluation.intervals import paired_difference
from mirror_index.tuning.probes import Answers, Probes
from mirror_index.tuning.resampling import (
    Estimate,
    FloatArray,
    estimate,
    of_mean,
    of_pairs,
    resamples,
)
from mirror_index.vectors import FloatMatrix, IntVector

FORMAT_VERSION = 1
_SIGN_FLIPS = 2_000
_FEWEST_VECTORS = 3
UNTRAINED_ALTERATIONS = ("typos", "words")
"""Kinds the main measure averages: unlike the gap, training shows the encoder nothing like them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One quantity before and after tuning.

    Attributes:
        name: machine name, e.g. ``synonym_acc1``.
        title: for people.
        n: independent units it rests on (strings or names).
        higher_is_better: direction; None where neither end is good in itself.
        before: with a bootstrap 95% interval over the units.
        after: None when there is no tuned encoder to measure.
        change: after minus before, interval over paired resamples.
        p: of "no difference", two-sided, by flipping signs at random; None where it does not apply.
    """

    name: str
    title: str
    n: int
    higher_is_better: bool | None
    before: Estimate
    after: Estimate | None = None
    change: Estimate | None = None
    p: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "n": self.n,
            "higher_is_better": self.higher_is_better,
            "before": self.before.to_json(),
            "after": self.after.to_json() if self.after else None,
            "change": self.change.to_json() if self.change else None,
            "p": self.p,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What was done, what it changed, and what was decided.

    Attributes:
        measures: before and after, in display order.
        kept: whether the tuned weights were saved.
        gain: whether the measures show a gain.
        reason: of the decision, in a sentence.
        counts: strings, pairs, steps and the like.
        loss: of the first and the last step.
        base: fingerprint of the encoder before.
        tuned: fingerprint of the encoder after; None when training broke down.
        seconds: wall time by stage.
    """

    measures: tuple[Measure, ...]
    kept: bool
    gain: bool
    reason: str
    counts: Mapping[str, int] = field(default_factory=dict)
    loss: Mapping[str, float | None] = field(default_factory=dict)
    base: str = ""
    tuned: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    def measure(self, name: str) -> Measure | None:
        """Return a measure by its machine name, None when it could not be taken."""
        return next((measure for measure in self.measures if measure.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "format_version": FORMAT_VERSION,
            "kept": self.kept,
            "gain": self.gain,
            "reason": self.reason,
            "measures": [measure.to_json() for measure in self.measures],
            "counts": dict(self.counts),
            "loss": dict(self.loss),
            "base": self.base,
            "tuned": self.tuned,
            "seconds": dict(self.seconds),
        }

    def render(self) -> str:
        """Return a table for people, 95% intervals in brackets."""
        width = max([len(measure.title) for measure in self.measures] or [7])
        lines = [f"{'measure':<{width}}  {'n':>5}  {'before':>24}  {'after':>24}  {'change':>24}"]
        lines += [
            f"{measure.title:<{width}}  {measure.n:>5}  {_cell(measure.before):>24}  "
            f"{_cell(measure.after):>24}  {_cell(measure.change, sign='+'):>24}"
            for measure in self.measures
        ]
        counts = ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in self.counts.items()
        )
        verdict = "tuned weights kept" if self.kept else "base encoder kept"
        return "\n".join([*lines, "", counts, f"{verdict}: {self.reason}"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    title: str
    n: int
    higher_is_better: bool | None


def compare(
    probes: Probes, before: Answers, after: Answers | None, seed: int
) -> tuple[Measure, ...]:
    """Return the measures of two encoders' answers; with `after` None, of the first alone.

    Retrieval is the accuracy at 1 and the mean reciprocal rank of altered copies, and the accuracy
    at 1 and 5 and the same rank for held-out names. Without held-out names there is the share
    of neighbours that marks leave a string (`marks.neighbours_kept`).

    Geometry is taken on the held-out strings. Alignment is the mean squared distance of altered
    copies to their originals, uniformity the log of the mean of ``exp(-2 d^2)`` over pairs (Wang &
    Isola, arXiv 2005.10242; lower is better for both). Effective rank is the exponential of the
    entropy of the singular values (Roy & Vetterli 2007); resampling repeats rows and so lowers it,
    hence no interval.
    """
    sides = [answers for answers in (before, after) if answers is not None]
    values = [_values(probes, answers) for answers in sides]
    geometry = [_geometry(answers.vectors, seed) for answers in sides]
    measures = [_of_values(row, values, seed) for row in _rows(probes) if row.name in values[0]]
    measures += [_of_geometry(row, geometry) for row in _rows(probes) if row.name in geometry[0]]
    return tuple(measures)


def _rows(probes: Probes) -> list[_Row]:
    altered = {queries.kind: len(queries.texts) for queries in probes.altered}
    names = len(probes.dictionary.queries) if probes.dictionary else 0
    main = len(_units(probes, UNTRAINED_ALTERATIONS))
    return [
        _Row("synonym_acc1", "held-out synonyms, Acc@1", names, True),
        _Row("synonym_acc5", "held-out synonyms, Acc@5", names, True),
        _Row("synonym_mrr", "held-out synonyms, MRR", names, True),
        _Row("altered_acc1", "altered copies, Acc@1", main, True),
        _Row("altered_mrr", "altered copies, MRR", main, True),
        _Row("typos_acc1", "  of these typos", altered.get("typos", 0), True),
        _Row("words_acc1", "  of these word order", altered.get("words", 0), True),
        _Row("gap_acc1", "copies with a gap, Acc@1", altered.get("gap", 0), True),
        _Row("neighbours_kept", "neighbours kept between marks", _compared(probes), True),
        _Row("alignment", "alignment", main, False),
        _Row("uniformity", "uniformity", probes.held, False),
        _Row("mean_cosine", "mean cosine", probes.held, None),
        _Row("effective_rank", "effective rank", probes.held, None),
    ]


def _compared(probes: Probes) -> int:
    return min(probes.held, len(probes.marked[0])) if probes.marked else 0


def _values(probes: Probes, answers: Answers) -> dict[str, FloatArray]:
    """Return one value per independent unit (string or name) of each measure that is a mean."""
    found: dict[str, FloatArray] = {}
    if len(answers.name_ranks):
        found["synonym_acc1"] = (answers.name_ranks == 1).astype(np.float64)
        found["synonym_acc5"] = (answers.name_ranks <= 5).astype(np.float64)
        found["synonym_mrr"] = 1.0 / answers.name_ranks
    if len(answers.neighbours):
        found["neighbours_kept"] = answers.neighbours
    hits = {kind: (ranks == 1).astype(np.float64) for kind, ranks in answers.ranks.items()}
    reciprocal = {kind: 1.0 / ranks for kind, ranks in answers.ranks.items()}
    found |= {f"{kind}_acc1": values for kind, values in hits.items()}
    if len(_units(probes, UNTRAINED_ALTERATIONS)):
        found["altered_acc1"] = _per_string(probes, hits)
        found["altered_mrr"] = _per_string(probes, reciprocal)
        found["alignment"] = _per_string(probes, answers.distances)
    return found


def _geometry(vectors: FloatMatrix, seed: int) -> dict[str, FloatArray]:
    """Return each geometric measure on the sample, then on its resamples."""
    if len(vectors) < _FEWEST_VECTORS:
        return {}
    cosines = vectors.astype(np.float64) @ vectors.T
    counts = resamples(len(vectors), seed)
    potential = of_pairs(np.exp(-4.0 * (1.0 - cosines)), counts)  # d^2 = 2 - 2 cos for unit rows
    return {
        "uniformity": np.log(potential),
        "mean_cosine": of_pairs(cosines, counts),
        "effective_rank": np.array([effective_rank(vectors)]),
    }


def effective_rank(vectors: FloatMatrix) -> float:
    """Return the exponential of the entropy of the singular values: 1 for parallel rows."""
    values = np.linalg.svd(vectors.astype(np.float64), compute_uv=False)
    shares = values / values.sum()
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _units(probes: Probes, kinds: tuple[str, ...]) -> IntVector:
    rows = [queries.rows for queries in probes.altered if queries.kind in kinds]
    return np.unique(np.concatenate(rows)) if rows else np.empty(0, dtype=np.int64)


def _per_string(probes: Probes, values: Mapping[str, FloatArray]) -> FloatArray:
    """Average over the untrained alterations of one string: its queries are not independent."""
    total = np.zeros(probes.held)
    count = np.zeros(probes.held)
    for queries in probes.altered:
        if queries.kind in UNTRAINED_ALTERATIONS:
            total[queries.rows] += values[queries.kind]
            count[queries.rows] += 1
    asked = count > 0
    return total[asked] / count[asked]


def _of_values(row: _Row, sides: Sequence[Mapping[str, FloatArray]], seed: int) -> Measure:
    values = [side[row.name] for side in sides]
    counts = resamples(len(values[0]), seed)
    measure = _measure(row, [of_mean(side, counts) for side in values])
    if len(values) == 1:
        return measure
    test = paired_difference(values[0], values[1], samples=_SIGN_FLIPS, seed=seed)
    return replace(measure, p=test.p)


def _of_geometry(row: _Row, sides: Sequence[Mapping[str, FloatArray]]) -> Measure:
    return _measure(row, [side[row.name] for side in sides])


def _measure(row: _Row, sides: Sequence[FloatArray]) -> Measure:
    return Measure(
        name=row.name,
        title=row.title,
        n=row.n,
        higher_is_better=row.higher_is_better,
        before=estimate(sides[0]),
        after=estimate(sides[1]) if len(sides) > 1 else None,
        change=estimate(sides[1] - sides[0]) if len(sides) > 1 else None,
    )


def _cell(estimate: Estimate | None, sign: str = "") -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:{sign}.3f}"
    return f"{estimate.value:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"
