"""The two models against scipy's optimiser and the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from mirror_index.linking.features import FEATURES
from mirror_index.linking.fitting import Choices, fit_confidence, fit_ranking, ranking_loss
from mirror_index.linking.model import (
    CONFIDENCE,
    CONFIDENCE_SIGNS,
    DEFAULT_MODEL,
    SIGNS,
    LinkModel,
    confidence_features,
    softmax,
)


def simulated(mentions: int = 200, seed: int = 0, scale: float = 1.0) -> Choices:
    """Candidates whose right one is drawn from a conditional logit."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.0, 1.0, size=(mentions * 6, len(FEATURES)))
    truth = scale * np.array([4.0, 2.0, -1.0, -1.0, -2.0, -0.5, 1.0, 3.0])
    right = [
        6 * place + int(rng.choice(6, p=softmax(table[6 * place : 6 * place + 6] @ truth)))
        for place in range(mentions)
    ]
    gains = rng.uniform(-0.2, 0.3, size=len(table))
    bounds = np.arange(mentions + 1) * 6
    return Choices(table=table, gains=gains, bounds=bounds, right=np.array(right))


def test_probabilities_by_hand() -> None:
    table = np.zeros((2, len(FEATURES)))
    table[:, 0] = 0.9, 0.8
    table[0, FEATURES.index("opposites")] = 1.0
    model = LinkModel(
        ranking=(10.0, *[0.0] * 7),
        confidence=(2.0, 0.0, 0.0, 0.0, 0.0, -0.5, 1.0, 3.0),
        bias=-1.0,
    )
    share = np.e / (np.e + 1.0)
    logit = -1.0 + 2.0 * 0.9 - 0.5 + share
    for gain in (0.0, 0.1):
        right = 1.0 / (1.0 + np.exp(-(logit + 3.0 * gain)))
        second = min((1 - share) * right / share, 1.0 - right)
        found = model.probabilities(table, np.array([gain, 0.7]))
        assert found == pytest.approx([right, second])
    assert model.probabilities(np.zeros((0, len(FEATURES))), np.zeros(0)).tolist() == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(-60.0, 60.0))
def test_probabilities_fall_in_the_order_of_ranking_and_sum_to_one_at_most(
    seed: int, candidates: int, bias: float
) -> None:
    table = np.random.default_rng(seed).uniform(size=(candidates, len(FEATURES)))
    model = LinkModel(ranking=DEFAULT_MODEL.ranking, confidence=DEFAULT_MODEL.confidence, bias=bias)
    found = model.probabilities(table, np.zeros(candidates))
    assert found.sum() <= 1.0 + 1e-9
    assert (found >= 0.0).all()
    order = np.argsort(-model.utilities(table, np.zeros(candidates)), kind="stable")
    assert (np.diff(found[order]) <= 1e-12).all()


def test_confidence_features_are_named_columns() -> None:
    row = np.arange(len(FEATURES), dtype=float)
    found = dict(zip(CONFIDENCE, confidence_features(row, 0.25, 0.5).tolist(), strict=True))
    assert (found.pop("share"), found.pop("map")) == (0.25, 0.5)
    assert found == {name: FEATURES.index(name) for name in found}


def test_ranking_minimises_the_penalised_loss() -> None:
    choices = simulated()
    found = fit_ranking(choices, strength=3.0)
    spread = choices.table.std(axis=0)
    prior = np.array(DEFAULT_MODEL.ranking)

    def loss(weights: np.ndarray) -> float:
        total = 0.0
        for start, right in zip(choices.bounds[:-1], choices.right, strict=True):
            utilities = choices.table[start : start + 6] @ weights
            total += float(np.logaddexp.reduce(utilities) - choices.table[right] @ weights)
        return total + 1.5 * float((((weights - prior) * spread) ** 2).sum())

    oracle = optimize.minimize(loss, np.zeros(len(FEATURES)), method="BFGS")
    assert list(found) == pytest.approx(oracle.x.tolist(), abs=1e-2)
    penalty = 1.5 * float((((np.array(found) - prior) * spread) ** 2).sum())
    expected = (loss(np.array(found)) - penalty) / 200
    assert ranking_loss(choices, choices.table @ np.array(found)) == pytest.approx(expected)


