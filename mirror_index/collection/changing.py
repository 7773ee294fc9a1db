"""One change of a collection, from its source to its commit.

Vectors are appended past the committed end of the vector file, made durable chunk by chunk and
noted as pending, so that an interrupted change encodes nothing twice. The commit itself is one
SQLite transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mirror_index.collection import housekeeping
from mirror_index.collection.approximation import AnnState, kept_ann, make_ann
from mirror_index.collection.binding import BoundEncoder, write_encoder
from mirror_index.collection.collisions import count_collisions
from mirror_index.collection.foresight import Foresight
from mirror_index.collection.intake import Intake, Window, refuse_truncated, text_rows
from mirror_index.collection.report import ChangeReport
from mirror_index.collection.starting import SYNC, UPDATE, ChangeOptions, choose_target, now
from mirror_index.collection.syncing import refuse_blind_removal
from mirror_index.config import IndexSpec, OnTruncate
from mirror_index.index.vectorfile import VectorWriter, chunk_digest, map_rows
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.progress import Advance
from mirror_index.records import SourceItem
from mirror_index.store import committing, compacting, counting, deleting, undo
from mirror_index.store.generations import Generation
from mirror_index.store.staging import Staging
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike

ENCODE_CHUNK = 2048


class Change:
    """A running change. The caller holds the writer lock and keeps `store` open.

    Args:
        folder: the collection's folder.
        store: the open writing connection.
        encoder: makes the vectors of new texts; checked against the collection's before.
        options: how to treat the source.
        spec: the index wanted; None keeps what the collection has.
        fresh: replace everything instead of adding.
        sound: whether a fresh start may keep the texts and vectors of the same encoder.
    """

    def __init__(
        self,
        folder: Path,
        store: WriteStore,
        encoder: EncoderLike,
        options: ChangeOptions,
        *,
        spec: IndexSpec | None = None,
        fresh: bool = False,
        sound: bool = True,
    ) -> None:
        self._started = time.perf_counter()
        self._folder = folder
        self._store = store
        self._encoder = encoder
        self._options = options
        self._current = store.generation()
        self._spec = spec or IndexSpec(**(store.meta("index_spec") or {}))
        self._target = choose_target(
            self._current, encoder, self._spec.dtype, fresh=fresh, sound=sound
        )
        self._foresight = Foresight(
            folder,
            self._spec,
            dim=encoder.dim,
            stored=self._target.base,
            expected=options.expected,
            reporter=options.reporter,
        )
        self._number = 1 if self._current is None else self._current.number + 1
        self._staging = Staging(
            store.connection,
            policy=options.on_duplicate,
            upsert=options.verb in (UPDATE, SYNC),
            fresh=self._target.fresh,
        )
        self._encoded = 0

    def run(self, items: Iterable[SourceItem]) -> ChangeReport:
        """Take in every item and commit; on any failure the committed state stays as it was."""
        housekeeping.remove_leftovers(self._folder, self._current, keep={self._target.file})
        first = self._recover_pending()
        reporter = self._options.reporter
        with VectorWriter(self._folder, self._target.file, self._encoder.dim, first) as vectors:
            self._foresight.check()
            bound = self._bind_encoder()
            with reporter.stage("encode") as advance:
                for window in Intake(self._staging).windows(items):
                    self._take(window, vectors, advance)
            rows = vectors.next_row
        if self._options.verb == SYNC:
            refuse_blind_removal(self._store.connection, self._options)
        ann = self._make_ann(rows)
        report = self._commit(rows, bound, ann)
        housekeeping.remove_leftovers(self._folder, self._store.generation())
        return report

    def _recover_pending(self) -> int:
        """Keep the unfinished rows that still fit, drop the rest; return the row to append at."""
        row = self._target.base
        path = self._folder / self._target.file
        for chunk, fingerprint in self._store.pending_chunks():
            fits = (
                chunk.file == self._target.file
                and chunk.first_row == row
                and fingerprint == self._encoder.fingerprint
                and path.is_file()
                and chunk_digest(path, self._encoder.dim, row, chunk.rows) == chunk.sha256
            )
            if not fits:
                break
            row += chunk.rows
        # Rows pending for another file may have any number: an unfit first chunk drops them all.
        self._store.drop_pending(row if row > self._target.base else 0)
        return row

    def _bind_encoder(self) -> BoundEncoder | None:
        if not self._target.renewed:
            return None
        name = housekeeping.encoder_folder(self._current, self._number)
        return write_encoder(self._encoder, self._folder, name)

    def _take(self, window: Window, vectors: VectorWriter, advance: Advance) -> None:
        hashes = self._staging.add_records(window.records)
        known = self._store.known_hashes(list(hashes), committed=not self._target.renewed)
        texts = {record.hash: record.text for record in window.records if record.hash in hashes}
        fresh = [text for hash_, text in texts.items() if hash_ not in known]
        fresh.sort(key=len)
        started = time.perf_counter()
        for start in range(0, len(fresh), ENCODE_CHUNK):
            part = fresh[start : start + ENCODE_CHUNK]
            self._encode(part, vectors)
            advance(len(part))
        advance(len(texts) - len(fresh))
        self._foresight.window(
            texts=len(texts),
            encoded=len(fresh),
            seconds=time.perf_counter() - started,
            text_bytes=sum(len(text.encode()) for text in texts.values()),
            records=len(window.records),
        )

    def _encode(self, texts: Sequence[str], vectors: VectorWriter) -> None:
        encoded = self._encoder.encode_audited(texts)
        rows = text_rows(texts, encoded, vectors.next_row)
        if self._options.on_truncate is OnTruncate.ERROR:
            refuse_truncated([row for row in rows if row.truncated], self._staging)
        chunk = vectors.append(encoded.vectors)
        self._store.add_pending(chunk, self._encoder.fingerprint, rows)
        self._encoded += len(rows)

    def _make_ann(self, rows: int) -> AnnState:
        return make_ann(
            self._folder,
            None if self._target.renewed else self._current,
            map_rows(self._folder / self._target.file, rows, self._encoder.dim),
            spec=self._spec,
            number=self._number,
            encoder=lambda: self._encoder,
            rebuild=self._target.fresh,
            texts=lambda wanted: self._store.texts_of(wanted, pending=True),
            reporter=self._options.reporter,
            lenient=not self._target.fresh,
        )

    def _commit(self, rows: int, bound: BoundEncoder | None, ann: AnnState) -> ChangeReport:
        before = 0 if self._target.fresh else self._target.base
        used = self._staging.texts_used()
        with self._store.transaction() as connection:
            deleting.begin_touching(connection)
            if self._current is None or self._target.fresh:
                applied = self._replace_all(connection, bound)
                totals = counting.totals(connection)
            else:
                with undo.noted(connection, self._number):
                    taken = committing.take_pending(connection, self._number)
                    applied, dead = self._apply(connection)
                touched = taken + undo.noted_rows(connection, self._number)
                if not touched and ann == kept_ann(self._current):
                    report = self._report(applied, self._current, before, used)
                    self._store.take_back()
                    return replace(report, seconds=time.perf_counter() - self._started)
                totals = counting.totals_after(connection, self._current, taken=taken, dead=dead)
                counting.require_sum(self._current, totals, applied.added - applied.deleted)
            generation = self._generation(rows, bound, ann, totals)
            report = self._report(applied, generation, before, used)
            details = {**generation.details, "report": report.to_json()}
            committing.write_generation(connection, replace(generation, details=details))
        return replace(report, seconds=time.perf_counter() - self._started)

    def _replace_all(
        self, connection: sqlite3.Connection, bound: BoundEncoder | None
    ) -> committing.Applied:
        undo.forget(connection)
        committing.clear_records(connection)
        if self._target.renewed:
            committing.clear_texts(connection)
        committing.take_pending(connection, self._number)
        applied, _ = self._apply(connection)
        if bound is not None:
            bound.store(self._store)
        return applied

    def _apply(self, connection: sqlite3.Connection) -> tuple[committing.Applied, int]:
        """Apply what is staged; return what that did, and how many more texts are unused."""
        gone = 0
        if self._options.verb == SYNC:
            gone = deleting.drop_unstaged(connection)
        applied = committing.apply_staged(connection, self._number, self._options.source)
        if self._options.on_truncate is OnTruncate.ERROR:  # of earlier runs, for one
            refuse_truncated(committing.truncated_texts(connection), self._staging)
        dead = committing.settle(connection)
        self._note_source()
        return replace(applied, deleted=applied.deleted + gone), dead

    def _note_source(self) -> None:
        anew = self._target.fresh or self._options.verb == SYNC
        sources = [] if anew else list(self._store.meta("sources") or [])
        source = self._options.source
        if source is not None and source not in sources:
            sources.append(source)
        self._store.set_meta("sources", sources)
        self._store.set_meta("index_spec", self._spec.to_json())
        if self._target.fresh:
            self._store.set_meta("created_at", now())
        elif self._store.meta("name_key_version") != NAME_KEY_VERSION:
            compacting.key_names_again(self._store.connection)
        self._store.set_meta("name_key_version", NAME_KEY_VERSION)

    def _generation(
        self, rows: int, bound: BoundEncoder | None, ann: AnnState, totals: counting.Totals
    ) -> Generation:
        if bound is not None:
            folder = bound.folder
        else:
            assert self._current is not None  # a change that keeps its texts has a committed state
            folder = self._current.encoder_folder
        return Generation(
            number=self._number,
            committed_at=now(),
            verb=self._options.verb,
            source=self._options.source,
            vector_file=self._target.file,
            vector_rows=rows,
            live_records=totals.records,
            live_texts=totals.live_texts,
            dead_texts=totals.dead_texts,
            concepts=totals.concepts,
            ann_file=ann.file,
            ann_rows=ann.rows,
            ann_sha256=ann.sha256,
            ann_kind=ann.kind,
            ann_parameters=ann.parameters,
            encoder_fingerprint=self._encoder.fingerprint,
            encoder_folder=folder,
            dim=self._encoder.dim,
            details=counting.side_counts(self._store.connection),
        )

    def _report(
        self, applied: committing.Applied, generation: Generation, before: int, used: int
    ) -> ChangeReport:
        counts = self._staging.counts
        truncated, unknown = self._store.connection.execute(
            "SELECT coalesce(sum(truncated), 0), coalesce(sum(has_unknown), 0) FROM texts "
            "WHERE row >= ? AND records > 0",
            (before,),
        ).fetchone()
        return ChangeReport(
            verb=self._options.verb,
            generation=generation.number,
            added=applied.added,
            updated=applied.updated,
            deleted=applied.deleted,
            unchanged=counts.unchanged,
            duplicates=counts.duplicates,
            skipped=applied.skipped,
            quarantined=applied.quarantined,
            texts_encoded=self._encoded,
            texts_reused=max(0, used - self._encoded),
            truncated=truncated,
            unknown=unknown,
            collisions=count_collisions(self._folder, self._store.connection, generation, before),
            records=generation.live_records,
        )
