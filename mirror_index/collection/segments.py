"""Checking the vector file against the hashes of its segments."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirror_index.index.vectorfile import ITEM_SIZE, chunk_digest
from mirror_index.store.generations import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFault:
    """Something wrong with the vector file; `unreadable` when its rows cannot even be mapped."""

    what: str
    unreadable: bool = False


def segment_faults(
    connection: sqlite3.Connection, folder: Path, generation: Generation
) -> Iterator[SegmentFault]:
    """Yield where the vector file is not what was committed."""
    path = folder / generation.vector_file
    width = generation.dim * ITEM_SIZE
    if not path.is_file():
        yield SegmentFault(what="the file is missing", unreadable=True)
        return
    if path.stat().st_size < generation.vector_rows * width:
        what = f"the file holds {path.stat().st_size // width} rows, "
        yield SegmentFault(what=f"{what}{generation.vector_rows} were committed", unreadable=True)
        return
    expected = 0
    rows = connection.execute(
        "SELECT first_row, rows, file, sha256 FROM segments ORDER BY first_row"
    ).fetchall()
    for first, count, file, digest in rows:
        if file != generation.vector_file or first != expected:
            yield SegmentFault(what=f"the segment at row {first} does not follow row {expected}")
        elif chunk_digest(path, generation.dim, first, count) != digest:
            yield SegmentFault(what=f"rows {first} to {first + count - 1} are not as written")
        expected = first + count
    if expected != generation.vector_rows:
        yield SegmentFault(what=f"the segments end at row {expected}, not {generation.vector_rows}")
