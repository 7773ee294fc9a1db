"""The head of a masked language model, over the body of an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from mirror_index.encoding.loading import UNREADABLE, encoder_folder, pretrained
from mirror_index.errors import EncoderError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class PredictionHead(nn.Module):
    """Predicts tokens from the last hidden states of a body, with the body's own embeddings.

    The checkpoint's model is kept whole, so that any architecture's head works; in place of its
    body stands one that hands out the states it is given. Its parameters are the head's alone where
    the output embeddings are tied to the input's, as they nearly always are.

    Args:
        model: a transformers masked language model; taken over.
        body: the encoder whose states are to be read and whose embeddings are tied to the output.
    """

    def __init__(self, model: PreTrainedModel, body: PreTrainedModel) -> None:
        super().__init__()
        setattr(model, model.base_model_prefix, body)
        model.tie_weights()
        self._body = _Given(body)
        setattr(model, model.base_model_prefix, self._body)
        self.model = model

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return (tokens, vocabulary) logits of the (tokens, dim) hidden states of some tokens."""
        self._body.states = states[None]
        anything = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
        try:
            logits: torch.Tensor = self.model(input_ids=anything).logits[0]
        finally:
            self._body.states = None
        return logits


class _Given(nn.Module):
    """Stands for a body whose hidden states are known."""

    def __init__(self, body: PreTrainedModel) -> None:
        super().__init__()
        self.embeddings = body.embeddings  # some heads of DeBERTa read them here
        self.states: torch.Tensor | None = None

    def forward(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - a transformers output
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=self.states)


def load_prediction_head(source: str | Path | None, body: PreTrainedModel) -> PredictionHead:
    """Load the masked-language-model head of a checkpoint and put it over `body`.

    Args:
        source: what `load_encoder` was given for `body`.
        body: the model of the encoder that came from there.

    Raises:
        EncoderError: the checkpoint has no such head, or not all of it.
    """
    from transformers import AutoModelForMaskedLM

    folder = encoder_folder(source)
    try:
        model, report = pretrained(AutoModelForMaskedLM, folder)
    except UNREADABLE as error:
        raise _headless(f"it cannot be loaded: {error}", folder) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise _headless(", ".join(missing[:2]), folder)
    return PredictionHead(model.to(body.device), body)


def _headless(value: str, folder: Path) -> EncoderError:
    return EncoderError(
        "this encoder has no head that predicts masked tokens",
        value=value,
        where=str(folder),
        remedy="Use the raw masked language model as --encoder, or leave --mlm-steps out",
    )
