"""Objectives over both views of a batch, with several positives a row: InfoNCE and its rival."""

from __future__ import annotations

import torch

_NEVER = -1e9


def mirror_loss(
    rows: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor, tau: float
) -> torch.Tensor:
    """Return the mean InfoNCE loss of a batch.

    For row i and its positive p the loss is ``-log(e(i,p) / (e(i,p) + sum of e(i,k) over negatives
    k))`` with ``e(i,j) = exp(cos(i,j) / tau)``; a row's loss is the mean over its positives, the
    batch's the mean over rows that have one. With one positive a row and all else negative this is
    the published loss (Liu et al. 2021, arXiv 2104.08027, equation 1, over both views); positives
    never stand in each other's denominator. Rows without negatives contribute 0, not NaN.

    Args:
        rows: (2n, dim) unit rows, float32: left views, then right views.
        positives: (2n, 2n) bool.
        negatives: (2n, 2n) bool.
        tau: temperature.

    Returns:
        A scalar, float32.
    """
    logits = rows @ rows.T / tau
    against = logits.masked_fill(~negatives, _NEVER).logsumexp(dim=1, keepdim=True)
    # -log(e_p / (e_p + sum of e_n)) = softplus(log sum of e_n - log e_p)
    losses = torch.nn.functional.softplus(against - logits)
    counts = positives.sum(dim=1)
    per_row = (losses * positives).sum(dim=1) / counts.clamp(min=1)
    return per_row.sum() / (counts > 0).sum().clamp(min=1)


_ALPHA, _BETA, _BASE, _MARGIN = 1.0, 60.0, 0.5, 0.2


def multi_similarity_loss(
    rows: torch.Tensor, positives: torch.Tensor, negatives: torch.Tensor
) -> torch.Tensor:
    """Return the mean multi-similarity loss of a batch, over hard pairs alone.

    Multi-similarity (Wang et al., CVPR 2019, arXiv 1904.06627) with alpha 1, beta 60 and base 0.5.
    A positive is hard when some negative of its row is more similar than it less 0.2, a negative
    when it is more similar than some positive of its row less 0.2; both as in SapBERT (Liu et al.,
    NAACL 2021, arXiv 2010.11784). Without hard pairs the loss is 0.

    Args:
        rows: (2n, dim) unit rows, float32: left views, then right views.
        positives: (2n, 2n) bool.
        negatives: (2n, 2n) bool.

    Returns:
        A scalar, float32.
    """
    cosines = rows @ rows.T
    known = cosines.detach()
    hardest_negative = known.masked_fill(~negatives, _NEVER).amax(dim=1, keepdim=True)
    hardest_positive = known.masked_fill(~positives, -_NEVER).amin(dim=1, keepdim=True)
    pull = positives & (known < hardest_negative + _MARGIN)
    push = negatives & (known > hardest_positive - _MARGIN)
    attraction = _log_one_plus(-_ALPHA * (cosines - _BASE), pull) / _ALPHA
    repulsion = _log_one_plus(_BETA * (cosines - _BASE), push) / _BETA
    return (attraction + repulsion).mean()


def _log_one_plus(exponents: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """Return log(1 + sum of exp) over the chosen columns of each row, without overflow."""
    summed = exponents.masked_fill(~chosen, _NEVER).logsumexp(dim=1)
    return torch.nn.functional.softplus(summed)
