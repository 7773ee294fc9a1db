"""Linking metrics against values computed by hand."""

from __future__ import annotations

import pytest

from mirror_index.errors import MirrorIndexError
from mirror_index.evaluation.linking import (
    Prediction,
    canonical_id,
    expected_calibration_error,
    parse_gold,
    score_linking,
)
from mirror_index.records import LinkStatus

LINKED, AMBIGUOUS = LinkStatus.LINKED, LinkStatus.AMBIGUOUS
NIL, EMPTY = LinkStatus.NIL, LinkStatus.EMPTY


def test_gold_cells() -> None:
    assert parse_gold("D010051|D001943") == {"D010051", "D001943"}
    assert parse_gold(" mesh:D1 | MESH:D1 ") == {"MESH:D1"}
    assert parse_gold("") == parse_gold("NIL") == parse_gold("nil|") == frozenset()
    assert canonical_id("hp:0001") == "HP:0001"
    assert canonical_id("Q42") == "Q42"
    assert canonical_id("umls:c1") != canonical_id("umls:C1")


def test_scores_by_hand() -> None:
    gold = [parse_gold(g) for g in ("X:1", "X:2|X:3", "X:4", "X:5", "", "", "X:6")]
    predictions = [
        Prediction(status=LINKED, ranked=("x:1", "X:9"), probability=0.95),  # right
        Prediction(status=LINKED, ranked=("X:9", "X:3"), probability=0.85),  # second
        Prediction(status=AMBIGUOUS, ranked=("X:4", "X:9"), probability=0.55),  # right, unsure
        Prediction(status=NIL, ranked=("X:9",), probability=0.15),  # missed, wrong nil
        Prediction(status=NIL, ranked=("X:9",), probability=0.05),  # right nil
        Prediction(status=LINKED, ranked=("X:9",), probability=0.75),  # should be nil
        Prediction(status=EMPTY),  # nothing at all
    ]
    scores = score_linking(gold, predictions)
    assert (scores.n, scores.n_nil, scores.ambiguous) == (7, 2, 1)
    assert scores.accuracy_at_1 is not None
    assert scores.accuracy_at_5 is not None
    assert scores.mrr is not None
    assert scores.linked_accuracy is not None
    assert scores.accuracy_at_1.value == pytest.approx(2 / 5)
    assert scores.accuracy_at_5.value == pytest.approx(3 / 5)
    assert scores.mrr.value == pytest.approx((1 + 0.5 + 1) / 5)
    assert scores.coverage == pytest.approx(3 / 7)
    assert scores.linked_accuracy.value == pytest.approx(1 / 3)
    assert scores.nil_precision == pytest.approx(1 / 3)
    assert scores.nil_recall == pytest.approx(1 / 2)
    assert scores.ece == pytest.approx((0.05 + 0.85 + 0.45 + 0.15 + 0.05 + 0.75) / 6)
    assert scores.to_json()["mrr"]["value"] == pytest.approx(0.5)


def test_the_sixth_candidate_does_not_count_at_five() -> None:
    ranked = tuple(f"X:{n}" for n in range(6))
    scores = score_linking([parse_gold("X:5")], [Prediction(status=LINKED, ranked=ranked)])
    assert scores.accuracy_at_5 is not None
    assert scores.accuracy_at_5.value == 0.0
    assert scores.mrr is not None
    assert scores.mrr.value == pytest.approx(1 / 6)


def test_scores_over_nothing_are_none() -> None:
    scores = score_linking([], [])
    assert scores.accuracy_at_1 is None
    assert scores.coverage is None
    assert scores.nil_precision is None
    assert scores.ece is None
    with pytest.raises(MirrorIndexError, match="differ in length"):
        score_linking([frozenset()], [])


def test_calibration_error_by_hand() -> None:
    # Bin 0.9-1.0: mean .95, 3 of 4 right; bin 0.1-0.2: mean .1, 0 of 2 right.
    claimed = [0.95, 0.95, 0.95, 0.95, 0.1, 0.1]
    right = [True, True, True, False, False, False]
    assert expected_calibration_error(claimed, right) == pytest.approx(4 / 6 * 0.2 + 2 / 6 * 0.1)
    assert expected_calibration_error([1.0], [True]) == 0.0
    assert expected_calibration_error([0.5, 0.5], [True, False], bins=1) == 0.0
    with pytest.raises(MirrorIndexError, match="at least one"):
        expected_calibration_error([], [])
