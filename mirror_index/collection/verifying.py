"""Verify: every file and row of a collection against what was committed. Nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mirror_index import durable
from mirror_index.collection import housekeeping, probes
from mirror_index.collection.binding import hash_tree
from mirror_index.collection.encoders import load_own
from mirror_index.collection.remaking import QUERY_COPY
from mirror_index.collection.report import Problem, VerifyReport
from mirror_index.collection.segments import segment_faults
from mirror_index.errors import CollectionCorruptError, MirrorIndexError
from mirror_index.index.vectorfile import map_rows, odd_rows, row_bytes
from mirror_index.store.checks import check_database, check_words
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE
from mirror_index.store.reading import ReadStore, connect_read_only
from mirror_index.vectors import EncoderLike

_SHOWN = 10
_RESTORE = "Restore the file from a copy, or build the collection again with --overwrite"
_OTHER = "The collection keeps its own encoder; give the one it was built with, or none"
_REPAIR = "Run `mirror-index repair`, which makes it again"
_STOPPED_BY = (CollectionCorruptError, sqlite3.DatabaseError, ValueError, KeyError, TypeError)
_HARMLESS = ("leftover", "stranger")
_MEND = "Run `mirror-index repair`; what that cannot mend, restore from a copy or build again"
_CLEAN = "Harmless; the next change removes or uses it"


def verify_collection(
    folder: Path, *, recall: bool = False, encoder: EncoderLike | None = None
) -> VerifyReport:
    """Check a collection, also one that is too damaged to open; see `Collection.verify`.

    Args:
        folder: the collection's folder.
        recall: measure the recall of the approximate index again.
        encoder: checked against the collection; None checks the one stored in it.

    Raises:
        CollectionError: there is no collection, or it was never finished.
    """
    store = ReadStore(folder / DATABASE)
    connection = connect_read_only(folder / DATABASE)
    try:
        with store.snapshot() as generation:
            connection.execute("BEGIN")
            return _Verification(folder, store, connection, generation, encoder).run(recall)
    except CollectionCorruptError as error:
        problem = Problem(kind="database", where=DATABASE, what=error.what, remedy=_RESTORE)
        return VerifyReport(problems=(problem,), checked=("database",))
    finally:
        connection.close()
        store.close()


class _Verification:
    """One verification of one committed state."""

    def __init__(
        self,
        folder: Path,
        store: ReadStore,
        connection: sqlite3.Connection,
        generation: Generation,
        encoder: EncoderLike | None,
    ) -> None:
        self._folder = folder
        self._store = store
        self._connection = connection
        self._generation = generation
        self._given = encoder
        self._encoder: EncoderLike | None = None

    def run(self, recall: bool) -> VerifyReport:
        checks: dict[str, Callable[[], Iterator[Problem]]] = {
            "database": self._database,
            "words": self._words,
            "vectors": self._vectors,
            "index": self._ann,
            "encoder": self._encoder_files,
            "probes": self._probes,
            "leftovers": self._leftovers,
        }
        problems = [problem for check in checks.values() for problem in _guarded(check)]
        measured = None
        if recall and all(problem.kind in _HARMLESS for problem in problems):
            checks["recall"] = lambda: iter(())
            measured = self._measure()
            problems += self._recall_problems(measured)
        return VerifyReport(problems=tuple(problems), checked=tuple(checks), recall=measured)

    def _database(self) -> Iterator[Problem]:
        for fault in check_database(self._connection, self._generation):
            yield Problem(
                kind="database",
                where=f"{DATABASE}, {fault.table}",
                what=fault.what,
                remedy=_MEND,
            )

    def _words(self) -> Iterator[Problem]:
        try:
            wrong = check_words(self._folder / DATABASE)
        except sqlite3.OperationalError:
            return  # a read-only disk; the words are derived from texts that were checked
        if wrong is not None:
            yield Problem(
                kind="database", where=f"{DATABASE}, texts_fts", what=wrong, remedy=_REPAIR
            )

    def _vectors(self) -> Iterator[Problem]:
        generation = self._generation
        whole = True
        for fault in segment_faults(self._connection, self._folder, generation):
            whole = whole and not fault.unreadable
            yield self._bad_vectors(fault.what)
        if whole:
            path = self._folder / generation.vector_file
            for row in islice(
                odd_rows(map_rows(path, generation.vector_rows, generation.dim)), _SHOWN
            ):
                yield self._bad_vectors(f"row {row} is not a unit vector")

    def _bad_vectors(self, what: str) -> Problem:
        return Problem(kind="vectors", where=self._generation.vector_file, what=what, remedy=_MEND)

    def _ann(self) -> Iterator[Problem]:
        generation = self._generation
        if generation.ann_file is None:
            return
        path = self._folder / generation.ann_file

        def problem(what: str) -> Problem:
            return Problem(kind="index", where=str(generation.ann_file), what=what, remedy=_REPAIR)

        if not path.is_file():
            yield problem("the file is missing; every search is exact until it is made again")
        elif durable.sha256_of(path) != generation.ann_sha256:
            yield problem("the file is not as written")
        else:
            from mirror_index.index.ann import AnnIndex  # faiss is only loaded where it is used

            try:
                rows = AnnIndex.load(path, generation.ann_parameters).rows
            except CollectionCorruptError as error:  # as written, and yet unreadable here
                yield problem(error.what)
                return
            if rows != generation.ann_rows:
                yield problem(f"it holds {rows} rows, {generation.ann_rows} were committed")

    def _encoder_files(self) -> Iterator[Problem]:
        name = self._generation.encoder_folder
        stored: dict[str, str] = self._store.meta("encoder_files") or {}
        found = hash_tree(self._folder / name)
        for file in sorted(stored.keys() | found.keys()):
            if stored.get(file) == found.get(file):
                continue
            what = "is not as written"
            if file not in found:
                what = "is missing"
            elif file not in stored:
                what = "was not there when the collection was built"
            yield Problem(
                kind="encoder",
                where=f"{name}/{file}",
                what=f"the file {what}",
                remedy=_REPAIR if file == QUERY_COPY else _RESTORE,
            )

    def _probes(self) -> Iterator[Problem]:
        generation = self._generation
        where, remedy = generation.encoder_folder, _RESTORE
        if self._given is not None:
            where, remedy = "the encoder given", _OTHER
        try:
            encoder = self._given or load_own(self._folder, generation)
            probes.check_fingerprint(
                encoder, generation.encoder_fingerprint, generation.dim, str(self._folder)
            )
            stored = probes.read(self._connection, generation.dim)
            probes.check(encoder, stored, str(self._folder))
            self._encoder = encoder
        except MirrorIndexError as error:
            yield Problem(kind="encoder", where=where, what=error.what, remedy=remedy)

    def _leftovers(self) -> Iterator[Problem]:
        for path in housekeeping.leftovers(self._folder, self._generation):
            yield _leftover(path.relative_to(self._folder).as_posix(), "no committed state uses it")
        for path in housekeeping.strangers(self._folder):
            yield Problem(
                kind="stranger",
                where=path.name,
                what="no collection makes this file",
                remedy="Move it elsewhere; it is never touched",
            )
        pending = self._connection.execute("SELECT count(*) FROM pending").fetchone()[0]
        if pending:
            yield _leftover(DATABASE, f"{pending} texts are encoded but belong to no change yet")
        generation = self._generation
        path = self._folder / generation.vector_file
        beyond = path.stat().st_size if path.is_file() else 0
        beyond -= generation.vector_rows * row_bytes(path, generation.dim)
        if beyond > 0:
            yield _leftover(generation.vector_file, f"{beyond} bytes past the committed rows")

    def _measure(self) -> dict[str, Any] | None:
        generation = self._generation
        if generation.ann_file is None or not generation.ann_rows or self._encoder is None:
            return None
        from mirror_index.index.ann import AnnIndex  # faiss is only loaded where it is used
        from mirror_index.index.calibration import measure

        path = self._folder / generation.ann_file
        vectors = map_rows(
            self._folder / generation.vector_file, generation.vector_rows, generation.dim
        )
        index = AnnIndex.load(path, generation.ann_parameters)
        return measure(index, vectors, self._encoder, self._texts)

    def _texts(self, rows: Sequence[int]) -> list[str]:
        found = (
            self._connection.execute("SELECT text FROM texts WHERE row = ?", (int(row),)).fetchone()
            for row in rows
        )
        return [row[0] for row in found]

    def _recall_problems(self, measured: dict[str, Any] | None) -> list[Problem]:
        if measured is None:
            return []
        found = self._generation.ann_parameters
        target = float(found.get("recall_target", 0.0))
        low, high = measured["recall_interval"]
        # What was known not to be reached at build time was said then, and is no damage.
        promised = target if found.get("reached", True) else float(found["recall_interval"][0])
        if high >= promised:
            return []
        what = f"recall@10 is {measured['recall_at_10']} [{low}, {high}], {promised} was promised"
        return [
            Problem(kind="recall", where=str(self._generation.ann_file), what=what, remedy=_REPAIR)
        ]


def _guarded(check: Callable[[], Iterator[Problem]]) -> Iterator[Problem]:
    """Run a check; a value so damaged that it stops the check is a finding as well."""
    try:
        yield from check()
    except _STOPPED_BY as error:
        yield Problem(
            kind="database",
            where=DATABASE,
            what=f"a damaged value stopped a check: {error}",
            remedy=_RESTORE,
        )


def _leftover(where: str, what: str) -> Problem:
    return Problem(kind="leftover", where=where, what=what, remedy=_CLEAN)
