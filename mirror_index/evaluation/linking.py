"""Metrics of entity linking: ranking, coverage and accuracy apart, NIL, and calibration.

Pure functions of gold ids and predictions; nothing here links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import MirrorIndexError
from mirror_index.evaluation.intervals import Interval, bootstrap_mean
from mirror_index.records import LinkStatus

_NO_CONCEPT = frozenset({"", "nil"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a linker said about one mention.

    Attributes:
        status: its decision.
        ranked: ids of the candidates, best first, whatever the decision.
        probability: claimed chance that the first candidate is right; None without candidates.
    """

    status: LinkStatus
    ranked: tuple[str, ...] = ()
    probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What linking everything of at least this probability would come to.

    Attributes:
        threshold: the lowest probability that is linked.
        coverage: share of the items that is linked.
        precision: share of the linked that is right; the risk is 1 less it.
    """

    threshold: float
    coverage: float
    precision: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingScores:
    """Scores of a linker on mentions with gold ids.

    The ranking scores look at the candidates of mentions that have a concept, whatever the linker
    decided. Coverage and accuracy describe its decisions. A score over no items at all is None.

    Attributes:
        n: mentions.
        n_nil: mentions whose gold is empty, i.e. that name no concept of the dictionary.
        accuracy_at_1: share of the others whose first candidate is a gold id.
        accuracy_at_5: share of the others with a gold id among the first five candidates.
        mrr: mean of 1 / rank of the first gold id (0 when it is no candidate).
        coverage: share of all mentions that were linked.
        linked_accuracy: share of the linked mentions whose concept is a gold id.
        nil_precision: share of the mentions answered nil or empty whose gold is empty.
        nil_recall: share of the mentions with an empty gold that were answered nil or empty.
        ece: expected calibration error of the probabilities (see `expected_calibration_error`).
        ambiguous: mentions answered with several concepts; they count neither as linked nor as nil.
        curve: precision and coverage by threshold, if the first candidate of every mention were
            linked from that probability on.
    """

    n: int
    n_nil: int
    accuracy_at_1: Interval | None
    accuracy_at_5: Interval | None
    mrr: Interval | None
    coverage: float | None
    linked_accuracy: Interval | None
    nil_precision: float | None
    nil_recall: float | None
    ece: float | None
    ambiguous: int
    curve: tuple[CurvePoint, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def canonical_id(identifier: str) -> str:
    """Return an id with its prefix in upper case: ``mesh:D010051`` is ``MESH:D010051``.

    An IRI is as it stands.
    """
    prefix, colon, local = identifier.strip().partition(":")
    if local.startswith("//"):
        return identifier.strip()
    return f"{prefix.upper()}{colon}{local}"


def parse_gold(text: str) -> frozenset[str]:
    """Return the ids of a gold cell: ``"A|B"`` holds two, ``""`` and ``"NIL"`` none.

    Any of several ids counts as right.
    """
    parts = (part.strip() for part in text.split("|"))
    return frozenset(canonical_id(part) for part in parts if part.lower() not in _NO_CONCEPT)


def gold_rank(gold: frozenset[str], ranked: Sequence[str]) -> int | None:
    """Return the rank (from 1) of the first candidate that is a gold id, or None."""
    for rank, identifier in enumerate(ranked, start=1):
        if canonical_id(identifier) in gold:
            return rank
    return None


def score_linking(
    gold: Sequence[frozenset[str]], predictions: Sequence[Prediction], *, seed: int = 0
) -> LinkingScores:
    """Score predictions against gold ids (see `parse_gold`), item by item in the same order.

    Raises:
        MirrorIndexError: the two sides differ in length.
    """
    if len(gold) != len(predictions):
        raise MirrorIndexError(
            "gold and predictions differ in length", value=(len(gold), len(predictions))
        )
    ranks = [gold_rank(g, p.ranked) for g, p in zip(gold, predictions, strict=True)]
    named = [rank for g, rank in zip(gold, ranks, strict=True) if g]
    linked = [p.status is LinkStatus.LINKED for p in predictions]
    refused = [p.status in (LinkStatus.NIL, LinkStatus.EMPTY) for p in predictions]
    absent = [not g for g in gold]
    both = sum(r and a for r, a in zip(refused, absent, strict=True))
    return LinkingScores(
        n=len(gold),
        n_nil=sum(absent),
        accuracy_at_1=_mean((rank == 1 for rank in named), seed),
        accuracy_at_5=_mean((rank is not None and rank <= 5 for rank in named), seed),
        mrr=_mean((0.0 if rank is None else 1.0 / rank for rank in named), seed),
        coverage=_share(sum(linked), len(gold)),
        linked_accuracy=_mean((r == 1 for r, k in zip(ranks, linked, strict=True) if k), seed),
        nil_precision=_share(both, sum(refused)),
        nil_recall=_share(both, sum(absent)),
        ece=_claimed_error(ranks, predictions),
        curve=risk_coverage(
            [prediction.probability or 0.0 for prediction in predictions],
            [rank == 1 for rank in ranks],
        ),
        ambiguous=sum(p.status is LinkStatus.AMBIGUOUS for p in predictions),
    )


def expected_calibration_error(
    probabilities: Sequence[float] | NDArray[Any],
    correct: Sequence[bool] | NDArray[Any],
    *,
    bins: int = 10,
    weights: Sequence[float] | NDArray[Any] | None = None,
) -> float:
    """Return the ECE of claimed probabilities (Naeini et al., AAAI 2015; Guo et al., ICML 2017).

    The probabilities are parted into `bins` of equal width; each bin adds its share of the items
    times the gap between its mean probability and its share of correct items. 0 is perfect. With
    `weights`, every item counts that much.

    Raises:
        MirrorIndexError: no items, or the two sides differ in length.
    """
    claimed = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    weight = np.ones_like(claimed) if weights is None else np.asarray(weights, dtype=np.float64)
    if claimed.size == 0 or not claimed.shape == right.shape == weight.shape:
        raise MirrorIndexError(
            "calibration error needs as many outcomes as probabilities, at least one",
            value=(int(claimed.size), int(right.size)),
        )
    places = np.minimum((claimed * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(places, weights=weight * (claimed - right), minlength=bins)
    return float(np.abs(gaps).sum() / weight.sum())


def risk_coverage(
    probabilities: Sequence[float] | NDArray[Any],
    correct: Sequence[bool] | NDArray[Any],
    *,
    weights: Sequence[float] | NDArray[Any] | None = None,
    steps: int = 100,
) -> tuple[CurvePoint, ...]:
    """Return the risk-coverage curve (El-Yaniv and Wiener, JMLR 2010), thresholds rising.

    Thresholds go from 0 to 1 in `steps`; the curve ends with the last one that links anything.

    Raises:
        MirrorIndexError: the two sides differ in length.
    """
    claimed = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    weight = np.ones_like(claimed) if weights is None else np.asarray(weights, dtype=np.float64)
    if not claimed.shape == right.shape == weight.shape:
        raise MirrorIndexError(
            "a curve needs as many outcomes as probabilities",
            value=(int(claimed.size), int(right.size)),
        )
    points = []
    for threshold in np.arange(steps + 1) / steps:
        linked = claimed >= threshold
        together = float(weight[linked].sum())
        if together <= 0.0:
            break
        points.append(
            CurvePoint(
                threshold=float(threshold),
                coverage=together / float(weight.sum()),
                precision=float((weight * right)[linked].sum()) / together,
            )
        )
    return tuple(points)


def _claimed_error(ranks: Sequence[int | None], predictions: Sequence[Prediction]) -> float | None:
    claims = [
        (prediction.probability, rank == 1)
        for rank, prediction in zip(ranks, predictions, strict=True)
        if prediction.probability is not None
    ]
    if not claims:
        return None
    return expected_calibration_error([c for c, _ in claims], [right for _, right in claims])


def _mean(values: Iterable[float], seed: int) -> Interval | None:
    array = [float(value) for value in values]
    return bootstrap_mean(array, seed=seed) if array else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
