"""The settings of tuning: what is refused before a model is loaded, and what the presets set."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mirror_index.config import MirrorConfig, Pooling, Preset
from mirror_index.errors import UsageError


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("tau", 0.0),
        ("tau", -0.1),
        ("tau", math.nan),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("weight_decay", -0.01),
        ("span_mask", -1),
        ("mask_from", -1),
        ("seed", -1),
        ("checkpoint_every", -5),
        ("mlm_steps", -1),
        ("epochs", 0),
        ("batch_size", 1),
        ("micro_batch", 0),
        ("strings", 1),
        ("max_length", 2),
        ("synonym_pairs", 0),
        ("synonym_learning_rate", -1e-4),
        ("synonym_tau", 0.0),
        ("synonym_warmup", 1.0),
        ("warmup", -0.1),
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("drophead", 1.0),
        ("drophead", math.nan),
        ("held_out", 1.0),
        ("noise", 1.1),
        ("noise", -0.1),
        ("pooling", Pooling.PADDED_MEAN),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(setting: str, value: Any) -> None:
    with pytest.raises(UsageError, match=setting) as caught:
        MirrorConfig(**{setting: value})
    assert caught.value.remedy


@pytest.mark.parametrize(
    "settings",
    [
        {"tau": 1e-3, "learning_rate": 1e-9, "weight_decay": 0.0, "span_mask": 0, "seed": 0},
        {"epochs": 1, "batch_size": 2, "micro_batch": 1, "strings": 2, "max_length": 3},
        {"micro_batch": None, "dropout": None, "pooling": None},
        {"dropout": 0.0, "drophead": 0.99, "noise": 1.0, "warmup": 0.0},
        {"held_out": 0.0, "keep": True},
    ],
)
def test_values_at_the_ends_pass(settings: dict[str, Any]) -> None:
    made = MirrorConfig(**settings)
    assert {name: getattr(made, name) for name in settings} == settings


def test_contradictions_are_refused() -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        MirrorConfig(keep=True, require_gain=True)
    with pytest.raises(UsageError, match="no gain can be shown"):
        MirrorConfig(held_out=0.0)


@pytest.mark.parametrize(
    ("preset", "published"),
    [
        (Preset.SENTENCE, {"tau": 0.04, "span_mask": 5, "epochs": 1, "max_length": 50}),
        (Preset.PHRASE, {"tau": 0.04, "span_mask": 5, "epochs": 1, "max_length": 50}),
        (Preset.WORD, {"tau": 0.2, "span_mask": 0, "epochs": 2, "max_length": 25}),
    ],
)
def test_the_presets_are_the_published_settings(preset: Preset, published: dict[str, Any]) -> None:
    made = MirrorConfig.for_preset(preset)
    assert {name: getattr(made, name) for name in published} == published
    assert (made.batch_size, made.strings, made.learning_rate) == (200, 10_000, 2e-5)
    assert MirrorConfig.for_preset(preset, tau=0.1).tau == 0.1
