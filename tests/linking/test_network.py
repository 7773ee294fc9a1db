"""The network beside the linear ranking, against loops, differences and what it has to learn."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.linking import calibrate, calibration, link, load_calibration, network
from mirror_index.linking.features import FEATURES
from mirror_index.linking.fitting import Choices, fit_ranking, ranking_loss
from mirror_index.linking.model import DEFAULT_MODEL, LinkModel
from mirror_index.linking.network import Network, fit_network, inputs_of
from tests.dictionaries import Build
from tests.linking.test_calibration import dictionary

CANDIDATES = 6
INPUTS = 2 * (len(FEATURES) + 1)


def choices(mentions: int, seed: int) -> Choices:
    """Candidates of which the one nearest to the middle of the first feature is right."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(mentions * CANDIDATES, len(FEATURES)))
    middle = np.abs(table[:, 0] - 0.5).reshape(mentions, CANDIDATES)
    return Choices(
        table=table,
        gains=rng.uniform(size=len(table)),
        bounds=np.arange(mentions + 1) * CANDIDATES,
        right=np.arange(mentions) * CANDIDATES + middle.argmin(axis=1),
    )


def small(seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    shapes = {"direct": (INPUTS,), "hidden": (INPUTS, 3), "bias": (3,), "out": (3,)}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    mean, scale = rng.normal(size=(2, INPUTS)).astype(np.float32)
    return Network(mean=mean, scale=scale, weights=weights)


def test_inputs_by_hand() -> None:
    table = np.array([[1.0, 5.0], [3.0, 2.0], [7.0, 7.0]])
    found = inputs_of(table, np.array([0.1, 0.4, -1.0]), np.array([0, 2, 3]))
    assert found == pytest.approx(
        np.array(
            [
                [1.0, 5.0, 0.1, -2.0, 0.0, -0.3],
                [3.0, 2.0, 0.4, 0.0, -3.0, 0.0],
                [7.0, 7.0, -1.0, 0.0, 0.0, 0.0],
            ]
        )
    )


def test_utilities_by_loops() -> None:
    one = small()
    inputs = np.random.default_rng(1).normal(size=(4, INPUTS))
    expected = []
    for row in inputs:
        scaled = [
            (x - m) * s for x, m, s in zip(row, one.mean.tolist(), one.scale.tolist(), strict=True)
        ]
        utility = math.fsum(
            a * w for a, w in zip(scaled, one.weights["direct"].tolist(), strict=True)
        )
        for unit in range(3):
            into = math.fsum(
                a * w for a, w in zip(scaled, one.weights["hidden"][:, unit].tolist(), strict=True)
            )
            utility += max(0.0, into + float(one.weights["bias"][unit])) * float(
                one.weights["out"][unit]
            )
        expected.append(utility)
    assert one.utilities(inputs).tolist() == pytest.approx(expected, rel=1e-4)


def test_gradients_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(30, INPUTS)).astype(np.float32)
    places = np.array([[0, 1, 2, -1], [3, 4, -1, -1], [9, 8, 7, 6], [5, -1, -1, -1]])
    weights = small(4).weights

    def loss(changed: dict[str, np.ndarray]) -> float:
        total = 0.0
        for few in places:
            seen = rows[few[few >= 0]].astype(np.float64)
            hidden = np.maximum(seen @ changed["hidden"] + changed["bias"], 0.0)
            utilities = seen @ changed["direct"] + hidden @ changed["out"]
            total += float(np.logaddexp.reduce(utilities) - utilities[0])
        return total / len(places)

    exact = {name: value.astype(np.float64) for name, value in weights.items()}
    for name, gradient in network._gradients(rows, places, weights).items():
        for place in list(np.ndindex(gradient.shape))[:12]:
            ends = []
            for step in (1e-5, -1e-5):
                moved = {key: value.copy() for key, value in exact.items()}
                moved[name][place] += step
                ends.append(loss(moved))
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-3)


def test_it_learns_what_no_linear_ranking_can() -> None:
    taught, asked = choices(600, 1), choices(300, 2)
    ranking = fit_ranking(taught)
    linear = ranking_loss(asked, asked.table @ np.array(ranking))
    assert linear > 0.9 * math.log(CANDIDATES)
    model = LinkModel(
        ranking=ranking, confidence=(), bias=0.0, network=fit_network(taught, ranking)
    )
    utilities = [
        model.utilities(
            asked.table[start : start + CANDIDATES], asked.gains[start : start + CANDIDATES]
        )
        for start in asked.bounds[:-1]
    ]
    assert ranking_loss(asked, np.concatenate(utilities)) < 0.7 * linear


def test_the_same_choices_give_the_same_network_and_json_holds_it() -> None:
    taught = choices(60, 1)
    first = fit_network(taught, DEFAULT_MODEL.ranking)
    assert fit_network(taught, DEFAULT_MODEL.ranking) == first
    assert fit_network(choices(60, 2), DEFAULT_MODEL.ranking) != first
    again = Network.from_json(json.loads(json.dumps(first.to_json())))
    assert again == first
    assert hash(again) == hash(first)
    assert first != first.to_json()
    assert Network.from_json(None) is None


def test_a_feature_that_never_varies_has_no_say() -> None:
    taught = choices(60, 1)
    taught.table[:, 3] = 0.0
    one = fit_network(taught, DEFAULT_MODEL.ranking)
    table, gains, bounds = taught.table.copy(), taught.gains, taught.bounds
    before = one.utilities(inputs_of(table, gains, bounds))
    table[::2, 3] = 1.0
    assert one.utilities(inputs_of(table, gains, bounds)).tolist() == before.tolist()


def test_learning_looks_at_the_right_one_and_at_the_best_others() -> None:
    bounds = np.array([0, 30, 32])
    taught = Choices(
        table=np.zeros((32, 8)), gains=np.zeros(32), bounds=bounds, right=np.array([29, 31])
    )
    linear = -np.arange(32.0)
    found = network._contenders(taught, linear)
    assert found[0].tolist() == [29, *range(23)]
    assert found[1].tolist() == [31, 30, *[-1] * 22]


@pytest.mark.parametrize("worth", [-10.0, 0.9])
def test_it_is_used_where_it_lowers_the_loss_on_other_concepts(
    build: Build, monkeypatch: pytest.MonkeyPatch, worth: float
) -> None:
    monkeypatch.setattr(calibration, "NETWORK_WORTH", worth)
    monkeypatch.setattr(calibration, "FEWEST_FOR_NETWORK", 30)
    collection: Collection = build(dictionary())
    found = calibrate(collection, sample=120)
    assert (found.model.network is not None) == (worth < 0) == found.summary()["network"]
    assert load_calibration(collection) == found
    answers = link(collection, [item.names[1].text for item in dictionary()])
    assert all(sum(one.probability for one in a.candidates) <= 1.0 + 1e-9 for a in answers)
    right = [
        a.candidates[0].concept_id == item.id for a, item in zip(answers, dictionary(), strict=True)
    ]
    assert np.mean(right) > 0.9


def test_a_few_examples_never_make_a_network(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "NETWORK_WORTH", -10.0)
    assert calibrate(build(dictionary()), sample=120).model.network is None
