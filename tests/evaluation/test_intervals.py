"""Intervals and paired tests against scipy and known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mirror_index.errors import MirrorIndexError
from mirror_index.evaluation import intervals
from mirror_index.evaluation.intervals import bootstrap_mean, paired_difference


def test_the_interval_is_that_of_the_normal_theory() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, size=2000)
    found = bootstrap_mean(values, samples=4000)
    half = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.01)
    assert found.high == pytest.approx(values.mean() + half, abs=0.01)


def test_it_is_seeded_and_independent_of_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).normal(size=17)
    whole = bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) == whole
    assert bootstrap_mean(values, seed=4) != whole
    monkeypatch.setattr(intervals, "_CELLS", 50)
    assert bootstrap_mean(values, seed=3) == whole


def test_an_interval_in_another_unit() -> None:
    interval = bootstrap_mean([0.5, 0.5])
    assert interval.scaled(100).to_json() == {"value": 50.0, "low": 50.0, "high": 50.0}


def test_p_agrees_with_the_permutation_test_of_scipy() -> None:
    rng = np.random.default_rng(5)
    before = rng.normal(size=40)
    after = before + rng.normal(0.25, 1.0, size=40)
    found = paired_difference(before, after)
    oracle = stats.permutation_test(
        (after, before),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    )
    assert found.p == pytest.approx(oracle.pvalue, abs=0.02)
    assert found.difference.value == pytest.approx((after - before).mean())
    assert found.n == 40


def test_no_difference_has_p_one_and_a_clear_one_a_small_p() -> None:
    values = np.arange(30.0)
    assert paired_difference(values, values).p == 1.0
    clear = paired_difference(values, values + 1.0 + values / 100)
    assert clear.p < 0.001
    assert clear.difference.low > 1.0
    assert clear.to_json()["n"] == 30


def test_bad_input_is_refused() -> None:
    with pytest.raises(MirrorIndexError, match="no values"):
        bootstrap_mean([])
    with pytest.raises(MirrorIndexError, match="differ in length"):
        paired_difference([1.0], [1.0, 2.0])
