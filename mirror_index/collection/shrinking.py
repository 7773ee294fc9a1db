"""Deleting records, and compacting what they leave behind."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mirror_index.collection import housekeeping
from mirror_index.collection.approximation import AnnState, make_ann
from mirror_index.collection.report import ChangeReport
from mirror_index.collection.starting import require_generation, state_after, writing
from mirror_index.config import IndexSpec
from mirror_index.durable import Chunk
from mirror_index.errors import UsageError
from mirror_index.index.vectorfile import VectorWriter, map_rows
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.progress import Reporter
from mirror_index.records import several_ids
from mirror_index.store import committing, compacting, counting, deleting, undo
from mirror_index.store.filter_sql import EVERYTHING, Predicate
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE, vector_file
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike

_COPY_ROWS = 65_536


def delete(
    folder: Path, ids: Iterable[str] | None, where: Predicate | None, *, timeout: float
) -> ChangeReport:
    """Delete records by id and filter; see `Collection.delete`."""
    if ids is None and where is None:
        raise UsageError("nothing says what to delete", remedy="Give ids or a filter")
    ids = None if ids is None else several_ids(ids)
    started = time.perf_counter()
    with writing(folder, timeout) as store:
        current = require_generation(store, folder)
        housekeeping.remove_leftovers(folder, current, keep={current.vector_file})
        deleting.begin_touching(store.connection)
        doomed = deleting.choose_doomed(store.connection, ids, where or EVERYTHING)
        report = ChangeReport(
            verb="delete",
            generation=current.number,
            skipped=doomed.absent,
            records=current.live_records,
        )
        if doomed.chosen:
            report = _delete_doomed(store, current, report)
    return replace(report, seconds=time.perf_counter() - started)


def _delete_doomed(store: WriteStore, current: Generation, report: ChangeReport) -> ChangeReport:
    with store.transaction() as connection:
        with undo.noted(connection, current.number + 1):
            deleted = deleting.delete_records(
                connection, "key IN (SELECT key FROM temp.doomed)", ()
            )
            dead = committing.settle(connection)
        totals = counting.totals_after(connection, current, dead=dead)
        counting.require_sum(current, totals, -deleted)
        report = replace(
            report, generation=current.number + 1, deleted=deleted, records=totals.records
        )
        _write(store, state_after(current, report, totals), report)
    return report


def compact(
    folder: Path,
    encoder: Callable[[], EncoderLike],
    reporter: Reporter,
    *,
    timeout: float,
) -> ChangeReport:
    """Copy the live vectors, number the texts anew, rebuild the index.

    See `Collection.compact`.
    """
    started = time.perf_counter()
    with writing(folder, timeout) as store:
        current = require_generation(store, folder)
        housekeeping.remove_leftovers(folder, current)
        rows = compacting.live_rows(store.connection)
        number = int(Path(current.vector_file).stem) + 1
        name = vector_file(number, Path(current.vector_file).suffix)
        chunks = _copy_rows(folder, current, rows, name, reporter)
        ann = _rebuild_ann(folder, store, current, rows, name, encoder, reporter)
        with store.transaction() as connection:
            _number_anew(store, connection, chunks, current.number + 1)
            totals = counting.totals(connection)
            report = ChangeReport(
                verb="compact", generation=current.number + 1, records=totals.records
            )
            shrunk = replace(
                state_after(current, report, totals),
                vector_file=name,
                vector_rows=len(rows),
                ann_file=ann.file,
                ann_rows=ann.rows,
                ann_sha256=ann.sha256,
                ann_kind=ann.kind,
                ann_parameters=ann.parameters,
            )
            _write(store, shrunk, report)
        housekeeping.remove_leftovers(folder, shrunk)
        unshrunk = store.vacuum()
        if unshrunk is not None:
            reporter.note(f"{DATABASE} keeps its free pages until the next compact: {unshrunk}")
    return replace(report, seconds=time.perf_counter() - started)


def _number_anew(
    store: WriteStore, connection: sqlite3.Connection, chunks: Sequence[Chunk], generation: int
) -> None:
    """Give the texts the rows they have now, and names the keys they would get today."""
    compacting.renumber(connection, chunks, generation)
    if store.meta("name_key_version") != NAME_KEY_VERSION:
        compacting.key_names_again(connection)
        store.set_meta("name_key_version", NAME_KEY_VERSION)
    undo.forget(connection)


def _write(store: WriteStore, state: Generation, report: ChangeReport) -> None:
    details = {"report": report.to_json(), **counting.side_counts(store.connection)}
    committing.write_generation(store.connection, replace(state, details=details))


def _copy_rows(
    folder: Path, current: Generation, rows: Sequence[int], name: str, reporter: Reporter
) -> list[Chunk]:
    vectors = map_rows(folder / current.vector_file, current.vector_rows, current.dim)
    chunks = []
    with (
        VectorWriter(folder, name, current.dim, 0) as target,
        reporter.stage("compact", len(rows), "texts") as advance,
    ):
        for start in range(0, len(rows), _COPY_ROWS):
            part = rows[start : start + _COPY_ROWS]
            chunks.append(target.append_from(vectors, part))
            advance(len(part))
    return chunks


def _rebuild_ann(
    folder: Path,
    store: WriteStore,
    current: Generation,
    rows: Sequence[int],
    name: str,
    encoder: Callable[[], EncoderLike],
    reporter: Reporter,
) -> AnnState:
    def texts(wanted: Sequence[int]) -> list[str]:
        return store.texts_of([rows[row] for row in wanted])

    return make_ann(
        folder,
        current,
        map_rows(folder / name, len(rows), current.dim),
        spec=IndexSpec(**(store.meta("index_spec") or {})),
        number=current.number + 1,
        encoder=encoder,
        rebuild=True,
        texts=texts,
        reporter=reporter,
        lenient=True,
    )
