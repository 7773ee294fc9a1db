"""What one training run is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mirror_index.config import EncoderConfig, MaskUnit, MirrorConfig, Pooling, Precision
from mirror_index.encoding import load_encoder
from mirror_index.progress import SILENT
from mirror_index.tuning.attempt import _request, _token_spans, attempt
from mirror_index.tuning.processes import ALONE
from mirror_index.tuning.strings import Split

Tiny = Callable[[str], Path]


def parts_of(strings: list[str]) -> Split:
    return Split(strings=tuple(strings), concepts={}, dictionary={}, held_strings=(), held_names=())


def test_token_spans_are_the_tokenizers_own(tiny: Tiny) -> None:
    spans = _token_spans(load_encoder(tiny("bert"), EncoderConfig(device="cpu")))
    assert spans("ab  c") == [(0, 1), (1, 2), (4, 5)]
    assert spans("") == []


def test_masked_tokens_are_trained_on(tiny: Tiny, phrases: list[str], tmp_path: Path) -> None:
    base = load_encoder(tiny("bert"), EncoderConfig(device="cpu"))
    config = MirrorConfig(
        precision=Precision.FLOAT32, batch_size=30, mask_from=0, pooling=Pooling.MEAN
    )
    found = {
        unit: attempt(
            base,
            tiny("bert"),
            parts_of(phrases[:30]),
            replace(config, mask=unit),
            tmp_path / "x",
            ALONE,
            SILENT,
        )
        for unit in MaskUnit
    }
    assert len({made.losses for made in found.values()}) == 3
    assert all(made.tuned is not None for made in found.values())


def test_a_run_is_its_settings_texts_and_base(tiny: Tiny, phrases: list[str]) -> None:
    base = load_encoder(tiny("bert"), EncoderConfig(device="cpu"))
    config, used = MirrorConfig(), {"dtype": "float32"}
    request = _request(base, parts_of(phrases), config, used)
    assert request == _request(base, parts_of(phrases), replace(config, keep=True, threads=3), used)
    others = [
        _request(base, parts_of(phrases[1:]), config, used),
        _request(base, parts_of(phrases), replace(config, micro_batch=3), used),
        _request(base, parts_of(phrases), config, {"dtype": "bfloat16"}),
    ]
    assert all(other != request for other in others)
