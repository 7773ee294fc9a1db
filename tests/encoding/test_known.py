"""Encoders that their files tell apart run and are saved without torch, and are the same ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding import load_encoder, open_encoder
from mirror_index.encoding.adaptive import AdaptiveEncoder
from mirror_index.encoding.arithmetic import cpu_has_bfloat16
from mirror_index.encoding.known import KnownEncoder, open_known
from mirror_index.encoding.lean import open_lean
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import EncoderError, EncoderMismatchError

Tiny = Callable[[str], Path]
PLAIN = EncoderConfig()
TEXTS = ["abc", "a longer text, with (brackets)", "x" * 200, "", "漢", "not [PAD] padding"]


def saved(source: Path | None, folder: Path, **changes: object) -> TransformerEncoder:
    """Save an encoder as tuning does: without a copy for queries."""
    encoder = load_encoder(source, EncoderConfig(device="cpu", **changes))  # type: ignore[arg-type]
    encoder.save(folder)
    return encoder


def test_the_default_encoder_is_known_by_its_files(tmp_path: Path) -> None:
    known = open_known(None, PLAIN)
    model = load_encoder(None, EncoderConfig(device="cpu"))
    assert known is not None
    assert known.fingerprint == model.fingerprint
    assert known.dim == model.dim
    assert known.recipe == model.recipe
    reference = np.stack([model.encode_reference(text) for text in TEXTS])
    ours, theirs = known.encode_audited(TEXTS), model.encode_audited(TEXTS)
    assert np.abs(ours.vectors - reference).max() < 1e-5
    assert ours.tokens.tolist() == theirs.tokens.tolist()
    assert ours.unknown.tolist() == theirs.unknown.tolist()
    known.save(tmp_path)
    again = load_encoder(tmp_path, EncoderConfig(device="cpu", precision=Precision.FLOAT32))
    assert again.fingerprint == model.fingerprint
    assert np.abs(again.encode(TEXTS) - reference).max() < 1e-5


@pytest.mark.parametrize(
    ("shape", "pooling"), [("bert", Pooling.MEAN), ("bert", Pooling.CLS), ("roberta", Pooling.MEAN)]
)
def test_a_saved_folder_is_known(tiny: Tiny, tmp_path: Path, shape: str, pooling: Pooling) -> None:
    from sentence_transformers import SentenceTransformer

    model = saved(tiny(shape), tmp_path / "a", pooling=pooling, max_length=40)
    known = open_known(tmp_path / "a", EncoderConfig(precision=Precision.FLOAT32, threads=1))
    assert isinstance(known, KnownEncoder)
    assert known.fingerprint == model.fingerprint
    reference = np.stack([model.encode_reference(text) for text in TEXTS])
    assert np.abs(known.encode(TEXTS) - reference).max() < 1e-5
    known.save(tmp_path / "b")
    assert (
        load_encoder(tmp_path / "b", EncoderConfig(device="cpu")).fingerprint == known.fingerprint
    )
    peer = SentenceTransformer(str(tmp_path / "b"), device="cpu")
    assert np.abs(peer.encode(TEXTS[:2]) - reference[:2]).max() < 1e-5


def edit_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = min(weights)
    weights[name] = weights[name] + 1e-3
    save_file(weights, path, metadata={"format": "pt"})


def store_halves(folder: Path) -> None:
    path = folder / "model.safetensors"
    halves = {name: weight.half() for name, weight in load_file(path).items()}
    save_file(halves, path, metadata={"format": "pt"})


def edit_tokeniser(folder: Path) -> None:
    path = folder / "tokenizer.json"
    value = json.loads(path.read_text())
    value["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(value))


def edit_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "hidden_act": "relu"}))


def cut_config(folder: Path) -> None:
    path = folder / "config.json"
    value = json.loads(path.read_text())
    del value["hidden_act"]
    path.write_text(json.dumps(value))


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])


def no_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def no_tokeniser(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def no_recipe(folder: Path) -> None:
    (folder / "mirror.json").unlink()


def other_recipe(folder: Path) -> None:
    path = folder / "mirror.json"
    path.write_text(path.read_text().replace('"mean"', '"cls"'))


@pytest.mark.parametrize(
    "edit",
    [
        edit_weights,
        store_halves,
        edit_tokeniser,
        edit_config,
        cut_config,
        cut_weights,
        no_weights,
        no_tokeniser,
        no_recipe,
        other_recipe,
    ],
)
def test_whatever_is_not_as_it_was_saved_is_left_to_transformers(
    tiny: Tiny, tmp_path: Path, edit: Callable[[Path], None]
) -> None:
    saved(tiny("bert"), tmp_path / "a")
    assert open_known(tmp_path / "a", PLAIN) is not None
    edit(tmp_path / "a")
    assert open_known(tmp_path / "a", PLAIN) is None


def test_other_shapes_and_folders_are_left_to_transformers(tiny: Tiny, tmp_path: Path) -> None:
    saved(tiny("distilbert"), tmp_path / "distil")
    for source in (tiny("bert"), tmp_path / "distil", tmp_path / "none", "some/hub-model"):
        assert open_known(source, PLAIN) is None
    assert isinstance(open_encoder(tiny("bert"), EncoderConfig(device="cpu")), TransformerEncoder)


@pytest.mark.parametrize(
    "config",
    [
        EncoderConfig(pooling=Pooling.CLS),
        EncoderConfig(max_length=12),
        EncoderConfig(prompt="query: "),
        EncoderConfig(device="cuda"),
        EncoderConfig(precision=Precision.BFLOAT16),
    ],
)
def test_other_settings_are_left_to_torch(config: EncoderConfig) -> None:
    assert open_known(None, config) is None


def test_a_recipe_of_a_newer_version_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    saved(tiny("bert"), tmp_path / "a")
    path = tmp_path / "a" / "mirror.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(EncoderError, match="newer"):
        open_known(tmp_path / "a", PLAIN)


def test_few_texts_are_light_and_many_run_in_torch(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(tiny("bert"), tmp_path / "a")
    folder = shutil.move(tmp_path / "a", tmp_path / "b")
    encoder = open_encoder(folder, EncoderConfig(device="cpu"))
    assert isinstance(encoder, AdaptiveEncoder)
    monkeypatch.setattr("mirror_index.encoding.adaptive.MANY", 5)
    few, many = encoder.encode(TEXTS[:4]), encoder.encode(TEXTS)
    assert np.array_equal(many, model.encode(TEXTS))
    assert np.einsum("ij,ij->i", few, many[:4]).min() > 0.999


BUILD = """
import sys
from pathlib import Path
from mirror_index.encoding import adaptive
from mirror_index.pipeline import build_collection
adaptive.MANY = int(sys.argv[3])
collection = build_collection(sys.argv[1], Path(sys.argv[2]))
print(collection.search(["a second text"])[0][0].text)
print(*sorted({"torch", "transformers"} & set(sys.modules)))
"""


def build(tmp_path: Path, many: int) -> list[str]:
    """Build in a process of its own; return the best hit and the heavy libraries it loaded."""
    source = tmp_path / "texts.txt"
    source.write_text("a first text\na second text\nsomething else\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(source), str(tmp_path / "c"), str(many)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_small_build_and_its_search_load_no_torch(tmp_path: Path) -> None:
    assert build(tmp_path, 100) == ["a second text", ""]


@pytest.mark.skipif(not cpu_has_bfloat16(), reason="this CPU has no bfloat16 instructions")
def test_a_large_build_loads_no_transformers(tmp_path: Path) -> None:
    assert build(tmp_path, 2) == ["a second text", "torch"]


@pytest.mark.skipif(not cpu_has_bfloat16(), reason="this CPU has no bfloat16 instructions")
@pytest.mark.parametrize("shape", ["bert", "roberta", "xlm-roberta"])
def test_lean_bulk_encoding_is_that_of_the_model(tiny: Tiny, tmp_path: Path, shape: str) -> None:
    model = saved(tiny(shape), tmp_path / "a")
    light = open_known(tmp_path / "a", PLAIN)
    assert light is not None
    lean = open_lean(light, EncoderConfig(device="cpu", batch_tokens=50))
    assert lean is not None
    assert np.array_equal(
        lean.encode(TEXTS), load_encoder(tmp_path / "a", lean.config).encode(TEXTS)
    )
    reference = np.stack([model.encode_reference(text) for text in TEXTS])
    assert np.einsum("ij,ij->i", lean.encode(TEXTS), reference).min() > 0.999


@pytest.mark.parametrize(
    "config",
    [
        EncoderConfig(device="cpu", precision=Precision.FLOAT32),
        EncoderConfig(device="cpu", max_length=12),
    ],
)
def test_lean_bulk_encoding_is_for_one_arithmetic_and_recipe(config: EncoderConfig) -> None:
    light = open_known(None, PLAIN)
    assert light is not None
    assert open_lean(light, config) is None


def test_weights_that_changed_meanwhile_are_refused(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tiny("bert"), tmp_path / "a")
    encoder = open_encoder(tmp_path / "a", EncoderConfig(device="cpu"))
    edit_weights(tmp_path / "a")
    monkeypatch.setattr("mirror_index.encoding.adaptive.MANY", 5)
    with pytest.raises(EncoderMismatchError, match="query copy belongs to"):
        encoder.encode(TEXTS)
