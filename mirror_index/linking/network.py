"""A small network beside the linear ranking: what a mention's candidates look like together.

Each candidate is seen by its features and by what it lacks to the best one of its mention in each
of them. A linear model cannot use the second, since what is the same for all candidates cancels;
one hidden layer can. It is fitted like the linear one, by the likelihood of the right candidates,
with Adam (Kingma and Ba 2015) and decoupled weight decay (Loshchilov and Hutter 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.lexicon import Floats
from mirror_index.vectors import IntVector

if TYPE_CHECKING:
    from mirror_index.linking.fitting import Choices

HIDDEN = 16
_STEPS = 400
_BATCH = 128
_MOST = 24  # candidates of a mention that are learned from: the best by the linear model
_RATE = 5e-3
_DECAY = 1e-2
_CONSTANT = 1e-6
_OUT = -1e9  # utility of a place without a candidate

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Network:
    """One hidden layer of rectifiers beside a direct linear part.

    Attributes:
        mean: (inputs,) taken off each input.
        scale: (inputs,) by which it is multiplied then.
        weights: ``direct`` (inputs,), ``hidden`` (inputs, units), ``bias`` (units,) and ``out``
            (units,).
    """

    mean: Singles
    scale: Singles
    weights: dict[str, Singles]

    def utilities(self, inputs: Floats) -> Floats:
        """Return the (n,) utilities of candidates from what `inputs_of` gave."""
        scaled = (inputs.astype(np.float32) - self.mean) * self.scale
        hidden = np.maximum(scaled @ self.weights["hidden"] + self.weights["bias"], 0.0)
        utilities = scaled @ self.weights["direct"] + hidden @ self.weights["out"]
        return utilities.astype(np.float64)

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same numbers."""
        return isinstance(other, Network) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        """Return a hash of the direct part."""
        return hash(self.weights["direct"].tobytes())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        arrays = {"mean": self.mean, "scale": self.scale, **self.weights}
        return {name: array.tolist() for name, array in arrays.items()}

    @classmethod
    def from_json(cls, values: dict[str, Any] | None) -> Network | None:
        """Return the network that `to_json` described, None for None."""
        if values is None:
            return None
        arrays = {name: np.array(value, dtype=np.float32) for name, value in values.items()}
        return cls(mean=arrays.pop("mean"), scale=arrays.pop("scale"), weights=arrays)


def inputs_of(table: Floats, gains: Floats, bounds: IntVector) -> Floats:
    """Return (n, inputs) of candidates: features and gain, and both less the best of the mention.

    Args:
        table: (n, features) of the candidates of several mentions, one mention after the other.
        gains: (n,) how much nearer each is than by plain cosine.
        bounds: (mentions + 1,) where those of each begin; none is without.
    """
    features = np.hstack([table, gains[:, None]])
    best = np.maximum.reduceat(features, bounds[:-1], axis=0)
    return np.hstack([features, features - np.repeat(best, np.diff(bounds), axis=0)])


def fit_network(choices: Choices, ranking: Sequence[float]) -> Network:
    """Fit a network; the same choices give the same one.

    Args:
        choices: at least one mention.
        ranking: weights of the linear model, which chooses the candidates to learn from.
    """
    inputs = inputs_of(choices.table, choices.gains, choices.bounds)
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0)
    # What never varies here says nothing: a value of it seen later must not decide.
    scale = np.where(spread > _CONSTANT, 1.0 / np.maximum(spread, _CONSTANT), 0.0)
    rows = ((inputs - mean) * scale).astype(np.float32)
    places = _contenders(choices, choices.table @ np.array(ranking))
    weights = _trained(rows, places, np.random.default_rng(0))
    return Network(mean=mean.astype(np.float32), scale=scale.astype(np.float32), weights=weights)


def _trained(rows: Singles, places: IntVector, rng: np.random.Generator) -> dict[str, Singles]:
    weights = _begin(rows.shape[1], rng)
    means = {name: np.zeros_like(value) for name, value in weights.items()}
    squares = {name: np.zeros_like(value) for name, value in weights.items()}
    for step in range(_STEPS):
        chosen = rng.integers(0, len(places), _BATCH)
        rate = _RATE * (1.0 - step / _STEPS)
        for name, gradient in _gradients(rows, places[chosen], weights).items():
            means[name] = 0.9 * means[name] + 0.1 * gradient
            squares[name] = 0.999 * squares[name] + 0.001 * gradient**2
            mean = means[name] / (1.0 - 0.9 ** (step + 1))
            width = np.sqrt(squares[name] / (1.0 - 0.999 ** (step + 1))) + 1e-8
            kept = weights[name] * (1.0 - rate * _DECAY)
            weights[name] = (kept - rate * mean / width).astype(np.float32)
    return weights


def _contenders(choices: Choices, linear: Floats) -> IntVector:
    """Return (mentions, _MOST) places, the right one first, -1 where there are too few."""
    places = np.full((len(choices.right), _MOST), -1, dtype=np.int64)
    for one, (start, end) in enumerate(pairwise(choices.bounds.tolist())):
        order = start + np.argsort(-linear[start:end], kind="stable")
        others = order[order != choices.right[one]][: _MOST - 1]
        places[one, 0] = choices.right[one]
        places[one, 1 : 1 + len(others)] = others
    return places


def _begin(inputs: int, rng: np.random.Generator) -> dict[str, Singles]:
    bound = 1.0 / math.sqrt(inputs)
    drawn = {
        "direct": rng.uniform(-bound, bound, inputs),
        "hidden": rng.uniform(-bound, bound, (inputs, HIDDEN)),
        "bias": rng.uniform(-bound, bound, HIDDEN),
        "out": np.zeros(HIDDEN),
    }
    return {name: value.astype(np.float32) for name, value in drawn.items()}


def _gradients(rows: Singles, places: IntVector, weights: dict[str, Singles]) -> dict[str, Singles]:
    """Return the gradient of the mean of ``-log(share of the first place)``."""
    seen = rows[places.ravel()]
    before = seen @ weights["hidden"] + weights["bias"]
    hidden = np.maximum(before, 0.0)
    utilities = (seen @ weights["direct"] + hidden @ weights["out"]).reshape(places.shape)
    utilities[places < 0] = _OUT
    utilities -= utilities.max(axis=1, keepdims=True)
    shares = np.exp(utilities)
    shares /= shares.sum(axis=1, keepdims=True)
    shares[:, 0] -= 1.0
    slope = (shares / len(places)).astype(np.float32).ravel()
    inward = np.where(before > 0.0, slope[:, None] * weights["out"], np.float32(0.0))
    return {
        "direct": seen.T @ slope,
        "hidden": seen.T @ inward,
        "bias": inward.sum(axis=0),
        "out": hidden.T @ slope,
    }
