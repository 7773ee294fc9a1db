"""Repair: making again whatever can be made from what is sound, each step in one commit.

The database comes first: what it derives is made again, and only when all of it is sound then are
files touched. Damaged vectors are encoded again from their texts into a new vector file, the query
copy of the encoder is exported again from its weights into a new folder, the approximate index is
rebuilt; the old files stay until the commit that names the new ones.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mirror_index import durable
from mirror_index.collection import housekeeping
from mirror_index.collection.remaking import FileRepair
from mirror_index.collection.report import ChangeReport, Problem
from mirror_index.collection.starting import now, require_generation, writing
from mirror_index.collection.verifying import verify_collection
from mirror_index.durable import Chunk
from mirror_index.errors import MirrorIndexError
from mirror_index.index.vectorfile import VectorWriter, row_bytes
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.progress import SILENT, Reporter
from mirror_index.store import committing, compacting, counting, mending, undo
from mirror_index.store.checks import Fault
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE
from mirror_index.store.reading import ReadStore
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair did, and what it could not mend.

    Attributes:
        repaired: what was made again, in order.
        left: what `verify` still finds, with its remedy.
        generation: the state after it.
    """

    repaired: tuple[str, ...]
    left: tuple[Problem, ...]
    generation: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong any more."""
        return not self.left

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"ok": self.ok, **asdict(self)}


def repair_collection(
    folder: Path,
    *,
    encoder: EncoderLike | None = None,
    reporter: Reporter = SILENT,
    timeout: float = 0.0,
) -> RepairReport:
    """Mend a collection as far as it can be made again from what is sound in it.

    Never touched are records, texts, concepts and the weights of the encoder: damage to them is
    reported. Progress of an unfinished change is dropped, as are files that no state uses.

    Args:
        folder: the collection's folder.
        encoder: encodes texts whose vectors are damaged; None loads the collection's own.
        reporter: receives progress.
        timeout: seconds to wait for another writer.

    Raises:
        CollectionError: there is no collection, or its database is beyond reading.
        CollectionBusyError: another writer holds the collection.
    """
    store = ReadStore(folder / DATABASE)  # before anything is made or migrated
    try:
        with store.snapshot():
            pass
    finally:
        store.close()
    with writing(folder, timeout) as writer:
        repair = _Repair(folder, writer, encoder, reporter)
        repair.run()
    left = verify_collection(folder, encoder=encoder).problems
    return RepairReport(repaired=tuple(repair.done), left=left, generation=repair.generation.number)


class _GivenUpError(Exception):
    """Rolls back the repair of a database that stays damaged."""


class _Repair:
    """One repair, under the writer lock."""

    def __init__(
        self, folder: Path, store: WriteStore, encoder: EncoderLike | None, reporter: Reporter
    ) -> None:
        self._folder = folder
        self._store = store
        self._given = encoder
        self._reporter = reporter
        self.generation = require_generation(store, folder)
        self.done: list[str] = []

    def run(self) -> None:
        """Mend the database, then the files; what cannot be mended stays as it was."""
        if not self._mend_database():
            return
        self._sweep()
        files = FileRepair(self._folder, self._store, self.generation, self._reporter)
        try:
            files.run(self._given)
        except MirrorIndexError as error:
            self._reporter.note(f"Not everything could be mended: {error}")
        if files.done:
            self._commit(files.state, files.chunks, files.encoder_files)
            self.done += files.done
        housekeeping.remove_leftovers(self._folder, self.generation)

    def _mend_database(self) -> bool:
        """Make again what the database derives; return whether all of it is sound then."""
        connection = self._store.connection
        faults: list[Fault] = mending.find_faults(connection, self.generation)
        outdated = self._store.meta("name_key_version") != NAME_KEY_VERSION
        if not faults and not outdated:
            return True
        try:
            with self._store.transaction():
                done, left = mending.mend(connection, self.generation, faults)
                if left:
                    raise _GivenUpError
                if outdated:
                    compacting.key_names_again(connection)
                    self._store.set_meta("name_key_version", NAME_KEY_VERSION)
                    undo.forget(connection)
                    done.append("the names were keyed by the present rules")
                self._write(self.generation)
        except (_GivenUpError, sqlite3.DatabaseError):
            return False
        self.done += done
        return True

    def _commit(
        self, state: Generation, chunks: Sequence[Chunk], encoder_files: dict[str, str]
    ) -> None:
        with self._store.transaction() as connection:
            if chunks:
                connection.execute("DELETE FROM segments")
                connection.executemany(
                    "INSERT INTO segments (first_row, rows, generation, file, sha256) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (
                        (c.first_row, c.rows, self.generation.number + 1, c.file, c.sha256)
                        for c in chunks
                    ),
                )
            if encoder_files:
                self._store.set_meta("encoder_files", encoder_files)
            self._write(state)

    def _write(self, state: Generation) -> None:
        """Write the row of the repaired state; what it holds is what was committed before."""
        connection, number = self._store.connection, self.generation.number + 1
        if undo.oldest_reachable(connection, self.generation.number) < self.generation.number:
            with undo.noted(connection, number):
                pass
        report = ChangeReport(verb="repair", generation=number, records=state.live_records)
        details = {**counting.side_counts(connection), "report": report.to_json()}
        written = replace(
            state,
            number=number,
            committed_at=now(),
            verb="repair",
            source=None,
            details=details,
        )
        committing.write_generation(connection, written)
        self.generation = written

    def _sweep(self) -> None:
        """Remove what no committed state uses."""
        pending = self._store.connection.execute("SELECT count(*) FROM pending").fetchone()[0]
        if pending:
            self.done.append(f"{pending} texts encoded for an unfinished change were dropped")
        self._store.drop_pending(0)
        for path in list(housekeeping.leftovers(self._folder, self.generation)):
            self.done.append(f"{path.relative_to(self._folder).as_posix()} was removed")
            durable.remove(path)
        path = self._folder / self.generation.vector_file
        size = self.generation.vector_rows * row_bytes(path, self.generation.dim)
        if path.is_file() and path.stat().st_size > size:
            VectorWriter(
                self._folder,
                self.generation.vector_file,
                self.generation.dim,
                self.generation.vector_rows,
            ).close()
            self.done.append(f"{path.name} was cut to its committed rows")
