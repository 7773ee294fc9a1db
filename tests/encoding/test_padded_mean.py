"""The padded mean of the released checkpoints: as published, loudly, and never saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Precision
from mirror_index.encoding import load_encoder
from mirror_index.encoding.pooling import pad_to, pool
from mirror_index.errors import EncoderError, UsageError

Tiny = Callable[[str], Path]
TEXTS = ["a fever", "high", "some longer text of several words", "x"]


def config(precision: Precision = Precision.FLOAT32, max_length: int = 40) -> EncoderConfig:
    return EncoderConfig(
        pooling=Pooling.PADDED_MEAN, max_length=max_length, precision=precision, device="cpu"
    )


def published(folder: Path, texts: list[str], length: int) -> np.ndarray:
    """Every text padded to a fixed length, the mean over all positions."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(folder)(
        texts, padding="max_length", max_length=length, truncation=True, return_tensors="pt"
    )
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        rows = model(**inputs).last_hidden_state.mean(1).numpy()
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore:padded-mean")
@pytest.mark.parametrize("shape", ["bert", "roberta"])
@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16])
def test_it_is_the_published_mean(tiny: Tiny, shape: str, precision: Precision) -> None:
    encoder = load_encoder(tiny(shape), config(precision))
    expected = published(tiny(shape), TEXTS, 40)
    cosines = np.einsum("ij,ij->i", encoder.encode(TEXTS), expected)
    assert cosines.min() > (0.99999 if precision is Precision.FLOAT32 else 0.999)
    alone = np.stack([encoder.encode_reference(text) for text in TEXTS])
    assert np.allclose(alone, expected, atol=1e-5)
    masked = load_encoder(tiny(shape), EncoderConfig(max_length=40, device="cpu")).encode(TEXTS)
    assert np.einsum("ij,ij->i", masked, expected).min() < 0.999


@pytest.mark.filterwarnings("ignore:padded-mean")
def test_its_length_is_part_of_its_meaning(tiny: Tiny) -> None:
    short, long = (load_encoder(tiny("bert"), config(max_length=n)) for n in (35, 60))
    assert short.fingerprint != long.fingerprint
    assert not np.allclose(short.encode(TEXTS), long.encode(TEXTS), atol=1e-3)


def test_it_warns_whenever_it_is_used(tiny: Tiny) -> None:
    with pytest.warns(UserWarning, match="padded-mean pooling averages padding"):
        load_encoder(tiny("bert"), config())


@pytest.mark.filterwarnings("ignore:padded-mean")
def test_it_is_not_saved_and_leaves_nothing(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), config())
    with pytest.raises(EncoderError, match="--pooling mean"):
        encoder.save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_it_is_not_tuned() -> None:
    with pytest.raises(UsageError, match="padded-mean is not for tuning"):
        MirrorConfig(pooling=Pooling.PADDED_MEAN)


def test_padding_by_hand() -> None:
    ids, mask = pad_to(torch.tensor([[5, 6]]), torch.tensor([[1, 1]]), 4, pad_id=9)
    assert ids.tolist() == [[5, 6, 9, 9]]
    assert mask.tolist() == [[1, 1, 0, 0]]
    hidden = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]])
    row = pool(hidden, torch.tensor([[1, 0]]), Pooling.PADDED_MEAN)
    assert torch.allclose(row, torch.tensor([[0.6, 0.8]]))
