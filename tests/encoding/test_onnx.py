"""The ONNX copy says what the model says, without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding import load_query_encoder, onnx
from mirror_index.encoding.batching import Batch
from mirror_index.encoding.loading import load_encoder
from mirror_index.encoding.onnx import OnnxEncoder
from mirror_index.errors import EncoderError

Tiny = Callable[[str], Path]
TEXTS = ["abc", "a longer text, with (brackets)", "x" * 200, "", "漢", "not [PAD] padding"]


@pytest.mark.parametrize(
    ("shape", "pooling"),
    [
        ("bert", Pooling.MEAN),
        ("roberta", Pooling.CLS),
        ("xlm-roberta", Pooling.MEAN),
        ("distilbert", Pooling.MEAN),
        ("modernbert", Pooling.CLS),
    ],
)
def test_copy_equals_the_model(tiny: Tiny, tmp_path: Path, shape: str, pooling: Pooling) -> None:
    config = EncoderConfig(precision=Precision.FLOAT32, pooling=pooling, prompt="p ")
    encoder = load_encoder(tiny(shape), config)
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    copy = load_query_encoder(tmp_path)
    assert isinstance(copy, OnnxEncoder)
    assert (copy.fingerprint, copy.dim) == (encoder.fingerprint, encoder.dim)
    theirs, ours = encoder.encode_audited(TEXTS), copy.encode_audited(TEXTS)
    reference = np.stack([encoder.encode_reference(text) for text in TEXTS])
    assert np.abs(ours.vectors - reference).max() < 1e-5
    assert ours.tokens.tolist() == theirs.tokens.tolist()
    assert ours.truncated.tolist() == theirs.truncated.tolist()
    assert ours.unknown.tolist() == theirs.unknown.tolist()
    copy.save(tmp_path / "again")
    assert np.array_equal(load_query_encoder(tmp_path / "again").encode(TEXTS), ours.vectors)


def test_the_runtime_leaves_nothing_in_the_home_folder(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path / "encoder")
    encoder.export_onnx(tmp_path / "encoder")
    (tmp_path / "home").mkdir()
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from mirror_index.encoding import load_query_encoder\n"
        "print(load_query_encoder(Path(sys.argv[1])).encode(['abc']).shape)"
    )
    left_alone = {k: v for k, v in os.environ.items() if not k.startswith("ORT_")}
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "encoder"],
        env={**left_alone, "HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "(1, 32)\n"
    assert list((tmp_path / "home").rglob("*")) == []


def test_the_copy_of_a_bert_shares_the_saved_weights(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    assert (tmp_path / "model.onnx").stat().st_size < 30_000
    assert not (tmp_path / "model.onnx.data").exists()


def test_one_text_and_many_give_the_same(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    copy = load_query_encoder(tmp_path)
    many = [f"{text} {number}" for number in range(20) for text in TEXTS]
    alone = np.concatenate([copy.encode([text]) for text in many])
    assert np.abs(copy.encode(many) - alone).max() < 1e-5


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_batches_run_side_by_side(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    copy = OnnxEncoder.open(tmp_path)
    threads: set[str] = set()
    run_one = copy._pass

    def run(batch: Batch) -> np.ndarray:
        threads.add(threading.current_thread().name)
        return run_one(batch)

    monkeypatch.setattr(copy, "_pass", run)
    monkeypatch.setattr(onnx, "_cores", lambda threads: cores)
    many = [f"{text} {number}" for number in range(40) for text in TEXTS]
    found = copy.encode(many)
    assert ("MainThread" in threads) == (cores == 1)
    assert len(threads) <= cores
    alone = np.concatenate([copy.encode([text]) for text in many])
    assert np.abs(found - alone).max() < 1e-5


def test_cores_are_counted_on_any_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert (onnx._cores(None), onnx._cores(2), onnx._cores(8)) == (3, 2, 3)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert onnx._cores(None) == 1


def test_query_path_loads_no_torch(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    code = (
        "import sys; from pathlib import Path;"
        "from mirror_index.encoding import load_query_encoder;"
        f"load_query_encoder(Path({str(tmp_path)!r})).encode(['abc']);"
        "print(sorted({'torch', 'transformers', 'faiss'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_a_copy_the_model_itself_answers(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    assert load_query_encoder(tmp_path).fingerprint == encoder.fingerprint


def test_damage_is_named(tiny: Tiny, tmp_path: Path) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.FLOAT32))
    encoder.save(tmp_path)
    encoder.export_onnx(tmp_path)
    whole = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "model.onnx").write_bytes(whole[:100])
    with pytest.raises(EncoderError, match="cannot be opened"):
        load_query_encoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(whole)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EncoderError, match="tokenizer cannot be read"):
        load_query_encoder(tmp_path)
    document = json.loads((tmp_path / "mirror.json").read_text())
    del document["onnx_sha256"]
    (tmp_path / "mirror.json").write_text(json.dumps(document))
    with pytest.raises(EncoderError, match="no ONNX copy"):
        load_query_encoder(tmp_path)
