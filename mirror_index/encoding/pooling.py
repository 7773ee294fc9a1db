"""From token vectors to one unit vector a text."""

from __future__ import annotations

import torch

from mirror_index.config import Pooling


def pool(hidden: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Return unit rows from the last hidden layer; padding never counts.

    Args:
        hidden: (batch, length, dim), any float dtype.
        mask: (batch, length), 1 for real tokens (special tokens included), 0 for padding.
        pooling: masked mean (as in Sentence-BERT, arXiv 1908.10084) or the first real token.

    Returns:
        (batch, dim) float32 rows of length 1.
    """
    hidden = hidden.float()
    if pooling is Pooling.CLS:
        first = mask.argmax(dim=1)
        rows = hidden[torch.arange(hidden.shape[0], device=hidden.device), first]
    else:
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        rows = (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
    return torch.nn.functional.normalize(rows, dim=1)
