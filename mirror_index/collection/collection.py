"""The collection: everything one folder on disk can do. What writes is imported when first used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mirror_index.collection.reader import CollectionReader
from mirror_index.collection.report import ChangeReport, CommittedState, VerifyReport
from mirror_index.config import IndexSpec, OnDuplicate, OnTruncate
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import SourceItem, SourceSize
from mirror_index.store.layout import Json
from mirror_index.vectors import EncoderLike


class Collection(CollectionReader):
    """One open collection, made by `Collection.build` or `Collection.open`.

    Close it, or use it in a `with` block.

    Attributes:
        folder: where it lies.
        last_change: report of the last change made through this object, None before the first.
    """

    def __init__(self, folder: Path, encoder: EncoderLike | None) -> None:
        super().__init__(folder, encoder)
        self.last_change: ChangeReport | None = None

    @classmethod
    def build(
        cls,
        folder: Path,
        items: Iterable[SourceItem],
        *,
        encoder: EncoderLike,
        spec: IndexSpec = IndexSpec(),  # noqa: B008 (frozen)
        on_duplicate: OnDuplicate = OnDuplicate.ERROR,
        on_truncate: OnTruncate = OnTruncate.REPORT,
        overwrite: bool = False,
        source: str | None = None,
        expected: SourceSize | None = None,
        reporter: Reporter = SILENT,
        timeout: float = 0.0,
    ) -> Collection:
        """Make a collection of all items and return it open.

        An interrupted build goes on where it stopped.

        Args:
            folder: new, empty, or a collection; parents are created.
            items: records, concepts and rejected rows; read once, a window at a time.
            encoder: makes the vectors; saved into the collection.
            spec: the index wanted.
            on_duplicate: what to do with an id that comes twice with different content.
            on_truncate: whether texts longer than the encoder reads fail the build.
            overwrite: replace a finished collection. The old state stays readable until the new one
                commits.
            source: where the items come from, for the record.
            expected: how many items there are, as far as that is known; what cannot be done with
                them is then refused before anything is encoded, else as soon as they are read.
            reporter: receives progress.
            timeout: seconds to wait for another writer.

        Raises:
            CollectionError: the folder is not free, an id conflict, a truncated text when
                forbidden, or too little disk or memory.
            CollectionBusyError: another writer holds the collection.
            UsageError: an index kind that cannot be built.
        """
        from mirror_index.collection import housekeeping, starting, verbs

        folder = Path(folder)
        starting.check_spec(spec, encoder.dim)
        if not folder.exists():
            items = starting.begun(items)
        housekeeping.claim_folder(folder)
        options = starting.ChangeOptions(
            verb="build",
            on_duplicate=on_duplicate,
            on_truncate=on_truncate,
            source=source,
            expected=expected,
            reporter=reporter,
        )
        report = verbs.build(
            folder, items, encoder, options, spec=spec, overwrite=overwrite, timeout=timeout
        )
        # Queries go through the stored copy, so that they score as they will after reopening.
        stored = hasattr(encoder, "export_onnx")
        collection = cls.open(folder, encoder=None if stored else encoder)
        collection.last_change = report
        return collection

    def add(
        self,
        items: Iterable[SourceItem],
        *,
        on_duplicate: OnDuplicate = OnDuplicate.ERROR,
        on_truncate: OnTruncate = OnTruncate.REPORT,
        source: str | None = None,
        reporter: Reporter = SILENT,
        timeout: float = 0.0,
    ) -> ChangeReport:
        """Add records and concepts; texts that are there already are not encoded again.

        An id that is there with the same content is counted as unchanged; with other content,
        `on_duplicate`
        decides: fail, keep the stored one (first), or replace it (last).

        Raises:
            CollectionError: an id conflict, or a truncated text when forbidden; nothing is changed
                then.
            CollectionBusyError: another writer holds the collection.
        """
        return self._change("add", items, on_duplicate, on_truncate, source, reporter, timeout)

    def update(
        self,
        items: Iterable[SourceItem],
        *,
        on_duplicate: OnDuplicate = OnDuplicate.ERROR,
        on_truncate: OnTruncate = OnTruncate.REPORT,
        source: str | None = None,
        reporter: Reporter = SILENT,
        timeout: float = 0.0,
    ) -> ChangeReport:
        """Add or replace by id. A concept replaces the stored one with all its names.

        `on_duplicate` is about an id that comes twice among `items`.

        Raises:
            CollectionError: an id conflict within `items`, or a truncated text when forbidden.
            CollectionBusyError: another writer holds the collection.
        """
        return self._change("update", items, on_duplicate, on_truncate, source, reporter, timeout)

    def sync(
        self,
        items: Iterable[SourceItem],
        *,
        on_duplicate: OnDuplicate = OnDuplicate.ERROR,
        on_truncate: OnTruncate = OnTruncate.REPORT,
        source: str | None = None,
        allow_empty: bool = False,
        allow_quarantine: bool = False,
        reporter: Reporter = SILENT,
        timeout: float = 0.0,
    ) -> ChangeReport:
        """Make the collection equal to `items`: add, replace and remove, in one commit.

        Only texts without a vector are encoded. Records with the same content stay as they are,
        with the line number they were first read at. Quarantined rows of earlier sources go.

        Args:
            items: everything the collection is to hold.
            on_duplicate: about an id that comes twice among `items`.
            on_truncate: whether texts longer than the encoder reads fail the sync.
            source: where the items come from, for the record.
            allow_empty: let a source without a record empty the collection.
            allow_quarantine: remove records also when rows of the source could not be read.
            reporter: receives progress.
            timeout: seconds to wait for another writer.

        Raises:
            CollectionError: an id conflict within `items`, a truncated text when forbidden, or a
                removal that is not allowed; nothing is changed then.
            CollectionBusyError: another writer holds the collection.
        """
        return self._change(
            "sync",
            items,
            on_duplicate,
            on_truncate,
            source,
            reporter,
            timeout,
            allow_empty=allow_empty,
            allow_quarantine=allow_quarantine,
        )

    def _change(
        self,
        verb: str,
        items: Iterable[SourceItem],
        on_duplicate: OnDuplicate,
        on_truncate: OnTruncate,
        source: str | None,
        reporter: Reporter,
        timeout: float,
        **allowed: Any,  # noqa: ANN401 - fields of ChangeOptions
    ) -> ChangeReport:
        from mirror_index.collection import starting, verbs

        options = starting.ChangeOptions(
            verb=verb,
            on_duplicate=on_duplicate,
            on_truncate=on_truncate,
            source=source,
            reporter=reporter,
            **allowed,
        )
        self.last_change = verbs.change(self.folder, items, self.encoder, options, timeout=timeout)
        return self.last_change

    def delete(
        self,
        ids: Iterable[str] | None = None,
        where: str | None = None,
        *,
        timeout: float = 0.0,
    ) -> ChangeReport:
        """Delete records by id, or those a filter lets through; both means both conditions hold.

        Ids that are not there are counted as skipped. A concept goes with its last name.

        Raises:
            UsageError: neither ids nor a filter.
            FilterError: `where` is not a filter over this collection.
            CollectionBusyError: another writer holds the collection.
        """
        from mirror_index.collection import shrinking

        with self._reading() as view:
            predicate = view.predicate(where)
        self.last_change = shrinking.delete(
            self.folder, ids, None if where is None else predicate, timeout=timeout
        )
        return self.last_change

    def compact(self, reporter: Reporter = SILENT, *, timeout: float = 0.0) -> ChangeReport:
        """Drop the vectors and texts of deleted records, rebuild the index, and shrink the files.

        Raises:
            CollectionBusyError: another writer holds the collection.
        """
        from mirror_index.collection import shrinking

        self.last_change = shrinking.compact(
            self.folder, lambda: self.encoder, reporter, timeout=timeout
        )
        return self.last_change

    def history(self) -> list[CommittedState]:
        """Return all committed states, the newest first, and which can be returned to."""
        from mirror_index.collection.history import committed_states

        with self._reading() as view:
            return committed_states(view.store.connection)

    def rollback(self, generation: int, *, timeout: float = 0.0) -> ChangeReport:
        """Return to an earlier committed state, as one new commit that can be undone as well.

        Records, concepts, names, quarantined rows and sources are as they were. Nothing is encoded:
        vectors stay until the collection is compacted, which ends the history, as does overwriting.
        Documents of `save_state` stay as they are, those of `commit_document` go back.

        Raises:
            UsageError: there is no such state, or it can no longer be returned to.
            CollectionBusyError: another writer holds the collection.
        """
        from mirror_index.collection import history

        self.last_change = history.roll_back(self.folder, generation, timeout=timeout)
        return self.last_change

    def save_state(self, key: str, value: Json, *, timeout: float = 10.0) -> None:
        """Keep a small JSON document in the collection, e.g. a calibration.

        Raises:
            CollectionBusyError: another writer holds the collection for longer than `timeout`
                seconds.
        """
        from mirror_index.collection import starting

        with starting.writing(self.folder, timeout) as store, store.transaction():
            store.save_document(key, value)

    def info(self) -> dict[str, Any]:
        """Return what the collection is and holds, as plain JSON values; see docs/storage.md."""
        from mirror_index.collection.describing import describe

        with self._reading() as view:
            return describe(self.folder, view)

    def verify(self, *, recall: bool = False, encoder: EncoderLike | None = None) -> VerifyReport:
        """Check every file and every row against what was committed; nothing is changed.

        Args:
            recall: measure the recall of the approximate index again, too.
            encoder: checked against the collection; None checks the one stored in it.
        """
        from mirror_index.collection.verifying import verify_collection

        return verify_collection(self.folder, recall=recall, encoder=encoder)
