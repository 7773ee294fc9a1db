"""The arithmetic of bulk encoding."""

from __future__ import annotations

import torch

from mirror_index.config import Precision


def resolve_precision(wish: Precision, device: torch.device) -> Precision:
    return Precision.FLOAT32 if wish is Precision.AUTO else wish


class BulkModel:
    def __init__(self, model, precision):
        self.model = model

    def __call__(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state
