"""From features to probabilities: which candidate is meant, and whether any is.

Two models, both fitted on held-out synonyms (`calibration`). A conditional logit (McFadden 1974)
says how the candidates of a mention compare: ``share_c = exp(u_c) / sum over candidates``, where
the utility is linear, ``w . x_c``, or the mean of that and of a small network (`network`). A
logistic model says how probable it is that the best of them is right, from its features, its share
among them, and how much nearer the learned map brings it. The others have probabilities in
proportion to their shares, and never so much that those of a mention sum to more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mirror_index.linking.features import FEATURES
from mirror_index.linking.lexicon import Floats
from mirror_index.linking.network import Network, inputs_of

SIGNS = (1, 1, -1, -1, -1, -1, 1, 1)
"""Direction in which each feature may count in the linear part: a nearer name is not worse."""

CONFIDENCE = (
    "nearness",
    "n-grams",
    "words",
    "word pairs",
    "numbers differ",
    "opposites",
    "share",
    "map",
)
"""Features of the confidence model: some of the best candidate's, its share, and by how much its
name is nearer than by plain cosine, which is 0 without a map."""

CONFIDENCE_SIGNS = (1, 1, 1, 1, -1, -1, 1, 1)
_COLUMNS = tuple(FEATURES.index(name) for name in CONFIDENCE[:-2])


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """The weights of both models, in the units of the features.

    Attributes:
        ranking: weight of each of `FEATURES`.
        confidence: weight of each of `CONFIDENCE`.
        bias: of the confidence model.
        network: has half a say in the ranking; None where it gains too little.
    """

    ranking: tuple[float, ...]
    confidence: tuple[float, ...]
    bias: float
    network: Network | None = None

    def utilities(self, table: Floats, gains: Floats) -> Floats:
        """Return (n,) utilities of the candidates of one mention, see `probabilities`."""
        linear: Floats = table @ np.array(self.ranking, dtype=np.float64)
        if self.network is None or not len(table):
            return linear
        inputs = inputs_of(table, gains, np.array([0, len(table)]))
        utilities: Floats = 0.5 * (linear + self.network.utilities(inputs))
        return utilities

    def probabilities(self, table: Floats, gains: Floats) -> Floats:
        """Return (n,) probabilities of the candidates of one mention, which sum to 1 at most.

        Args:
            table: (n, features) features.
            gains: (n,) how much nearer each is than by plain cosine.
        """
        if not len(table):
            return np.zeros(0)
        shares = softmax(self.utilities(table, gains))
        best = int(np.argmax(shares))
        share = float(shares[best])
        right = self.confident(confidence_features(table[best], share, float(gains[best])))
        beside = min(right / share, (1.0 - right) / max(1.0 - share, 1e-12))
        probabilities: Floats = shares * beside
        probabilities[best] = right
        return probabilities

    def confident(self, features: Floats) -> float:
        """Return the probability that a best candidate is right, from its `CONFIDENCE` features."""
        return float(logistic(features @ np.array(self.confidence, dtype=np.float64) + self.bias))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values with the names of the features."""
        return {
            "features": list(FEATURES),
            "ranking": list(self.ranking),
            "confidence_features": list(CONFIDENCE),
            "confidence": list(self.confidence),
            "bias": self.bias,
            "network": None if self.network is None else self.network.to_json(),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> LinkModel:
        """Return the model that `to_json` described."""
        return cls(
            ranking=tuple(values["ranking"]),
            confidence=tuple(values["confidence"]),
            bias=values["bias"],
            network=Network.from_json(values["network"]),
        )


DEFAULT_MODEL = LinkModel(
    ranking=(9.0, 8.0, -1.0, -1.0, -2.0, -0.5, 1.0, 0.0),
    confidence=(6.5, 0.5, 2.5, 0.0, -5.0, -5.0, 5.0, 0.0),
    bias=-9.6,
)
"""Used without a calibration, and what calibration starts from.

The ranking is rounded from fits on random parts of two dictionaries, of 3 to 200 concepts. The
confidence leans more on shared words than those fits do, so that a name that is merely spelled a
little alike is not taken, whatever the encoder makes of it, and more against other numbers and
opposites, which few names of a small dictionary can teach: "vitamin B2" is not vitamin B12; see
docs/linking.md."""


def confidence_features(best: Floats, share: float, gain: float) -> Floats:
    """Return the (confidence features,) of a best candidate from its (features,)."""
    return np.array([*best[list(_COLUMNS)], share, gain])


def softmax(utilities: Floats) -> Floats:
    """Return shares that sum to 1."""
    grown = np.exp(utilities - utilities.max())
    shares: Floats = grown / grown.sum()
    return shares


def logistic(values: Floats) -> Floats:
    """Return ``1 / (1 + exp(-values))``."""
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))
    return result
