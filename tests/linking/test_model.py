"""The logistic model against scipy's optimiser, and its features by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from mirror_index.linking.dense import ConceptHit
from mirror_index.linking.model import (
    DEFAULT_MODEL,
    LinkModel,
    features,
    fit,
    spelling_similarity,
)
from mirror_index.records import Scope


def hit(score: float, cosine: float | None = None, identifier: str = "X:1") -> ConceptHit:
    return ConceptHit(
        concept_id=identifier,
        matched_name="x",
        scope=Scope.LABEL,
        cosine=score if cosine is None else cosine,
        score=score,
    )


def test_features_by_hand() -> None:
    cosine, margin, spelling = features("abc", "abd", hit(0.9, 0.91), hit(0.8))
    assert cosine == 0.91
    assert margin == pytest.approx(0.1 / 0.22)
    assert spelling == pytest.approx(1 / 5)  # " ab" of " ab", "abc", "bc ", "abd", "bd "
    assert features("a", "a", hit(0.5), None)[1] == pytest.approx(0.5 / 1.02)
    assert features("a", "a", hit(0.5), hit(-0.4))[1] == pytest.approx(0.5 / 1.02)
    assert features("a", "a", hit(0.5), hit(0.6))[1] < 0.0
    assert features("a", "a", hit(1.0), hit(1.0))[1] == 0.0


def test_spelling_similarity() -> None:
    assert spelling_similarity("seizure", "seizure") == 1.0
    assert spelling_similarity("abc", "xyz") == 0.0
    assert spelling_similarity("", "") == 1.0
    assert spelling_similarity("a", "") == 0.0


def test_probability_is_the_logistic_function() -> None:
    model = LinkModel(bias=-1.0, weights=(2.0, 0.5, 1.0))
    assert model.probability((0.5, 0.2, 0.3)) == pytest.approx(1 / (1 + np.exp(-0.4)))
    assert DEFAULT_MODEL.probability((0.9, 0.5, 0.5)) == pytest.approx(0.525, abs=1e-3)
    assert DEFAULT_MODEL.probability((0.3, 0.3, 0.2)) < 0.05


def simulated(
    n: int = 600, seed: int = 0, weights: tuple[float, ...] = (5.0, 4.0, 1.5)
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.0, 1.0, size=(n, 3))
    p = 1 / (1 + np.exp(-(table @ np.array(weights) - 5.0)))
    return table, (rng.uniform(size=n) < p).astype(np.float64)


def test_the_fit_minimises_the_penalised_loss() -> None:
    table, right = simulated()
    weights = np.where(right > 0, 0.8, 1.2)
    found = fit(table, right, weights, strength=7.0)
    centre = np.array([DEFAULT_MODEL.bias, *DEFAULT_MODEL.weights])
    pull = np.array([1e-3, 7.0, 7.0, 7.0])

    def loss(beta: np.ndarray) -> float:
        logits = beta[0] + table @ beta[1:]
        likelihood = weights * (np.logaddexp(0.0, logits) - right * logits)
        return float(likelihood.sum() + 0.5 * (pull * (beta - centre) ** 2).sum())

    oracle = optimize.minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-6})
    assert [found.bias, *found.weights] == pytest.approx(oracle.x.tolist(), abs=1e-3)


def test_a_weight_is_never_negative() -> None:
    table, right = simulated(n=4000, weights=(6.0, 5.0, -6.0))
    found = fit(table, right, np.ones(len(right)))
    assert found.weights[2] == 0.0
    assert min(found.weights) >= 0.0
    free = fit(
        table[:, :2], right, np.ones(len(right)), prior=LinkModel(bias=-6.5, weights=(4.0, 5.0))
    )
    assert found.bias == pytest.approx(free.bias)
    assert found.weights[:2] == pytest.approx(free.weights)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_examples_that_all_agree_have_a_finite_fit(outcome: float) -> None:
    table, _ = simulated(n=80)
    found = fit(table, np.full(80, outcome), np.ones(80))
    assert np.isfinite([found.bias, *found.weights]).all()
    assert (found.probabilities(table) > 0.5).all() == bool(outcome)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_better_match_is_never_less_probable(seed: int, low: float, high: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(60, 3))
    right = rng.integers(0, 2, size=60).astype(np.float64)
    model = fit(table, right, np.ones(60))
    low, high = sorted((low, high))
    for place in range(3):
        point = [0.5, 0.5, 0.5]
        point[place] = low
        worse = model.probability(point)
        point[place] = high
        assert model.probability(point) >= worse - 1e-12
