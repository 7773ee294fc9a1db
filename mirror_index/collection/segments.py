"""Checking the vector file against the hashes of its segments."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mirror_index.index.vectorfile import chunk_digest, map_rows, odd_rows, row_bytes
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
    width = row_bytes(path, generation.dim)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Rows of the vector file that are all as written, or that have to be made again."""

    first: int
    rows: int
    sound: bool


def spans(connection: sqlite3.Connection, folder: Path, generation: Generation) -> list[Span]:
    """Return the committed rows in order, split into segments that are sound and gaps between."""
    path = folder / generation.vector_file
    whole = path.stat().st_size // row_bytes(path, generation.dim) if path.is_file() else 0
    rows = connection.execute(
        "SELECT first_row, rows, sha256 FROM segments WHERE file = ? AND rows > 0 "
        "AND first_row + rows <= ? ORDER BY first_row",
        (generation.vector_file, min(whole, generation.vector_rows)),
    ).fetchall()
    found: list[Span] = []
    end = 0
    for first, count, digest in rows:
        if first < end or not _sound(path, generation.dim, first, count, digest):
            continue
        if first > end:
            found.append(Span(first=end, rows=first - end, sound=False))
        found.append(Span(first=first, rows=count, sound=True))
        end = first + count
    if end < generation.vector_rows:
        found.append(Span(first=end, rows=generation.vector_rows - end, sound=False))
    return found


def _sound(path: Path, dim: int, first: int, rows: int, digest: str) -> bool:
    if chunk_digest(path, dim, first, rows) != digest:
        return False
    return not any(odd_rows(map_rows(path, first + rows, dim)[first:]))
