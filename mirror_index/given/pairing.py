"""Pairing the records of a source with rows of a file of vectors, before anything is written."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import CollectionError, SourceError
from mirror_index.readers.vectorfiles import Codes, Flaw, VectorRows
from mirror_index.records import Concept, Record, Rejected, SourceItem, normalise_text
from mirror_index.store.layout import text_hash
from mirror_index.vectors import FloatMatrix, IntVector

SAME_COSINE = 0.9999
"""Two vectors of one text that are nearer than this count as the same; the first is stored."""
SAMPLE = 100
_BLOCK = 4096

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What belongs to what: one entry per record of the source, in its order.

    Attributes:
        keys: half of each text's hash.
        rows: its row in the file of vectors.
        lines: its line in the source, 0 where that is not known.
        flaws: a `Flaw` for each.
        sample: up to `SAMPLE` sound records, evenly spread, as (place, text).
    """

    keys: Keys
    rows: IntVector
    lines: IntVector
    flaws: Codes
    sample: Sequence[tuple[int, str]]


def records_of(item: SourceItem) -> list[Record]:
    """Return the records of an item, those of a concept in the order of its names."""
    if isinstance(item, Concept):
        return list(item.records())
    return [item] if isinstance(item, Record) else []


def survey(items: Iterable[SourceItem], vectors: VectorRows) -> Survey:
    """Read a source once and pair its records with rows.

    The file has one row per record, as `mirror-index encode` writes it, or one per row of the
    source, those that cannot be taken included.

    Raises:
        SourceError: another number of rows.
        CollectionError: one text with two different vectors.
    """
    keys, lines, places = array("Q"), array("q"), array("q")
    read = 0
    kept: dict[int, str] = {}
    step = 1
    for item in items:
        taken = records_of(item)
        for record in taken:
            text = normalise_text(record.text)
            if len(keys) % step == 0:
                kept[len(keys)] = text
            keys.append(text_key(text))
            lines.append(record.line or 0)
            places.append(read)
            read += 1
        read += isinstance(item, Rejected)
        if len(kept) > 8 * SAMPLE:  # thinned out as the source goes on, so that all of it counts
            step *= 2
            kept = {place: text for place, text in kept.items() if place % step == 0}
    rows = _paired(len(keys), read, np.asarray(places, dtype=np.int64), vectors)
    flaws = vectors.flaws()[rows]
    sound = [(place, text) for place, text in kept.items() if not flaws[place]]
    found = Survey(
        keys=np.asarray(keys, dtype=np.uint64),
        rows=rows,
        lines=np.asarray(lines, dtype=np.int64),
        flaws=flaws,
        sample=sound[:: max(1, len(sound) // SAMPLE)][:SAMPLE],
    )
    _refuse_conflicts(found, vectors)
    return found


def _paired(records: int, read: int, places: IntVector, vectors: VectorRows) -> IntVector:
    if vectors.rows == records:
        return np.arange(records, dtype=np.int64)
    if vectors.rows == read:
        return places
    untaken = f" and {read - records} rows that cannot be taken" if read > records else ""
    raise SourceError(
        f"the source has {records} records{untaken}, the file of vectors has {vectors.rows} rows",
        where=vectors.where,
        remedy="Give one vector per record, or one per row of the source, in its order",
    )


def _refuse_conflicts(found: Survey, vectors: VectorRows) -> None:
    """Raise when a text has two vectors that are not the same; flawed rows do not count."""
    sound = np.flatnonzero(found.flaws == Flaw.NONE)
    order = sound[np.argsort(found.keys[sound], kind="stable")]
    keys = found.keys[order]
    fresh = np.concatenate(([True], keys[1:] != keys[:-1])) if len(keys) else np.empty(0, bool)
    first = order[np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))]
    again = np.flatnonzero(~fresh)
    for start in range(0, len(again), _BLOCK):
        part = again[start : start + _BLOCK]
        one, other = first[part], order[part]
        cosines = row_cosines(vectors.unit(found.rows[one]), vectors.unit(found.rows[other]))
        for bad in np.flatnonzero(cosines <= SAME_COSINE)[:1]:
            _refuse(found, int(one[bad]), int(other[bad]), float(cosines[bad]), vectors.where)


def _refuse(found: Survey, one: int, other: int, cosine: float, where: str) -> None:
    lines = [int(found.lines[place]) for place in (one, other)]
    rows = [int(found.rows[place]) for place in (one, other)]
    raise CollectionError(
        f"one text has two different vectors, cosine {cosine:.4f}",
        where=f"{where}, rows {rows[0]} and {rows[1]} of lines {lines[0]} and {lines[1]}",
        remedy="A text has one vector here: remove one of the rows, or make their texts differ",
    )


def row_cosines(one: FloatMatrix, other: FloatMatrix) -> NDArray[np.float64]:
    """Return the cosine of each row of one matrix of unit rows with that of another."""
    products = one.astype(np.float64) * other
    sums: NDArray[np.float64] = np.add.reduce(products, axis=1)
    return sums


def text_key(text: str) -> int:
    """Return half of the hash of a normalised text."""
    # What is not valid Unicode is rejected later, with its line.
    return int.from_bytes(text_hash(text.encode("utf-8", "replace").decode())[:8], "little")
