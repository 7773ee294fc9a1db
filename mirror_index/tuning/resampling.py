"""Bootstrap intervals for means and for averages over pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.evaluation.intervals import interval_of

REPLICATES = 1_000
_LEVEL = 0.95

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95% interval; the bounds are None where no interval can be given."""

    value: float
    low: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """Return plain JSON values."""
        return {"value": self.value, "low": self.low, "high": self.high}


def resamples(n: int, seed: int, replicates: int = REPLICATES) -> FloatArray:
    """Return (replicates, n) counts: how often each of n units is drawn with replacement.

    The same counts applied to values before and after give paired resamples.
    """
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, np.full(n, 1 / n), size=replicates).astype(np.float64)


def of_mean(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean of `values` and of each resample: (1 + replicates,)."""
    return np.append(values.mean(), counts @ values / len(values))


def of_pairs(matrix: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the mean of a symmetric (n, n) matrix off its diagonal, and of each resample.

    A pair of two copies of one unit is left out of a resample, as the diagonal is; a resample of
    nothing but one unit, which few units give now and then, has the mean itself.
    """
    off = matrix.copy()
    np.fill_diagonal(off, 0.0)
    n = len(matrix)
    value = off.sum() / (n * (n - 1))
    totals = np.einsum("ri,ri->r", counts @ off, counts)
    pairs = n**2 - np.einsum("ri,ri->r", counts, counts)
    means = np.divide(totals, pairs, out=np.full_like(totals, value), where=pairs > 0)
    return np.append(value, means)


def estimate(statistics: FloatArray) -> Estimate:
    """Return the first number of `statistics`, with an interval from the rest."""
    value = float(statistics[0])
    if len(statistics) == 1:
        return Estimate(value=value)
    interval = interval_of(value, statistics[1:], _LEVEL)
    return Estimate(value=value, low=interval.low, high=interval.high)
