"""What a benchmark returns, and how it is kept and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.harness import OUT, ROOT, write_json

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
Cell = str | int | float | None
_OWN_FACTS = ("date", "load before")
"""Facts that are told with every benchmark; the others once, unless they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and the format specification of its numbers, e.g. ``.2f``."""

    name: str
    spec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of raw values; the columns say how they are shown."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Cell]]

    def cells(self) -> list[list[str]]:
        """Return the header and the rows as they are shown."""
        header = [column.name for column in self.columns]
        shown = [
            [_shown(value, column.spec) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]
        return [header, *shown]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Outcome of one benchmark.

    Attributes:
        title: what was measured.
        tables: the figures.
        note: how to read them: what was compared, and how it was done.
        settings: sizes, repeats and the like.
    """

    title: str
    tables: tuple[Table, ...]
    note: str
    settings: Mapping[str, Cell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A result with the facts about the machine it was taken on."""

    name: str
    quick: bool
    facts: Mapping[str, str]
    result: Result

    def save(self) -> Path:
        """Write ``out/<name>.json``; a quick run has a file of its own."""
        path = _path(self.name, self.quick)
        write_json(path, asdict(self))
        return path


def load(name: str) -> Measurement | None:
    """Return the stored full measurement of a benchmark, None when there is none."""
    path = _path(name, quick=False)
    if not path.is_file():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    stored = document.pop("result")
    tables = tuple(
        Table(
            title=table["title"],
            columns=tuple(Column(**column) for column in table["columns"]),
            rows=table["rows"],
        )
        for table in stored.pop("tables")
    )
    return Measurement(**document, result=Result(**stored, tables=tables))


def _path(name: str, quick: bool) -> Path:
    return OUT / f"{name}{'.quick' if quick else ''}.json"


def text_of(measurement: Measurement) -> str:
    """Return a measurement for the terminal."""
    result = measurement.result
    blocks = [f"{measurement.name}: {result.title}{' (quick)' if measurement.quick else ''}"]
    for table in result.tables:
        cells = table.cells()
        widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        ]
        blocks.append("\n".join([table.title, *lines]))
    blocks.append(_settings_line(result))
    blocks.append(result.note)
    return "\n\n".join(blocks) + "\n"


def write_results(names: Sequence[str]) -> Path:
    """Write ``RESULTS.md`` anew from the stored measurements of `names`, in that order."""
    found = [measurement for name in names if (measurement := load(name)) is not None]
    missing = [name for name in names if load(name) is None]
    facts = max((m.facts for m in found), key=lambda f: f["date"], default={})
    blocks = [
        "# Results\n\nWritten by `python -m benchmarks` from its measurements; "
        "see README.md beside it for how they are made.",
        _markdown([["", ""], *([name, value] for name, value in facts.items())]) if facts else "",
        *(_section(measurement, facts) for measurement in found),
        f"Not measured: {', '.join(missing)}." if missing else "",
    ]
    RESULTS.write_text("\n\n".join(block for block in blocks if block) + "\n", encoding="utf-8")
    return RESULTS


def _section(measurement: Measurement, common: Mapping[str, str]) -> str:
    result = measurement.result
    own = [
        f"{name} {value}"
        for name, value in measurement.facts.items()
        if name in _OWN_FACTS or common.get(name) != value
    ]
    blocks = [f"## {measurement.name}: {result.title}"]
    blocks += [f"{table.title}\n\n{_markdown(table.cells())}" for table in result.tables]
    blocks += [result.note, f"{_settings_line(result)} Measured: {', '.join(own)}."]
    return "\n\n".join(blocks)


def _settings_line(result: Result) -> str:
    return "Settings: " + ", ".join(f"{k} {v}" for k, v in result.settings.items()) + "."


def _markdown(cells: Sequence[Sequence[str]]) -> str:
    header, *rows = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(value: Cell, spec: str) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else format(value, spec)
