"""The risk-coverage curve, by hand and drawn."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mirror_index.errors import MirrorIndexError
from mirror_index.evaluation.linking import Prediction, risk_coverage, score_linking
from mirror_index.records import LinkStatus


def test_points_by_hand() -> None:
    points = risk_coverage([0.9, 0.5, 0.2, 0.7], [True, False, True, True], steps=10)
    assert [p.threshold for p in points] == pytest.approx([n / 10 for n in range(10)])
    by_threshold = {round(p.threshold, 1): p for p in points}
    assert (by_threshold[0.0].coverage, by_threshold[0.0].precision) == (1.0, 0.75)
    assert (by_threshold[0.3].coverage, by_threshold[0.3].precision) == (0.75, pytest.approx(2 / 3))
    assert (by_threshold[0.6].coverage, by_threshold[0.6].precision) == (0.5, 1.0)


def test_weights_count_as_copies() -> None:
    rng = np.random.default_rng(0)
    p, right, copies = rng.uniform(size=50), rng.uniform(size=50) < 0.5, rng.integers(1, 4, 50)
    weighted = risk_coverage(p, right, weights=copies)
    repeated = risk_coverage(np.repeat(p, copies), np.repeat(right, copies))
    for name in ("threshold", "coverage", "precision"):
        one, other = ([getattr(point, name) for point in c] for c in (weighted, repeated))
        assert one == pytest.approx(other)


def test_nothing_and_unequal_sides() -> None:
    assert risk_coverage([], []) == ()
    with pytest.raises(MirrorIndexError, match="as many outcomes"):
        risk_coverage([0.5], [])


def test_scores_carry_the_curve() -> None:
    predictions = [
        Prediction(status=LinkStatus.LINKED, ranked=("A:1",), probability=0.9),
        Prediction(status=LinkStatus.EMPTY),
    ]
    curve = score_linking([frozenset({"A:1"}), frozenset()], predictions).curve
    assert (curve[0].coverage, curve[0].precision) == (1.0, 0.5)
    assert (curve[50].coverage, curve[50].precision) == (0.5, 1.0)


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from mirror_index.evaluation.plotting import draw_curve

    path = tmp_path / "curve.png"
    draw_curve(risk_coverage(np.linspace(0, 1, 30), np.linspace(0, 1, 30) > 0.4), path)
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:]) == (750, 600)
