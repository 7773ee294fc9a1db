"""Bootstrap statistics against resampling done the slow way."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.tuning.resampling import Estimate, estimate, of_mean, of_pairs, resamples


def drawn_rows(counts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts.astype(int))


def test_resamples_draw_with_replacement() -> None:
    counts = resamples(30, seed=1, replicates=50)
    assert counts.shape == (50, 30)
    assert (counts.sum(axis=1) == 30).all()
    assert np.array_equal(counts, resamples(30, seed=1, replicates=50))
    assert not np.array_equal(counts, resamples(30, seed=2, replicates=50))


def test_mean_of_each_resample() -> None:
    values = np.random.default_rng(0).normal(size=25)
    counts = resamples(25, seed=1, replicates=40)
    expected = [values.mean()] + [values[drawn_rows(row)].mean() for row in counts]
    assert of_mean(values, counts) == pytest.approx(np.array(expected))


def test_pairs_of_each_resample_leave_out_copies() -> None:
    matrix = np.random.default_rng(0).normal(size=(9, 9))
    matrix += matrix.T
    counts = resamples(9, seed=1, replicates=20)
    expected = []
    for rows in [np.arange(9), *map(drawn_rows, counts)]:
        pairs = [matrix[a, b] for a in rows for b in rows if a != b]
        expected.append(np.mean(pairs))
    assert of_pairs(matrix, counts) == pytest.approx(np.array(expected))


def test_few_units_leave_no_holes() -> None:
    """Of four units a resample now and then draws one four times: there is no pair in it."""
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    counts = np.array([[4.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    found = of_pairs(matrix + matrix.T, counts)
    assert found == pytest.approx(np.full(3, found[0]))


def test_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for seed in range(200):
        found = estimate(of_mean(generator.normal(size=60), resamples(60, seed)))
        hits += found.low <= 0.0 <= found.high
    assert 180 <= hits <= 199


def test_one_number_has_no_interval() -> None:
    assert estimate(np.array([3.0])) == Estimate(value=3.0)
    assert Estimate(value=3.0).to_json() == {"value": 3.0, "low": None, "high": None}
