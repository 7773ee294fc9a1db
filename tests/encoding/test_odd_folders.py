"""Whatever the settings of an encoder's folder hold, loading it ends in one stated error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirror_index.config import EncoderConfig
from mirror_index.encoding import load_encoder, load_stored_encoder, open_encoder
from mirror_index.encoding.adaptive import MANY
from mirror_index.errors import EncoderError

Tiny = Callable[[str], Path]
CPU = EncoderConfig(device="cpu")
ODD: list[tuple[str, Any]] = [
    ("config.json", {"hidden_size": "x"}),
    ("config.json", {"num_attention_heads": 0}),
    ("config.json", {"num_hidden_layers": None}),
    ("config.json", {"layer_norm_eps": "z"}),
    ("config.json", []),
    ("tokenizer_config.json", []),
    ("tokenizer_config.json", {"pad_token": 5}),
    ("tokenizer_config.json", {"cls_token": {"x": 1}}),
    ("tokenizer_config.json", {"model_max_length": -3}),
    ("tokenizer_config.json", {"model_max_length": 2}),
    ("tokenizer.json", {"normalizer": {"type": "Nope"}}),
    ("mirror.json", {"recipe": 5}),
    ("mirror.json", {"recipe": {"pooling": "zz"}, "format_version": 1}),
    ("modules.json", [5]),
]


@pytest.mark.parametrize(("name", "content"), ODD)
def test_an_odd_setting_is_stated(tiny: Tiny, tmp_path: Path, name: str, content: object) -> None:
    folder = tmp_path / "odd"
    shutil.copytree(tiny("bert"), folder)
    path = folder / name
    if isinstance(content, dict):
        held = json.loads(path.read_text()) if path.is_file() else {}
        content = {**held, **content}
    path.write_text(json.dumps(content))
    for load in (load_encoder, open_encoder):
        with pytest.raises(EncoderError, match=r"odd|no token of a text"):
            load(folder, CPU)


def test_text_that_is_no_json_is_stated(tiny: Tiny, tmp_path: Path) -> None:
    for name in ("modules.json", "mirror.json", "tokenizer_config.json"):
        folder = tmp_path / name / "odd"
        shutil.copytree(tiny("bert"), folder)
        (folder / name).write_text("{")
        with pytest.raises(EncoderError, match="odd"):
            load_encoder(folder, CPU)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model["vocab"].clear(), "the tokenizer cannot read a text"),
        (lambda model: model.update(unk_token="zz"), "the tokenizer cannot read a text"),
        (lambda model: model["vocab"].update(a=5000), "no embedding for: 5000"),
    ],
)
def test_a_tokenizer_of_another_model_is_stated(
    tiny: Tiny, tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    folder = tmp_path / "odd"
    shutil.copytree(tiny("bert"), folder)
    path = folder / "tokenizer.json"
    held = json.loads(path.read_text())
    change(held["model"])
    path.write_text(json.dumps(held))
    with pytest.raises(EncoderError, match=message):
        load_encoder(folder, CPU).encode(["abc", "\u6f22"])


@pytest.mark.parametrize(("name", "content"), ODD[:5])
def test_an_odd_setting_is_stated_when_many_texts_come(
    tiny: Tiny, tmp_path: Path, name: str, content: object
) -> None:
    folder = tmp_path / "saved"
    encoder = load_encoder(tiny("bert"), CPU)
    encoder.save(folder)
    encoder.export_onnx(folder)
    values = json.loads((folder / name).read_text())
    changed = {**values, **content} if isinstance(content, dict) else content
    (folder / name).write_text(json.dumps(changed))
    stored = load_stored_encoder(folder, CPU)
    assert len(stored.encode(["a", "b"])) == 2
    with pytest.raises(EncoderError, match=re.escape(str(folder))):
        stored.encode(["a"] * MANY)
