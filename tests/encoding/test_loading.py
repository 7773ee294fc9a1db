"""Folders of every origin load, damaged ones say so, and fingerprints tell encoders apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, Pooling, Precision
from mirror_index.encoding import default
from mirror_index.encoding.default import default_encoder_folder
from mirror_index.encoding.loading import load_encoder
from mirror_index.errors import EncoderError
from tests.tiny import tiny_tokenizer

Tiny = Callable[[str], Path]
FLOAT32 = EncoderConfig(precision=Precision.FLOAT32, device="cpu")


def test_saved_folder_is_the_same_encoder_everywhere(tiny: Tiny, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from transformers import AutoModel

    config = EncoderConfig(precision=Precision.FLOAT32, pooling=Pooling.CLS, max_length=20)
    encoder = load_encoder(tiny("bert"), config)
    encoder.save(tmp_path)
    texts = ["some words", "x" * 60, "more, (of) them"]
    again = load_encoder(tmp_path, FLOAT32)
    assert again.recipe == encoder.recipe
    assert again.fingerprint == encoder.fingerprint
    assert np.allclose(again.encode(texts), encoder.encode(texts), atol=1e-6)
    peer = SentenceTransformer(str(tmp_path), device="cpu")
    assert np.allclose(peer.encode(texts), encoder.encode(texts), atol=1e-5)
    assert AutoModel.from_pretrained(tmp_path).config.model_type == "bert"


def test_fingerprint_tells_weights_pooling_and_length_apart(tiny: Tiny, tmp_path: Path) -> None:
    base = load_encoder(tiny("bert"), FLOAT32)
    pooled = load_encoder(tiny("bert"), EncoderConfig(pooling=Pooling.CLS))
    shorter = load_encoder(tiny("bert"), EncoderConfig(max_length=12))
    other = load_encoder(tiny("bert"), FLOAT32)
    with torch.no_grad():
        next(other.model.parameters())[5] += 1e-3
    bulk = load_encoder(tiny("bert"), EncoderConfig(precision=Precision.BFLOAT16))
    assert len({e.fingerprint for e in (base, pooled, shorter, other)}) == 4
    assert bulk.fingerprint == base.fingerprint


def test_mlm_checkpoint_loses_its_head_and_its_random_pooler(tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM, BertConfig

    config = BertConfig(
        vocab_size=96,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
    )
    AutoModelForMaskedLM.from_config(config).to(torch.bfloat16).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    first, second = load_encoder(tmp_path, FLOAT32), load_encoder(tmp_path, FLOAT32)
    assert first.model.pooler is None
    assert first.model.dtype == torch.float32
    assert first.fingerprint == second.fingerprint
    second.save(tmp_path / "saved")
    assert load_encoder(tmp_path / "saved", FLOAT32).fingerprint == first.fingerprint


def test_sentence_transformers_pooling_and_length_are_honoured(tiny: Tiny, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "st")
    types = ("Transformer", "Pooling")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(zip(("", "1_Pooling"), types, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 10}')
    prompts = {"prompts": {"query": "q: "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    recipe = load_encoder(folder, FLOAT32).recipe
    assert (recipe.pooling, recipe.max_length, recipe.prompt) == (Pooling.CLS, 10, "q: ")

    pooling["pooling_mode_max_tokens"] = True
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    with pytest.raises(EncoderError, match="only mean and cls pooling"):
        load_encoder(folder, FLOAT32)

    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "x.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EncoderError, match="Dense"):
        load_encoder(folder, FLOAT32)


def test_roberta_positions_leave_room_for_padding_offset(tiny: Tiny) -> None:
    # 80 positions, numbered from padding + 1; the tokenizer's own 64 is lower here.
    encoder = load_encoder(
        tiny("roberta"), EncoderConfig(precision=Precision.FLOAT32, max_length=79)
    )
    assert np.isfinite(encoder.encode(["y" * 200])).all()


def test_default_encoder_is_the_official_one() -> None:
    encoder = load_encoder(None, FLOAT32)
    assert encoder.dim == 384
    assert encoder.recipe.max_length == 256
    cosine = (
        encoder.encode(["a cat sits", "a kitten is sitting", "tax law"])
        @ encoder.encode(["a cat sits"]).T
    )
    assert cosine[1, 0] > cosine[2, 0] + 0.3


def test_default_encoder_missing_or_altered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(default, "DEFAULT_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match="not the official ones"):
        default_encoder_folder()
    monkeypatch.setattr(default, "DEFAULT_PACKAGE", "no_such_package_anywhere")
    with pytest.raises(EncoderError, match="not installed"):
        default_encoder_folder()


def damage_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def damage_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def remove_layer(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if "layer.1." not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def damage_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')


def damage_recipe(folder: Path) -> None:
    (folder / "mirror.json").write_text('{"format_version": 99}')


def recipe_not_an_object(folder: Path) -> None:
    (folder / "mirror.json").write_text("[]")


def recipe_not_json(folder: Path) -> None:
    (folder / "mirror.json").write_text("{,")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_config, "cannot be loaded"),
        (damage_weights, "cannot be loaded"),
        (remove_layer, "weights are missing"),
        (damage_tokenizer, "tokenizer"),
        (damage_recipe, "newer than this version"),
        (recipe_not_an_object, "does not hold a JSON object"),
        (recipe_not_json, "not valid JSON"),
    ],
)
def test_damaged_folders_say_so(
    tiny: Tiny, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "broken")
    damage(folder)
    with pytest.raises(EncoderError, match=message):
        load_encoder(folder, FLOAT32)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "no-such/model-anywhere"])
def test_absent_encoders(name: str) -> None:
    with pytest.raises(EncoderError, match="no such"):
        load_encoder(name, FLOAT32)


def test_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"no config\.json"):
        load_encoder(tmp_path, FLOAT32)


def test_generators_are_refused(tmp_path: Path) -> None:
    from transformers import AutoModel, T5Config

    config = T5Config(vocab_size=96, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    AutoModel.from_config(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(EncoderError, match="text generator"):
        load_encoder(tmp_path, FLOAT32)
