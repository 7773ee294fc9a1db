"""What commands print: JSON lines for programs, tables for people, progress on stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

import click

from mirror_index.errors import ExitCode
from mirror_index.progress import Advance


class BarReporter:
    """Progress bars on stderr with rate and time left; silent when stderr is not a terminal."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "texts") -> Iterator[Advance]:
        """Show a bar while inside."""
        from tqdm import tqdm  # only when there is work to show

        bar = tqdm(
            total=total,
            desc=name,
            unit=f" {unit}",
            file=sys.stderr,
            disable=None,  # tqdm's word for: unless it is a terminal
            dynamic_ncols=True,
            mininterval=0.2,
        )
        with bar:
            yield bar.update

    def note(self, message: str) -> None:
        """Say one line on stderr."""
        click.echo(message, err=True)


def plain(value: Any) -> Any:  # noqa: ANN401 - anything to JSON values
    """Return JSON values for dataclasses, enums, mappings and sequences, however nested.

    Floats are rounded to six decimals, except in `metadata`, which is the user's own.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): v if k == "metadata" else plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value


def print_json(value: Any) -> None:  # noqa: ANN401 - anything to JSON values
    """Print one object on one line."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def print_fields(values: Mapping[str, Any]) -> None:
    """Print a mapping for people: a name and a value a line, nested ones indented."""
    for line in _field_lines(plain(values), ""):
        click.echo(line)


def _field_lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield f"{indent}{name}:"
            yield from _field_lines(value, indent + "  ")
        elif isinstance(value, list):
            shown = ", ".join(str(item) for item in value) or "-"
            yield f"{indent}{name:<{width}}  {shown}"
        else:
            yield f"{indent}{name:<{width}}  {'-' if value in (None, {}) else value}"


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print columns that line up, also where letters are two cells wide; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    right = [
        bool(rows) and all(isinstance(row[i], int | float) for row in rows)
        for i in range(len(header))
    ]
    widths = [
        max([_width(header[i]), *(_width(row[i]) for row in cells)]) for i in range(len(header))
    ]
    for row in [list(header), *cells]:
        padded = [
            " " * (widths[i] - _width(text)) + text
            if right[i]
            else text + " " * (widths[i] - _width(text))
            for i, text in enumerate(row)
        ]
        click.echo("  ".join(padded).rstrip())


def _cell(value: Any) -> str:  # noqa: ANN401 - a table cell
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    text = value.value if isinstance(value, Enum) else str(value)
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= 80 else text[:79] + "…"


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def report_change(
    change: Any,  # noqa: ANN401 - a ChangeReport, kept out of this module's imports
    *,
    as_json: bool,
    allow_quarantine: bool,
    where: str,
) -> int:
    """Print what a change did and return the exit status it deserves."""
    values = change.to_json()
    if as_json:
        print_json(values)
    else:
        shown = {key: value for key, value in values.items() if value not in (0, 0.0)}
        print_fields(shown)
    if change.truncated or change.unknown:
        click.echo(
            f"{change.truncated} texts were read only in part and {change.unknown} with unknown "
            f"tokens; `mirror-index audit {where}` lists them.",
            err=True,
        )
    if change.quarantined and not allow_quarantine:
        click.echo(
            f"{change.quarantined} rows were quarantined; `mirror-index quarantine {where}` lists "
            "them. --allow-quarantine makes this exit 0.",
            err=True,
        )
        return ExitCode.QUARANTINED
    return ExitCode.DONE
