"""How sure a measured mean is: bootstrap intervals, and the paired difference of two systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import MirrorIndexError

FloatVector = NDArray[np.float64]
_CELLS = 4_000_000  # resampled values held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A measured value with the ends of its percentile bootstrap interval (95% by default)."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Interval:
        """Return the interval in another unit, e.g. times 100."""
        return Interval(value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def to_json(self) -> dict[str, float]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """Mean of ``after - before`` over the same items, its interval, and a two-sided p-value."""

    difference: Interval
    p: float
    n: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedStatistic:
    """One statistic of two systems over the same items; see `paired_statistic`."""

    before: Interval
    after: Interval
    difference: Interval
    p: float


def bootstrap_mean(
    values: Sequence[float] | NDArray[Any],
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Return the mean with its percentile bootstrap interval (Efron 1979).

    Args:
        values: one number per item, in any unit; the interval is in the same unit.
        samples: bootstrap resamples.
        seed: the same seed and values give the same interval.
        level: coverage of the interval.

    Raises:
        MirrorIndexError: no values.
    """
    array = _vector(values)
    rng = np.random.default_rng(seed)
    means = np.empty(samples, dtype=np.float64)
    block = max(1, _CELLS // array.size)
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        drawn = rng.integers(0, array.size, size=(rows, array.size))
        means[start : start + rows] = array[drawn].mean(axis=1)
    return interval_of(float(array.mean()), means, level)


def bootstrap_statistic(
    statistic: Callable[[FloatVector, FloatVector], float],
    left: FloatVector,
    right: FloatVector,
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Return ``statistic(left, right)`` with its interval from resampling the pairs.

    Raises:
        MirrorIndexError: no pairs, or the two sides differ in length.
    """
    left, right = _paired(left, right)
    rng = np.random.default_rng(seed)
    drawn = (rng.integers(0, left.size, size=left.size) for _ in range(samples))
    found = np.array([statistic(left[rows], right[rows]) for rows in drawn], dtype=np.float64)
    return interval_of(statistic(left, right), found, level)


def paired_statistic(
    statistic: Callable[[FloatVector, FloatVector], float],
    before: FloatVector,
    after: FloatVector,
    gold: FloatVector,
    *,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> PairedStatistic:
    """Compare ``statistic(after, gold)`` with ``statistic(before, gold)`` by a paired bootstrap.

    Both are computed on the same resampled items (Efron and Tibshirani 1993). p is twice the share
    of resamples on the other side of zero, ``(1 + those) / (1 + samples)`` and 1 at most.

    Raises:
        MirrorIndexError: no items, or the sides differ in length.
    """
    before, gold = _paired(before, gold)
    after, gold = _paired(after, gold)
    rng = np.random.default_rng(seed)
    found = np.empty((samples, 2), dtype=np.float64)
    for sample in range(samples):
        rows = rng.integers(0, gold.size, size=gold.size)
        found[sample] = statistic(before[rows], gold[rows]), statistic(after[rows], gold[rows])
    first, second = statistic(before, gold), statistic(after, gold)
    gaps = found[:, 1] - found[:, 0]
    other = min(int(np.count_nonzero(gaps <= 0.0)), int(np.count_nonzero(gaps >= 0.0)))
    return PairedStatistic(
        before=interval_of(first, found[:, 0], level),
        after=interval_of(second, found[:, 1], level),
        difference=interval_of(second - first, gaps, level),
        p=min(1.0, 2.0 * (1 + other) / (1 + samples)),
    )


def paired_difference(
    before: Sequence[float] | NDArray[Any],
    after: Sequence[float] | NDArray[Any],
    *,
    samples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> PairedDifference:
    """Compare two systems on the same items.

    The interval is a bootstrap over items, p a sign-flip randomisation test of "no difference"
    (Fisher 1935; ``(1 + as extreme) / (1 + samples)``, so never zero).

    Raises:
        MirrorIndexError: no values, or the two sides differ in length.
    """
    first, second = _paired(before, after)
    differences = second - first
    observed = abs(float(differences.mean()))
    rng = np.random.default_rng(seed + 1)
    extreme = 0
    block = max(1, _CELLS // differences.size)
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        signs = rng.integers(0, 2, size=(rows, differences.size)) * 2 - 1
        means = np.abs((signs * differences).mean(axis=1))
        extreme += int(np.count_nonzero(means >= observed - 1e-12))
    return PairedDifference(
        difference=bootstrap_mean(differences, samples=1000, seed=seed, level=level),
        p=(1 + extreme) / (1 + samples),
        n=int(differences.size),
    )


def interval_of(value: float, resampled: FloatVector, level: float) -> Interval:
    """Return `value` with the central `level` share of the resampled values as its interval."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    return Interval(value=value, low=float(low), high=float(high))


def _vector(values: Sequence[float] | NDArray[Any]) -> FloatVector:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size == 0:
        raise MirrorIndexError(
            "there are no values to average", remedy="Give at least one evaluated item"
        )
    return array


def _paired(
    left: Sequence[float] | NDArray[Any], right: Sequence[float] | NDArray[Any]
) -> tuple[FloatVector, FloatVector]:
    first, second = _vector(left), _vector(right)
    if first.size != second.size:
        raise MirrorIndexError(
            "the two sides of a paired comparison differ in length",
            value=(int(first.size), int(second.size)),
            remedy="Evaluate both on the same items, in the same order",
        )
    return first, second
