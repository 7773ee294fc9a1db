"""Whose a text is: the concepts it names, and the plain records that hold it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mirror_index.vectors import IntVector

NOBODY = -1
SEVERAL = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """The owners of every text, by number.

    Attributes:
        names: the id of each owner: a concept, or a record that names none.
        single: (rows,) number of a text's only owner; `NOBODY`, or `SEVERAL` for the rest.
        several: the numbers of the owners of those, ascending by id.
    """

    names: Sequence[str]
    single: IntVector
    several: dict[int, tuple[int, ...]]

    def of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of the owners of a text."""
        one = int(self.single[row])
        return self.several[row] if one == SEVERAL else () if one == NOBODY else (one,)

    def share(self, row: int, other: int) -> bool:
        """Return whether two texts have an owner in common."""
        return not set(self.of(row)).isdisjoint(self.of(other))


def read_owners(connection: sqlite3.Connection, rows: int) -> Owners:
    """Read the owners of all texts of a state with `rows` vector rows."""
    single = np.full(rows, NOBODY, dtype=np.int64)
    several: dict[int, tuple[int, ...]] = {}
    numbers: dict[tuple[int, str], int] = {}
    found = connection.execute(
        "SELECT DISTINCT text_row, concept_id IS NULL, coalesce(concept_id, id) FROM records "
        "ORDER BY text_row, 3"
    )
    for row, plain, name in found:
        number = numbers.setdefault((plain, name), len(numbers))
        if single[row] == NOBODY:
            single[row] = number
        else:
            several[row] = (*several.get(row, (int(single[row]),)), number)
    for row in several:
        single[row] = SEVERAL
    return Owners(names=[name for _, name in numbers], single=single, several=several)


def live_texts(connection: sqlite3.Connection, longest: int) -> Iterator[tuple[int, str]]:
    """Yield row and text of the live texts of up to `longest` characters, in row order."""
    rows = connection.execute("SELECT row, text FROM texts WHERE records > 0 ORDER BY row")
    yield from ((row, text) for row, text in rows if len(text) <= longest)
