"""Choices that several settings share, and the checks all settings share; see `config`."""

from __future__ import annotations

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
    """Arithmetic of bulk encoding; `auto` picks the fastest that stays above cosine 0.999."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


def require(ok: bool, what: str, value: object, remedy: str) -> None:
    """Raise a `UsageError` unless `ok`."""
    if not ok:
        raise UsageError(what, value=value, remedy=remedy)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain JSON values: enumerations become their values."""
    return {key: value.value if isinstance(value, Enum) else value for key, value in values.items()}
