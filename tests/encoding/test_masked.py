"""The head of a masked language model over an encoder's body."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mirror_index.config import EncoderConfig
from mirror_index.encoding import load_encoder
from mirror_index.encoding.masked import load_prediction_head
from mirror_index.errors import EncoderError
from tests.tiny import SHAPES, write_tiny_encoder, write_tiny_mlm

CPU = EncoderConfig(device="cpu")


@pytest.mark.parametrize("shape", SHAPES)
def test_it_predicts_what_plain_transformers_predicts(shape: str, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    folder = write_tiny_mlm(tmp_path / "mlm", shape)
    encoder = load_encoder(folder, CPU)
    head = load_prediction_head(folder, encoder.model).eval()
    ids = torch.tensor(encoder.tokenise(["fe[MASK]er and [MASK]"]).ids)
    everything = torch.ones_like(ids)
    whole = AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        wanted = whole(input_ids=ids, attention_mask=everything).logits[0]
        states = encoder.model(input_ids=ids, attention_mask=everything).last_hidden_state[0]
        assert torch.allclose(head(states), wanted, atol=1e-5)
        some = torch.tensor([5, 1])
        assert torch.allclose(head(states[some]), wanted[some], atol=1e-5)  # any of the tokens


def test_a_head_that_reads_the_embeddings_elsewhere(tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    folder = write_tiny_mlm(tmp_path / "mlm", "deberta-v2", legacy=False)
    encoder = load_encoder(folder, CPU)
    head = load_prediction_head(folder, encoder.model).eval()
    ids = torch.tensor(encoder.tokenise(["fever"]).ids)
    whole = AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        states = encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids))
        wanted = whole(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
        assert torch.allclose(head(states.last_hidden_state[0]), wanted, atol=1e-5)


def test_the_embeddings_are_the_bodys(tmp_path: Path) -> None:
    """What the head learns about a token, the encoder learns."""
    folder = write_tiny_mlm(tmp_path / "mlm", "bert")
    encoder = load_encoder(folder, CPU)
    head = load_prediction_head(folder, encoder.model)
    embeddings = encoder.model.get_input_embeddings().weight
    assert any(weight is embeddings for weight in head.parameters())
    states = torch.zeros(2, encoder.dim)
    head(states).sum().backward()
    assert embeddings.grad is not None
    assert head._body.states is None


@pytest.mark.parametrize("shape", ["bert", "distilbert"])
def test_an_encoder_without_a_head_is_refused(shape: str, tmp_path: Path) -> None:
    folder = write_tiny_encoder(tmp_path / "encoder", shape)
    body = load_encoder(folder, CPU).model
    with pytest.raises(EncoderError, match="no head that predicts masked tokens"):
        load_prediction_head(folder, body)


def test_a_model_that_cannot_have_a_head_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_encoder(tmp_path / "encoder", "bert")
    body = load_encoder(folder, CPU).model
    (folder / "config.json").write_text('{"model_type": "clip_vision_model"}')
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_prediction_head(folder, body)
