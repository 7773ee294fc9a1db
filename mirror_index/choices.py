"""Choices that several settings share, and the checks all settings share; see `config`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from mirror_index.errors import UsageError


class Pooling(str, Enum):
    """How token vectors become one text vector.

    `PADDED_MEAN` averages padding up to `max_length` too. It is there only to run the checkpoints
    that the authors of Mirror-BERT released, which were made so.
    """

    MEAN = "mean"
    CLS = "cls"
    PADDED_MEAN = "padded-mean"


class Precision(str, Enum):
    """Arithmetic of bulk encoding; `auto` picks the fastest that stays above cosine 0.999.

    `int8` (CPUs with AVX-512 VNNI, encoders of BERT's shape) is faster still and stays above 0.99.
    """

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"


def require(ok: bool, what: str, value: object, remedy: str) -> None:
    """Raise a `UsageError` unless `ok`."""
    if not ok:
        raise UsageError(what, value=value, remedy=remedy)


def require_device(name: str) -> None:
    """Raise a `UsageError` unless `name` is "auto", "cpu", "cuda" or "cuda:N"."""
    known = re.fullmatch(r"auto|cpu|cuda(:\d+)?", name) is not None
    require(known, "unknown device", name, "Use auto, cpu, cuda or cuda:N")


def choose(settings: object, **kinds: type[Enum]) -> None:
    """Make each named field of frozen settings the member of `kinds` that it is or spells.

    A string equals such a member but is not identical to it, so it would pass for no choice at all.

    Raises:
        UsageError: a value that is no choice; None is left alone.
    """
    for name, kind in kinds.items():
        value = getattr(settings, name)
        if value is not None:
            values = [one.value for one in kind]
            require(value in values, f"unknown {name}", value, f"Use {', '.join(values)}")
            object.__setattr__(settings, name, kind(value))


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain JSON values: enumerations become their values."""
    return {key: value.value if isinstance(value, Enum) else value for key, value in values.items()}
