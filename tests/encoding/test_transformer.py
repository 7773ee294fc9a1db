"""Bulk encoding against plain transformers, one text at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding.bulk import resolve_device
from mirror_index.encoding.loading import load_encoder
from mirror_index.errors import EncoderError
from mirror_index.vectors import EncoderLike
from tests.tiny import SHAPES

Tiny = Callable[[str], Path]
FLOAT32 = EncoderConfig(precision=Precision.FLOAT32, device="cpu")


def sample_texts(n: int = 40) -> list[str]:
    rng = random.Random(7)
    letters = "abcdefgh ijklm nopq"
    texts = ["".join(rng.choices(letters, k=rng.randint(1, 90))) for _ in range(n)]
    return [*texts, "", "ABC", "été ß 漢", "x" * 300]


def plain_vectors(folder: Path, texts: list[str], pooling: Pooling) -> np.ndarray:
    """One text at a time, straight from the documentation of transformers; no code of ours."""
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    for text in texts:
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
        inputs.pop("token_type_ids", None)
        with torch.no_grad():
            hidden = model(**inputs).last_hidden_state[0].double().numpy()
        row = hidden.mean(axis=0) if pooling is Pooling.MEAN else hidden[0]
        rows.append(row / np.linalg.norm(row))
    return np.stack(rows)


def lowest_cosine(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.einsum("ij,ij->i", left.astype(np.float64), right).min())


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.CLS])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_plain_transformers(tiny: Tiny, shape: str, pooling: Pooling) -> None:
    config = EncoderConfig(
        precision=Precision.FLOAT32, device="cpu", pooling=pooling, batch_tokens=256
    )
    encoder = load_encoder(tiny(shape), config)
    texts = sample_texts()
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert lowest_cosine(vectors, plain_vectors(tiny(shape), texts, pooling)) >= 0.99999
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_bfloat16_stays_close(tiny: Tiny, shape: str) -> None:
    exact = load_encoder(tiny(shape), FLOAT32)
    fast = load_encoder(tiny(shape), EncoderConfig(precision=Precision.BFLOAT16, device="cpu"))
    assert lowest_cosine(fast.encode(sample_texts()), exact.encode(sample_texts())) >= 0.999


@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16])
def test_order_and_batch_size_do_not_matter(tiny: Tiny, precision: Precision) -> None:
    texts = sample_texts()
    shuffled = random.Random(3).sample(range(len(texts)), len(texts))
    small = load_encoder(tiny("bert"), EncoderConfig(precision=precision, batch_tokens=1))
    large = load_encoder(tiny("bert"), EncoderConfig(precision=precision, batch_tokens=100_000))
    one, other = small.encode(texts), large.encode([texts[i] for i in shuffled])
    tolerance = 1e-5 if precision is Precision.FLOAT32 else 2e-2
    assert np.abs(one[shuffled] - other).max() < tolerance


def test_many_windows_keep_their_rows(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sample_texts()
    expected = load_encoder(tiny("bert"), FLOAT32).encode(texts)
    monkeypatch.setattr("mirror_index.encoding.bulk.WINDOW", 7)
    assert np.abs(load_encoder(tiny("bert"), FLOAT32).encode(texts) - expected).max() < 1e-5


def test_audit_counts_tokens_before_truncation(tiny: Tiny) -> None:
    encoder = load_encoder(tiny("bert"), FLOAT32)
    audit = encoder.encode_audited(["abc", "x" * 90, "漢", ""])
    # BertNormalizer splits every Han character; a word of 90 letters is 90 pieces.
    assert audit.tokens.tolist() == [5, 92, 3, 2]
    assert audit.truncated.tolist() == [False, True, False, False]
    assert audit.unknown.tolist() == [False, False, True, False]


def test_nothing_to_encode(tiny: Tiny) -> None:
    audit = load_encoder(tiny("bert"), FLOAT32).encode_audited([])
    assert audit.vectors.shape == (0, 32)
    assert audit.tokens.shape == (0,)


def test_prompt_is_put_before_every_text(tiny: Tiny) -> None:
    plain = load_encoder(tiny("bert"), FLOAT32)
    prompted = load_encoder(
        tiny("bert"), EncoderConfig(precision=Precision.FLOAT32, prompt="query: ")
    )
    assert np.allclose(plain.encode(["query: abc"]), prompted.encode(["abc"]), atol=1e-6)
    assert plain.fingerprint != prompted.fingerprint


def test_an_encoder_is_what_collections_expect(tiny: Tiny) -> None:
    assert isinstance(load_encoder(tiny("bert"), FLOAT32), EncoderLike)


def test_nan_is_an_error_that_names_the_text(tiny: Tiny) -> None:
    encoder = load_encoder(tiny("bert"), FLOAT32)
    with torch.no_grad():
        next(encoder.model.parameters()).fill_(float("nan"))
    with pytest.raises(EncoderError, match="NaN or Inf: 'abc'"):
        encoder.encode(["abc"])


def test_a_gpu_that_is_not_there() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(EncoderError, match="no CUDA device"):
        resolve_device("cuda:0")
    assert resolve_device("auto").type == "cpu"


def test_a_gpu_of_a_number_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert resolve_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(
        EncoderError, match=r"no CUDA device has this number: 'cuda:2'\. There are 2"
    ):
        resolve_device("cuda:2")


@pytest.mark.gpu
def test_gpu_equals_cpu(tiny: Tiny) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    exact = load_encoder(tiny("bert"), FLOAT32).encode(sample_texts())
    for precision, lowest in ((Precision.FLOAT32, 0.99999), (Precision.AUTO, 0.999)):
        config = EncoderConfig(precision=precision, device="cuda")
        on_gpu = load_encoder(tiny("bert"), config).encode(sample_texts())
        assert lowest_cosine(on_gpu, exact) >= lowest
