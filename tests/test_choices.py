"""A choice may be given by its member or by its value; anything else is refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index import config
from mirror_index.collection import Collection
from mirror_index.collection.starting import ChangeOptions
from mirror_index.errors import CollectionError, UsageError
from mirror_index.records import Record
from tests.fakes import HashEncoder

CHOICES = [
    (config.EncoderConfig, "pooling", config.Pooling),
    (config.EncoderConfig, "precision", config.Precision),
    (config.IndexSpec, "dtype", config.Dtype),
    (config.MirrorConfig, "preset", config.Preset),
    (config.MirrorConfig, "mask", config.MaskUnit),
    (config.MirrorConfig, "loss", config.Loss),
    (config.MirrorConfig, "pooling", config.Pooling),
    (config.MirrorConfig, "precision", config.Precision),
    (ChangeOptions, "on_duplicate", config.OnDuplicate),
    (ChangeOptions, "on_truncate", config.OnTruncate),
]


def _made(kind: Any, **values: object) -> Any:
    return kind(**{"verb": "add", **values} if kind is ChangeOptions else values)


@pytest.mark.parametrize(("kind", "name", "choice"), CHOICES)
def test_a_value_becomes_its_member(kind: Any, name: str, choice: Any) -> None:
    for member in choice:
        if (kind, member) == (config.MirrorConfig, config.Pooling.PADDED_MEAN):
            continue  # refused for another reason
        made = _made(kind, **{name: member.value})
        assert getattr(made, name) is member
        assert made == _made(kind, **{name: member})


@pytest.mark.parametrize(("kind", "name", "choice"), CHOICES)
@pytest.mark.parametrize("value", ["", "MEAN", "lasst", 1, ["mean"]])
def test_no_choice_is_refused(kind: Any, name: str, choice: Any, value: object) -> None:
    with pytest.raises(UsageError, match=f"unknown {name}.* Use {next(iter(choice)).value}, "):
        _made(kind, **{name: value})


def test_every_choice_of_the_settings_is_listed_above() -> None:
    kinds = {kind for kind, *_ in CHOICES}
    found = {
        (kind, field.name)
        for kind in kinds
        for field in dataclasses.fields(kind)
        if "Pooling" in str(field.type) or isinstance(field.default, config.Enum)
    }
    assert found == {(kind, name) for kind, name, _ in CHOICES}


def test_duplicates_are_treated_as_a_string_says(tmp_path: Path) -> None:
    records = [Record(id="a", text="one"), Record(id="a", text="two")]
    for policy, text in (("first", "one"), ("last", "two")):
        with Collection.build(
            tmp_path / policy,
            records,
            encoder=HashEncoder(),
            on_duplicate=policy,  # type: ignore[arg-type]
        ) as collection:
            assert collection.records([0])[0][0].text == text
    with pytest.raises(CollectionError, match="occurs twice"):
        Collection.build(
            tmp_path / "error",
            records,
            encoder=HashEncoder(),
            on_duplicate="error",  # type: ignore[arg-type]
        )


def test_a_level_that_is_none_is_refused() -> None:
    assert config.MirrorConfig.for_preset("word").tau == 0.2  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown preset: 'words'"):
        config.MirrorConfig.for_preset("words")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tau", "learning_rate", "weight_decay", "synonym_tau"])
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_settings_of_tuning_are_finite(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        config.MirrorConfig(**{name: value})


@pytest.mark.parametrize("device", ["tpu", "cuda:x", "", "CPU", "mps"])
@pytest.mark.parametrize("kind", [config.EncoderConfig, config.MirrorConfig])
def test_a_device_is_one_that_is_known(kind: Any, device: str) -> None:
    with pytest.raises(UsageError, match="unknown device"):
        kind(device=device)


@pytest.mark.parametrize("kind", [config.SearchOptions, config.LinkOptions])
def test_k_is_a_whole_number(kind: Any) -> None:
    assert kind(k=np.int64(3)).k == 3
    for value in (2.5, "2", None):
        with pytest.raises(UsageError, match="k must be a whole number"):
            kind(k=value)


@pytest.mark.parametrize("name", ["languages", "vocabularies"])
def test_one_language_is_no_list_of_them(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is one text: 'en'"):
        config.ReadOptions(**{name: "en"})  # type: ignore[arg-type]
