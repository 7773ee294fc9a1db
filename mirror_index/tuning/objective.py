"""The Mirror-BERT objective: InfoNCE over both views of a batch, with several positives a row."""

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
