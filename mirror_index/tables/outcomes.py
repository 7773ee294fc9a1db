"""Rows of a table to link, what is added to each, and under which names."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from math import prod
from typing import Protocol

from mirror_index.records import Link, normalise_text

ADDED = (
    "status",
    "concept_id",
    "label",
    "probability",
    "matched_name",
    "method",
    "margin",
    "error",
)
ERROR = "error"
"""Status of a row that could not be read; its mention was not linked."""

Value = str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row of a table to link.

    Attributes:
        line: 1-based line it begins on (the number of the row in Parquet).
        raw: the row as the source spells it, without its line end; "" in Parquet.
        end: its line end; "" when the file stops without one.
        cells: a value a column of the table; None for a field that is not there.
        problem: why its mention cannot be linked; whatever `cells` lack is spelled out in it.
        blank: an empty line of a table with several columns, which is no row.
    """

    line: int
    raw: str = ""
    end: str = "\n"
    cells: tuple[object, ...] = ()
    problem: str | None = None
    blank: bool = False


class LinkSource(Protocol):
    """A table whose mentions are linked.

    Attributes:
        name: how messages call it.
        kind: tsv, csv, jsonl or parquet.
        columns: names of its columns, as they stand there.
        total: number of rows if that is known beforehand.
    """

    name: str
    kind: str
    columns: Sequence[str]
    total: int | None

    def windows(self, size: int) -> Iterator[Sequence[TableRow]]:
        """Yield the rows in order, `size` at a time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRow:
    """A row with the answer for its mention; `answer` is None where `error` says why."""

    row: TableRow
    mention: str
    answer: Link | None
    error: str | None = None

    @property
    def status(self) -> str:
        """The status of the answer, or "error"."""
        return ERROR if self.answer is None else self.answer.status.value

    def values(self) -> tuple[Value, ...]:
        """Return what is added to the row, in the order of `ADDED`."""
        answer = self.answer
        if answer is None:
            return (ERROR, *[None] * (len(ADDED) - 2), self.error)
        if answer.parts:
            return _composite(answer)
        return (
            answer.status.value,
            answer.concept_id,
            None if answer.label is None else normalise_text(answer.label),
            answer.probability,
            None if answer.matched_name is None else normalise_text(answer.matched_name),
            answer.method,
            answer.margin,
            None,
        )

    def texts(self) -> list[str]:
        """Return the same for a text file: numbers with four decimals, nothing for None."""
        return [_text(value) for value in self.values()]


def _composite(answer: Link) -> tuple[Value, ...]:
    """Return what several concepts in one mention add: theirs, with ``|`` between them.

    The probability is that of all parts being right, were they independent.
    """
    parts = answer.parts
    return (
        answer.status.value,
        _together(part.concept_id for part in parts),
        _together(part.label for part in parts),
        prod(part.probability or 0.0 for part in parts),
        _together(part.matched_name for part in parts),
        _together(dict.fromkeys(part.method for part in parts)),
        min((part.margin or 0.0 for part in parts), default=None),
        None,
    )


def _together(values: Iterable[str | None]) -> str:
    return "|".join(normalise_text(value or "") for value in values)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else value


def added_names(columns: Names[str]) -> list[str]:
    """Return the names of the added columns: `ADDED`, all with a prefix if one would occur twice.

    The prefix is the first of ``link_``, ``link2_``, ``link3_``, ... under which none clashes, so
    that a linked table can be linked again.
    """
    for prefix in _prefixes():
        names = [f"{prefix}{name}" for name in ADDED]
        if not set(names) & set(columns):
            break
    return names


def answer_columns(columns: Sequence[str]) -> list[str] | None:
    """Return the newest set of added columns in a linked table, None when there is none.

    Tables of versions that added fewer columns are understood: status, concept id and probability
    are enough.
    """
    found = None
    for prefix in islice(_prefixes(), len(columns) + 2):  # each may be taken by one column at least
        if all(f"{prefix}{name}" in columns for name in ("status", "concept_id", "probability")):
            found = [f"{prefix}{name}" for name in ADDED]
    return found


def _prefixes() -> Iterator[str]:
    yield ""
    yield "link_"
    for number in count(2):
        yield f"link{number}_"


def distinct_names(columns: Sequence[str]) -> list[str]:
    """Return column names that differ: a repeated one gets ``_2``, ``_3``, ... after it."""
    names: list[str] = []
    for column in columns:
        name = column
        for number in count(2):
            if name not in names and (name == column or name not in columns):
                break
            name = f"{column}_{number}"
        names.append(name)
    return names
