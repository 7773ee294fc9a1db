"""Encoding in 8-bit integers, against numpy and the float32 model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.collection import Collection
from mirror_index.config import EncoderConfig, Pooling, Precision, SearchOptions
from mirror_index.encoding import int8, load_encoder
from mirror_index.encoding.arithmetic import cpu_has_int8, resolve_precision
from mirror_index.encoding.fastpath import bulk_forward
from mirror_index.encoding.known import open_known
from mirror_index.encoding.lean import open_lean
from mirror_index.errors import EncoderError
from mirror_index.records import Record
from tests.encoding.test_transformer import lowest_cosine, sample_texts

Tiny = Callable[[str], Path]
ONE = SearchOptions(k=1)
CPU = torch.device("cpu")
INT8 = EncoderConfig(precision=Precision.INT8, device="cpu")
FLOAT32 = EncoderConfig(precision=Precision.FLOAT32, device="cpu")
needs_int8 = pytest.mark.skipif(not cpu_has_int8(), reason="this CPU has no AVX-512 VNNI")


def exactly(folder: Path) -> np.ndarray:
    return load_encoder(folder, FLOAT32).encode(sample_texts())


def a_layer(columns: list[float], rows: int = 50) -> tuple[int8.Int8Linear, np.ndarray, np.ndarray]:
    """Return a layer, the weights it was made of, and the inputs its ranges were seen on."""
    generator = torch.Generator().manual_seed(5)
    weights = {
        "a.weight": torch.randn(16, len(columns), generator=generator),
        "a.bias": torch.randn(16, generator=generator),
    }
    inputs = torch.randn(rows, len(columns), generator=generator) * torch.tensor(columns)
    watched = int8._Watched(weights, "a")
    watched(inputs)
    layer = int8.Int8Linear(watched, torch.float32)
    return layer, weights["a.weight"].double().numpy(), inputs.double().numpy()


@needs_int8
@pytest.mark.parametrize("large", [1.0, 300.0])
def test_a_layer_loses_little_even_with_a_column_far_larger_than_the_rest(large: float) -> None:
    layer, weight, inputs = a_layer([large] + [1.0] * 63)
    expected = inputs @ weight.T + layer.bias.double().numpy()
    found = layer(torch.from_numpy(inputs).float()).double().numpy()
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


@needs_int8
def test_values_beyond_those_seen_are_cut_off_and_never_wrap() -> None:
    layer, weight, inputs = a_layer([1.0] * 64)
    far = np.abs(inputs).max(axis=0) * 50
    found = layer(torch.from_numpy(np.stack([far, -far])).float()).double().numpy()
    bias = layer.bias.double().numpy()
    expected = weight @ far
    assert (found[0] - bias) @ expected > 0
    assert (found[1] - bias) @ expected < 0


@needs_int8
def test_plus_is_added_to_what_a_layer_returns() -> None:
    layer, _, inputs = a_layer([1.0] * 64)
    rows = torch.from_numpy(inputs).float()
    plus = torch.ones(len(rows), 16)
    assert torch.equal(layer(rows, plus), layer(rows) + 1)
    assert torch.equal(plus, torch.ones(len(rows), 16))


@needs_int8
@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.CLS])
@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-roberta"])
def test_int8_stays_close(tiny: Tiny, shape: str, pooling: Pooling) -> None:
    exact, fast = (
        load_encoder(
            tiny(shape), EncoderConfig(precision=precision, device="cpu", pooling=pooling)
        ).encode(sample_texts())
        for precision in (Precision.FLOAT32, Precision.INT8)
    )
    assert lowest_cosine(fast, exact) >= 0.99
    assert not np.array_equal(fast, exact)


@needs_int8
def test_what_is_no_integer_is_float32_where_bfloat16_is_slow(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "cpu_has_bfloat16", lambda: False)
    fast = load_encoder(tiny("bert"), INT8)
    assert lowest_cosine(fast.encode(sample_texts()), exactly(tiny("bert"))) >= 0.99
    assert fast._fast.dtype is torch.float32  # type: ignore[attr-defined]


@needs_int8
def test_the_default_encoder_stays_close_on_names_and_sentences() -> None:
    texts = [
        "acute kidney failure",
        "Protein S deficiency",
        "OME",
        "High blood Mg levels",
        "Bilateral clubfoot",
        "x",
        "The committee approved the budget after a long debate, and nobody asked what it cost.",
        "αβγ-Überprüfung 12.5 mg",
        "",
    ]
    exact, fast = (load_encoder(None, config).encode(texts) for config in (FLOAT32, INT8))
    assert lowest_cosine(fast, exact) >= 0.99


@needs_int8
def test_a_text_has_one_vector_whatever_is_encoded_beside_it(tiny: Tiny) -> None:
    texts = sample_texts()
    together = load_encoder(tiny("bert"), INT8).encode(texts)
    again = load_encoder(tiny("bert"), INT8)
    alone = np.concatenate([again.encode([text]) for text in reversed(texts)])[::-1]
    assert lowest_cosine(together, alone) >= 0.9999


@needs_int8
def test_calibration_leaves_the_number_of_threads_as_it_was(tiny: Tiny) -> None:
    before = torch.get_num_threads()
    load_encoder(tiny("bert"), INT8).encode(["a"])
    assert torch.get_num_threads() == before


@needs_int8
def test_without_transformers_it_is_the_same(tiny: Tiny, tmp_path: Path) -> None:
    load_encoder(tiny("bert"), FLOAT32).save(tmp_path / "a")
    light = open_known(tmp_path / "a", EncoderConfig())
    assert light is not None
    lean = open_lean(light, INT8)
    assert lean is not None
    texts = sample_texts()
    assert np.array_equal(lean.encode(texts), load_encoder(tmp_path / "a", INT8).encode(texts))


@needs_int8
def test_a_collection_knows_its_encoder_again(tmp_path: Path) -> None:
    records = [Record(id=str(n), text=f"name {n} of a thing") for n in range(30)]
    encoder = load_encoder(None, INT8)
    with Collection.build(tmp_path / "c", records, encoder=encoder):
        pass
    with Collection.open(tmp_path / "c") as collection:
        assert [hit.id for hit in collection.search(["name 7 of a thing"], ONE)[0]] == ["7"]
        assert collection.verify().ok


@needs_int8
@pytest.mark.parametrize("shape", ["albert", "modernbert"])
def test_other_shapes_are_refused(tiny: Tiny, shape: str) -> None:
    with pytest.raises(EncoderError, match="of BERT's shape") as raised:
        load_encoder(tiny(shape), INT8).encode(["a"])
    assert shape in str(raised.value)


@needs_int8
def test_an_encoder_that_loses_too_much_is_refused(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "SMOOTHING", 40.0)  # sizes that leave nothing of the small columns
    with pytest.raises(EncoderError, match="loses too much in int8"):
        load_encoder(tiny("bert"), INT8).encode(["a"])


@needs_int8
def test_damaged_weights_are_told_as_such(tiny: Tiny) -> None:
    encoder = load_encoder(tiny("bert"), INT8)
    with torch.no_grad():
        encoder.model.encoder.layer[1].attention.output.dense.weight[0, 0] = torch.nan
    with pytest.raises(EncoderError, match="NaN or Inf"):
        encoder.encode(["a"])


def test_the_fast_pass_is_made_once_for_all_threads(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def slowly(*arguments: object) -> object:
        made.append(threading.current_thread().name)
        time.sleep(0.05)  # long enough for another thread to ask too
        return bulk_forward(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("mirror_index.encoding.transformer.bulk_forward", slowly)
    config = EncoderConfig(device="cpu", threads=2, batch_tokens=64)
    load_encoder(tiny("bert"), config).encode(sample_texts())
    assert made == [threading.main_thread().name]


def test_a_machine_without_the_instructions_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.encoding.arithmetic.cpu_has_int8", lambda: False)
    with pytest.raises(EncoderError, match="AVX-512 VNNI"):
        resolve_precision(Precision.INT8, CPU)


def test_a_gpu_does_not_run_it() -> None:
    with pytest.raises(EncoderError, match="int8 is for CPUs"):
        resolve_precision(Precision.INT8, torch.device("cuda"))


def test_no_precision_is_taken_for_it() -> None:
    assert resolve_precision(Precision.AUTO, CPU) is not Precision.INT8
