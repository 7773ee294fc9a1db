"""From similarities to the probability that a candidate is right: a small logistic model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.dense import ConceptHit

FEATURES = ("cosine", "relative margin", "spelling")
TIE = 0.005
"""Concepts whose scores differ by no more are one answer that cannot be told apart."""

_SMOOTHING = 0.02  # keeps the relative margin finite beside a perfect runner-up

FloatVector = NDArray[np.float64]
FloatTable = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """``p = 1 / (1 + exp(-(bias + weights . features)))``; no weight is negative.

    Features: the cosine of the best name; the relative margin, i.e. the share of the runner-up's
    distance from a perfect score that the candidate is ahead by (which means the same for encoders
    with a wide and a narrow range of cosines); and the trigram similarity of the two spellings.
    """

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Sequence[float]) -> float:
        """Return the probability for one candidate's features, in the order of `FEATURES`."""
        return float(self.probabilities(np.array([features], dtype=np.float64))[0])

    def probabilities(self, features: FloatTable) -> FloatVector:
        """Return the probabilities of (n, 3) features as (n,) float64."""
        return _logistic(features @ np.array(self.weights, dtype=np.float64) + self.bias)


DEFAULT_MODEL = LinkModel(bias=-6.5, weights=(4.0, 5.0, 1.0))
"""Used without a calibration, and what calibration starts from. Cautious: a cosine of 0.9 with a
relative margin of 0.5 and half the trigrams shared has p = 0.52."""


def spelling_similarity(left: str, right: str) -> float:
    """Return the Jaccard similarity of the character trigrams of two keys, in [0, 1]."""
    first, second = _trigrams(left), _trigrams(right)
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


def features(
    key: str, matched_key: str, candidate: ConceptHit, rival: ConceptHit | None
) -> tuple[float, float, float]:
    """Return the features of a candidate, in the order of `FEATURES`.

    Args:
        key: key of the mention.
        matched_key: key of the candidate's best name.
        candidate: the concept in question.
        rival: the best other concept; None when there is none, which counts as a score of 0.
    """
    other = max(0.0, rival.score) if rival is not None else 0.0
    margin = (candidate.score - other) / (1.0 - other + _SMOOTHING)
    return candidate.cosine, margin, spelling_similarity(key, matched_key)


def fit(
    table: FloatTable,
    right: FloatVector,
    weights: FloatVector,
    *,
    prior: LinkModel = DEFAULT_MODEL,
    strength: float = 20.0,
) -> LinkModel:
    """Fit the model by penalised maximum likelihood (Newton's method).

    The penalty ``strength / 2 * |weights - prior.weights|^2`` pulls towards the prior, so that a
    few examples cannot turn it upside down; the bias is free. A weight that comes out negative is
    fixed at zero and the rest fitted again: a better match must never be less probable.

    Args:
        table: (n, 3) float64 features.
        right: (n,) 1.0 for a right candidate, 0.0 for a wrong one.
        weights: (n,) importance of each example, with a mean near 1.
        prior: centre of the penalty and starting point.
        strength: of the pull, in examples.
    """
    design = np.hstack([np.ones((len(table), 1)), table])
    centre = np.array([prior.bias, *prior.weights], dtype=np.float64)
    free = np.ones(len(centre), dtype=np.bool_)
    while True:
        found = np.zeros(len(centre), dtype=np.float64)
        found[free] = _newton(design[:, free], right, weights, centre[free], strength)
        negative = found < 0.0
        negative[0] = False
        if not negative.any():
            return LinkModel(bias=float(found[0]), weights=tuple(float(w) for w in found[1:]))
        free &= ~negative


def _newton(
    design: FloatTable,
    right: FloatVector,
    weights: FloatVector,
    centre: FloatVector,
    strength: float,
) -> FloatVector:
    # The bias is all but free: the tiny pull only keeps it finite when all examples agree.
    pull = np.array([1e-3, *[strength] * (len(centre) - 1)], dtype=np.float64)
    beta = centre.copy()
    for _ in range(100):
        p = _logistic(design @ beta)
        gradient = design.T @ (weights * (p - right)) + pull * (beta - centre)
        curvature = (design * (weights * p * (1.0 - p))[:, None]).T @ design + np.diag(pull)
        step = np.linalg.solve(curvature, gradient)
        # A full step can overshoot far from the optimum; capped ones still converge.
        beta -= step / max(1.0, float(np.abs(step).max()) / 5.0)
        if float(np.abs(step).max()) < 1e-9:
            break
    return beta


def _logistic(values: FloatVector) -> FloatVector:
    result: FloatVector = 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))
    return result


def _trigrams(key: str) -> set[str]:
    padded = f" {key} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)} or {padded}
