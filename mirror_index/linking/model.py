"""From features to probabilities: which candidate is meant, and whether any is.

Two models, both fitted on held-out synonyms (`calibration`). A conditional logit (McFadden 1974)
says how the candidates of a mention share the probability that one of them is right:
``share_c = exp(w . x_c) / sum over candidates``. A logistic model over the best candidate says how
probable it is that the mention names anything in the dictionary that was found. The probability of
a candidate is the product, so that the candidates of a mention never sum to more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.features import FEATURES
from mirror_index.linking.lexicon import Floats

SIGNS = (1, 1, -1, -1, -1, -1, 1, 1)
"""Direction in which each feature may count: a nearer name is never less probable."""

PRESENCE = (
    "cosine",
    "n-grams",
    "words",
    "word pairs",
    "share",
    "numbers differ",
    "opposites",
)
"""Features of the presence model: those of the best candidate, and its share."""

PRESENCE_SIGNS = (1, 1, 1, 1, 1, -1, -1)
_COLUMNS = tuple(FEATURES.index(name) for name in PRESENCE if name != "share")
_SHARE = PRESENCE.index("share")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """The weights of both models, in the units of the features.

    Attributes:
        ranking: weight of each of `FEATURES`.
        presence: weight of each of `PRESENCE`.
        bias: of the presence model.
    """

    ranking: tuple[float, ...]
    presence: tuple[float, ...]
    bias: float

    def utilities(self, table: Floats) -> Floats:
        """Return (n,) utilities of candidates from their (n, features) table."""
        values: Floats = table @ np.array(self.ranking, dtype=np.float64)
        return values

    def probabilities(self, table: Floats) -> Floats:
        """Return (n,) probabilities of the candidates of one mention; their sum is below 1."""
        if not len(table):
            return np.zeros(0)
        shares = softmax(self.utilities(table))
        best = int(np.argmax(shares))
        present = self.present(presence_features(table[best : best + 1], shares[best]))
        probabilities: Floats = shares * present[0]
        return probabilities

    def present(self, table: Floats) -> Floats:
        """Return the (n,) probabilities that mentions name something that was found."""
        return logistic(table @ np.array(self.presence, dtype=np.float64) + self.bias)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values with the names of the features."""
        return {
            "features": list(FEATURES),
            "ranking": list(self.ranking),
            "presence_features": list(PRESENCE),
            "presence": list(self.presence),
            "bias": self.bias,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> LinkModel:
        """Return the model that `to_json` described."""
        return cls(
            ranking=tuple(values["ranking"]),
            presence=tuple(values["presence"]),
            bias=values["bias"],
        )


DEFAULT_MODEL = LinkModel(
    ranking=(9.0, 8.0, -1.0, -1.0, -2.0, -0.5, 1.0, 0.0),
    presence=(9.0, 0.5, 3.0, 0.0, 2.0, -0.5, -0.5),
    bias=-8.3,
)
"""Used without a calibration, and what calibration starts from.

The ranking is rounded from fits on random parts of two dictionaries, of 3 to 200 concepts; presence
leans more on shared words than those fits do, so that a name that is merely spelled a little alike
is not taken, whatever the encoder makes of it; see docs/linking.md."""


def presence_features(best: Floats, share: Any) -> Floats:  # noqa: ANN401 - a number or an array
    """Return the (n, presence features) table of best candidates, from (n, features) and shares."""
    return np.insert(best[:, _COLUMNS], _SHARE, share, axis=1)


def softmax(utilities: Floats) -> Floats:
    """Return shares that sum to 1."""
    grown = np.exp(utilities - utilities.max())
    shares: Floats = grown / grown.sum()
    return shares


def logistic(values: Floats) -> Floats:
    """Return ``1 / (1 + exp(-values))``."""
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Mentions with their candidates, one of which is right.

    Attributes:
        table: (candidates, features), those of one mention together.
        bounds: (mentions + 1,) where the candidates of each mention begin.
        right: (mentions,) place of the right candidate in `table`.
    """

    table: Floats
    bounds: NDArray[np.int64]
    right: NDArray[np.int64]


class Presence(NamedTuple):
    """Weights and bias of the presence model."""

    weights: tuple[float, ...]
    bias: float


def ranking_loss(choices: Choices, ranking: Sequence[float]) -> float:
    """Return the mean negative log likelihood of the right candidates, 0.0 without mentions."""
    if not len(choices.right):
        return 0.0
    utilities = choices.table @ np.array(ranking)
    starts = choices.bounds[:-1]
    owner = np.repeat(np.arange(len(starts)), np.diff(choices.bounds))
    grown = np.exp(utilities - np.maximum.reduceat(utilities, starts)[owner])
    shares = grown[choices.right] / np.add.reduceat(grown, starts)
    return float(-np.log(np.maximum(shares, 1e-300)).mean())


def fit_ranking(
    choices: Choices, *, prior: Sequence[float] = DEFAULT_MODEL.ranking, strength: float = 2.0
) -> tuple[float, ...]:
    """Fit the conditional logit by penalised maximum likelihood; see `_constrained`.

    Args:
        choices: at least one mention.
        prior: centre of the penalty.
        strength: of the penalty, in mentions, with features in units of their spread.

    Returns:
        The weights; the prior without mentions.
    """
    if not len(choices.right):
        return tuple(prior)
    spread = np.where(choices.table.std(axis=0) > 1e-9, choices.table.std(axis=0), 1.0)
    table = choices.table / spread
    starts = choices.bounds[:-1]
    owner = np.repeat(np.arange(len(starts)), np.diff(choices.bounds))

    def derivatives(beta: Floats) -> _Derivatives:
        utilities = table @ beta
        utilities -= np.maximum.reduceat(utilities, starts)[owner]
        grown = np.exp(utilities)
        sums = np.add.reduceat(grown, starts)
        loss = float((np.log(sums) - utilities[choices.right]).sum())
        shares = grown / sums[owner]
        expected = np.add.reduceat(table * shares[:, None], starts, axis=0)
        gradient = (expected - table[choices.right]).sum(axis=0)
        curvature = (table * shares[:, None]).T @ table - expected.T @ expected
        return _Derivatives(loss, gradient, curvature)

    centre = np.array(prior, dtype=np.float64) * spread
    pull = np.full(len(centre), strength)
    beta = _constrained(derivatives, centre, pull, np.array(SIGNS))
    return tuple(float(value) for value in beta / spread)


def fit_presence(
    table: Floats,
    present: Floats,
    weights: Floats,
    *,
    prior: LinkModel = DEFAULT_MODEL,
    strength: float = 5.0,
) -> Presence:
    """Fit the presence model by penalised maximum likelihood; the bias is free.

    Args:
        table: (n, presence features).
        present: (n,) 1.0 where the mention names something that was found.
        weights: (n,) importance of each example, with a mean near 1.
        prior: centre of the penalty.
        strength: of the penalty, in examples.
    """
    design = np.hstack([np.ones((len(table), 1)), table])

    def derivatives(beta: Floats) -> _Derivatives:
        values = design @ beta
        p = logistic(values)
        loss = float((weights * (np.logaddexp(0.0, values) - present * values)).sum())
        gradient = design.T @ (weights * (p - present))
        curvature = (design * (weights * p * (1.0 - p))[:, None]).T @ design
        return _Derivatives(loss, gradient, curvature)

    centre = np.array([prior.bias, *prior.presence], dtype=np.float64)
    # The bias is all but free: the tiny pull only keeps it finite when all examples agree.
    pull = np.array([1e-3, *[strength] * table.shape[1]])
    beta = _constrained(derivatives, centre, pull, np.array([0, *PRESENCE_SIGNS]))
    return Presence(tuple(float(value) for value in beta[1:]), float(beta[0]))


@dataclass(frozen=True, slots=True)
class _Derivatives:
    """A negative log likelihood with its first and second derivatives."""

    loss: float
    gradient: Floats
    curvature: Floats


def _constrained(derivatives: Any, centre: Floats, pull: Floats, signs: Any) -> Floats:  # noqa: ANN401
    """Minimise with Newton's method; weights of the wrong sign are fixed at zero, one by one.

    The penalty ``pull / 2 * (beta - centre)^2`` keeps a few examples from turning a model upside
    down.
    """
    free = np.ones(len(centre), dtype=np.bool_)
    while True:
        beta = _newton(derivatives, np.where(free, centre, 0.0), centre, pull, free)
        wrong = np.where(free, np.minimum(beta * signs, 0.0), 0.0)
        if not wrong.any():
            return beta
        free[int(np.argmin(wrong))] = False


def _newton(
    derivatives: Any,  # noqa: ANN401 - a function of beta
    start: Floats,
    centre: Floats,
    pull: Floats,
    free: NDArray[np.bool_],
) -> Floats:
    """Take full steps, or the first of their halves that lowers the loss: both are convex."""

    def penalty(beta: Floats) -> float:
        return 0.5 * float((pull * (beta - centre) ** 2).sum())

    beta = start.copy()
    found = derivatives(beta)
    for _ in range(200):
        gradient = (found.gradient + pull * (beta - centre))[free]
        curvature = (found.curvature + np.diag(pull))[np.ix_(free, free)]
        step = np.zeros(len(beta))
        step[free] = np.linalg.solve(curvature, gradient)
        before = found.loss + penalty(beta)
        for half in range(40):
            closer = beta - step * 0.5**half
            found = derivatives(closer)
            if found.loss + penalty(closer) <= before:
                break
        beta = closer
        if float(np.abs(step).max(initial=0.0)) < 1e-8:
            break
    return beta
