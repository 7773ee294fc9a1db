"""From token vectors to one unit vector a text."""

from __future__ import annotations

import torch

from mirror_index.config import Pooling


def pool(hidden: torch.Tensor, mask: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Return unit rows from the last hidden layer; padding never counts, but in a padded mean.

    Args:
        hidden: (batch, length, dim), any float dtype.
        mask: (batch, length), 1 for real tokens (special tokens included), 0 for padding.
        pooling: masked mean (as in Sentence-BERT, arXiv 1908.10084), the first real token, or the
            mean over all positions (see `pad_to`).

    Returns:
        (batch, dim) float32 rows of length 1.
    """
    hidden = hidden.float()
    if pooling is Pooling.CLS:
        first = mask.argmax(dim=1)
        rows = hidden[torch.arange(hidden.shape[0], device=hidden.device), first]
    elif pooling is Pooling.PADDED_MEAN:
        rows = hidden.mean(dim=1)
    else:
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        rows = (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
    return torch.nn.functional.normalize(rows, dim=1)


def pad_to(
    ids: torch.Tensor, mask: torch.Tensor, length: int, pad_id: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad a batch on the right to a fixed length: what `Pooling.PADDED_MEAN` averages over.

    Args:
        ids: (batch, up to length) token ids.
        mask: of the same shape.
        length: columns to end with.
        pad_id: id of padding.

    Returns:
        Ids and mask, both (batch, length).
    """
    missing = length - ids.shape[1]
    padding = torch.nn.functional.pad
    return padding(ids, (0, missing), value=pad_id), padding(mask, (0, missing), value=0)