def test_confidence_minimises_the_penalised_loss() -> None:
    rng = np.random.default_rng(1)
    table = rng.uniform(size=(500, len(CONFIDENCE))) * np.linspace(0.2, 2.0, len(CONFIDENCE))
    truth = np.array([3.0, 1.0, 1.0, 1.0, -1.0, -1.0, 2.0, 1.0])
    right = (rng.uniform(size=500) < 1 / (1 + np.exp(-(table @ truth - 3.0)))).astype(float)
    weights = np.where(right > 0, 0.8, 1.2)
    found = fit_confidence(table, right, weights, strength=7.0)
    spread = np.array([1.0, *table.std(axis=0)])
    centre = np.array([DEFAULT_MODEL.bias, *DEFAULT_MODEL.confidence])
    pull = np.array([1e-3, *[7.0] * len(CONFIDENCE)])

    def loss(beta: np.ndarray) -> float:
        logits = beta[0] + table @ beta[1:]
        likelihood = weights * (np.logaddexp(0.0, logits) - right * logits)
        return float(likelihood.sum() + 0.5 * (pull * ((beta - centre) * spread) ** 2).sum())

    oracle = optimize.minimize(loss, centre, method="BFGS", options={"gtol": 1e-6})
    signs = np.array(CONFIDENCE_SIGNS)
    assert (oracle.x[1:] * signs >= 0.0).all()  # the constraint is not what the fit ends at
    assert [found.bias, *found.weights] == pytest.approx(oracle.x.tolist(), abs=1e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.floats(-2.0, 2.0))
def test_no_weight_has_the_wrong_sign(seed: int, scale: float) -> None:
    """Whatever the examples say, a better match is never less probable."""
    choices = simulated(mentions=40, seed=seed, scale=scale)
    ranking = np.array(fit_ranking(choices))
    assert (ranking * np.array(SIGNS) >= 0.0).all()
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(60, len(CONFIDENCE)))
    found = fit_confidence(table, rng.integers(0, 2, 60).astype(float), np.ones(60))
    assert (np.array(found.weights) * np.array(CONFIDENCE_SIGNS) >= 0.0).all()


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_examples_that_all_agree_have_a_finite_fit(outcome: float) -> None:
    table = np.random.default_rng(0).uniform(size=(80, len(CONFIDENCE)))
    found = fit_confidence(table, np.full(80, outcome), np.ones(80))
    assert np.isfinite([found.bias, *found.weights]).all()


def test_without_mentions_the_prior_stays() -> None:
    nothing = Choices(
        table=np.zeros((0, 8)),
        gains=np.zeros(0),
        bounds=np.zeros(1, dtype=int),
        right=np.zeros(0, dtype=int),
    )
    assert fit_ranking(nothing) == DEFAULT_MODEL.ranking
    assert ranking_loss(nothing, np.zeros(0)) == 0.0


def test_the_default_tells_names_of_small_dictionaries_from_nothing() -> None:
    def best(cosine: float, ngrams: float, words: float) -> float:
        table = np.zeros((1, len(FEATURES)))
        table[0, [0, 1, FEATURES.index("words")]] = cosine, ngrams, words
        return float(DEFAULT_MODEL.probabilities(table, np.zeros(1))[0])

    assert best(0.9, 0.7, 1.0) > 0.95
    assert best(0.75, 0.4, 0.4) > 0.75
    assert best(0.64, 0.3, 0.0) < 0.45
    assert LinkModel.from_json(DEFAULT_MODEL.to_json()) == DEFAULT_MODEL


@pytest.mark.parametrize("told_apart_by", ["numbers differ", "opposites"])
def test_the_default_takes_no_sibling_for_what_is_meant(told_apart_by: str) -> None:
    def best(feature: float) -> float:
        table = np.zeros((1, len(FEATURES)))
        table[0, [0, 1, FEATURES.index("words")]] = 0.97, 0.9, 0.75
        table[0, FEATURES.index(told_apart_by)] = feature
        return float(DEFAULT_MODEL.probabilities(table, np.zeros(1))[0])

    assert best(0.0) > 0.9
    assert best(1.0) < 0.5
