"""Sizes and times as people write them: ``500MB``, ``2GiB``, ``5ms``."""

from __future__ import annotations

import re
from typing import Any

import click

_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)


class Quantity(click.ParamType[float]):
    """A positive number with a unit.

    Args:
        name: what is measured, as the help shows it.
        units: how many of the base unit each unit is, by its lower-case name; "" is no unit.
        example: shown when a value cannot be read.
    """

    def __init__(self, name: str, units: dict[str, float], example: str) -> None:
        self.name = name
        self._units = units
        self._example = example

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's protocol
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number in the base unit."""
        if isinstance(value, int | float):
            return float(value)
        found = _NUMBER.fullmatch(value)
        factor = None if found is None else self._units.get(found[2].lower())
        if found is None or factor is None or float(found[1]) == 0:
            self.fail(f"{value!r} is no {self.name}; write {self._example}", param, ctx)
        return float(found[1]) * factor


SIZE = Quantity(
    "size",
    {
        **{unit: 1000.0**power for power, unit in enumerate(("", "kb", "mb", "gb", "tb"))},
        **{unit: 1024.0**power for power, unit in enumerate(("b", "kib", "mib", "gib", "tib"))},
    },
    "500MB or 2GiB",
)
"""Bytes."""

DURATION = Quantity("time", {"": 1.0, "ms": 1.0, "us": 0.001, "s": 1000.0}, "5ms or 0.1s")
"""Milliseconds."""
