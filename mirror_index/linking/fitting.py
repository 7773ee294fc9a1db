"""Fitting the models of linking: penalised maximum likelihood with weights of a given sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirror_index.linking.lexicon import Floats
from mirror_index.linking.model import CONFIDENCE_SIGNS, DEFAULT_MODEL, SIGNS, LinkModel, logistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Mentions with their candidates, one of which is right.

    Attributes:
        table: (candidates, features), those of one mention together.
        gains: (candidates,) how much nearer each is than by plain cosine.
        bounds: (mentions + 1,) where the candidates of each mention begin.
        right: (mentions,) place of the right candidate in `table`.
    """

    table: Floats
    gains: Floats
    bounds: NDArray[np.int64]
    right: NDArray[np.int64]


class Confidence(NamedTuple):
    """Weights and bias of the confidence model."""

    weights: tuple[float, ...]
    bias: float


def ranking_loss(choices: Choices, utilities: Floats) -> float:
    """Return the mean negative log likelihood of the right candidates, 0.0 without mentions.

    Args:
        choices: the mentions.
        utilities: (candidates,) what a model makes of the candidates.
    """
    if not len(choices.right):
        return 0.0
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


def fit_confidence(
    table: Floats,
    right: Floats,
    weights: Floats,
    *,
    prior: LinkModel = DEFAULT_MODEL,
    strength: float = 5.0,
) -> Confidence:
    """Fit the confidence model by penalised maximum likelihood; the bias is free.

    Args:
        table: (n, confidence features) of best candidates.
        right: (n,) 1.0 where they are right.
        weights: (n,) importance of each example, with a mean near 1.
        prior: centre of the penalty.
        strength: of the penalty, in examples, with features in units of their spread.
    """
    spread = np.where(table.std(axis=0) > 1e-9, table.std(axis=0), 1.0)
    design = np.hstack([np.ones((len(table), 1)), table / spread])

    def derivatives(beta: Floats) -> _Derivatives:
        values = design @ beta
        p = logistic(values)
        loss = float((weights * (np.logaddexp(0.0, values) - right * values)).sum())
        gradient = design.T @ (weights * (p - right))
        curvature = (design * (weights * p * (1.0 - p))[:, None]).T @ design
        return _Derivatives(loss, gradient, curvature)

    centre = np.array([prior.bias, *(np.array(prior.confidence) * spread)], dtype=np.float64)
    # The bias is all but free: the tiny pull only keeps it finite when all examples agree.
    pull = np.array([1e-3, *[strength] * table.shape[1]])
    beta = _constrained(derivatives, centre, pull, np.array([0, *CONFIDENCE_SIGNS]))
    return Confidence(tuple(float(value) for value in beta[1:] / spread), float(beta[0]))


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
