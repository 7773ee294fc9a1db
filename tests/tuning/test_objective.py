"""The loss against the sums of the paper, written out term by term."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mirror_index.tuning.objective import mirror_loss, multi_similarity_loss


def unit_rows(n: int, dim: int = 6, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_hand(rows: np.ndarray, positives: np.ndarray, negatives: np.ndarray, tau: float) -> float:
    losses = []
    for i in range(len(rows)):
        against = sum(math.exp(rows[i] @ rows[k] / tau) for k in np.flatnonzero(negatives[i]))
        terms = []
        for p in np.flatnonzero(positives[i]):
            own = math.exp(rows[i] @ rows[p] / tau)
            terms.append(-math.log(own / (own + against)))
        if terms:
            losses.append(sum(terms) / len(terms))
    return sum(losses) / len(losses)


def ours(rows: np.ndarray, positives: np.ndarray, negatives: np.ndarray, tau: float) -> float:
    return float(
        mirror_loss(
            torch.from_numpy(rows), torch.from_numpy(positives), torch.from_numpy(negatives), tau
        )
    )


def two_views(n: int) -> tuple[np.ndarray, np.ndarray]:
    positives = np.zeros((2 * n, 2 * n), dtype=bool)
    for i in range(n):
        positives[i, i + n] = positives[i + n, i] = True
    return positives, ~positives & ~np.eye(2 * n, dtype=bool)


@pytest.mark.parametrize("tau", [0.04, 0.2, 1.0])
def test_published_loss(tau: float) -> None:
    rows = unit_rows(10)
    positives, negatives = two_views(5)
    paper = 0.0
    for i in range(10):
        partner = (i + 5) % 10
        others = sum(math.exp(rows[i] @ rows[k] / tau) for k in range(10) if k != i)
        paper += -math.log(math.exp(rows[i] @ rows[partner] / tau) / others) / 10
    assert ours(rows, positives, negatives, tau) == pytest.approx(paper, rel=1e-9)


def test_published_loss_is_cross_entropy_without_the_diagonal() -> None:
    rows = torch.from_numpy(unit_rows(12))
    positives, negatives = two_views(6)
    logits = (rows @ rows.T / 0.1).fill_diagonal_(-torch.inf)
    targets = torch.arange(12).roll(6)
    expected = torch.nn.functional.cross_entropy(logits, targets)
    assert ours(rows.numpy(), positives, negatives, 0.1) == pytest.approx(float(expected))


def test_several_positives_and_rows_left_out() -> None:
    generator = np.random.default_rng(3)
    rows = unit_rows(12)
    drawn = np.triu(generator.random((12, 12)), 1)
    drawn += drawn.T
    positives = drawn > 0.8
    negatives = (drawn > 0.2) & (drawn <= 0.7)
    np.fill_diagonal(positives, val=False)
    expected = by_hand(rows, positives, negatives, 0.07)
    assert ours(rows, positives, negatives, 0.07) == pytest.approx(expected, rel=1e-9)


def test_without_negatives_loss_and_gradient_are_zero_not_nan() -> None:
    rows = torch.from_numpy(unit_rows(4)).float().requires_grad_()
    positives, negatives = two_views(2)
    loss = mirror_loss(
        rows, torch.from_numpy(positives), torch.from_numpy(np.zeros_like(negatives)), 0.04
    )
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert torch.equal(rows.grad, torch.zeros_like(rows))


def test_without_positives_the_loss_is_zero() -> None:
    rows = unit_rows(4)
    _, negatives = two_views(2)
    assert ours(rows, np.zeros_like(negatives), negatives, 0.04) == 0.0


def test_gradient_of_extreme_similarities_stays_finite() -> None:
    rows = torch.nn.functional.normalize(torch.ones(6, 3) + 1e-6 * torch.randn(6, 3), dim=1)
    rows.requires_grad_()
    positives, negatives = two_views(3)
    mirror_loss(rows, torch.from_numpy(positives), torch.from_numpy(negatives), 0.01).backward()
    assert torch.isfinite(rows.grad).all()


def multi_similarity_by_hand(
    rows: np.ndarray, positives: np.ndarray, negatives: np.ndarray
) -> float:
    """Pair by pair, with the mining of pairs written out."""
    total = 0.0
    for i in range(len(rows)):
        own = {p: rows[i] @ rows[p] for p in np.flatnonzero(positives[i])}
        other = {n: rows[i] @ rows[n] for n in np.flatnonzero(negatives[i])}
        pull = [s for s in own.values() if any(t + 0.2 > s for t in other.values())]
        push = [t for t in other.values() if any(t + 0.2 > s for s in own.values())]
        total += math.log(1 + sum(math.exp(-(s - 0.5)) for s in pull))
        total += math.log(1 + sum(math.exp(60 * (t - 0.5)) for t in push)) / 60
    return total / len(rows)


@pytest.mark.parametrize("dim", [2, 6, 40])
def test_multi_similarity_pair_by_pair(dim: int) -> None:
    rows = unit_rows(12, dim)
    positives, negatives = two_views(6)
    positives[0, 1] = positives[1, 0] = True
    negatives[0, 1] = negatives[1, 0] = negatives[2, 3] = negatives[3, 2] = False
    found = multi_similarity_loss(
        torch.from_numpy(rows), torch.from_numpy(positives), torch.from_numpy(negatives)
    )
    assert float(found) == pytest.approx(multi_similarity_by_hand(rows, positives, negatives))


def test_multi_similarity_is_zero_where_nothing_is_hard() -> None:
    """Each pair coincides, and pairs stand at right angles."""
    rows = torch.eye(4).repeat(2, 1).requires_grad_()
    positives, negatives = map(torch.from_numpy, two_views(4))
    loss = multi_similarity_loss(rows, positives, negatives)
    loss.backward()
    assert loss.item() == 0.0
    assert torch.equal(rows.grad, torch.zeros(8, 4))
    nothing = torch.zeros(8, 8, dtype=torch.bool)
    assert multi_similarity_loss(rows, nothing, nothing).item() == 0.0
