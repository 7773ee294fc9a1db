"""An open collection: the newest committed state, and the encoder of its queries.

It loads neither faiss nor sqlite-utils nor torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, TypeVar

import numpy as np

from mirror_index.collection.encoders import EncoderSlot
from mirror_index.collection.view import View
from mirror_index.errors import CollectionCorruptError, CollectionError
from mirror_index.records import normalise_text, several
from mirror_index.store.layout import DATABASE
from mirror_index.store.reading import DAMAGE, ReadStore
from mirror_index.vectors import EncoderLike, FloatMatrix

T = TypeVar("T")


class OpenCollection:
    """One open collection, for reading.

    Readers see whole committed states only, and move to the next one as soon as it is there. An
    open collection may be used from several threads; its reads take turns.

    Attributes:
        folder: where it lies.
    """

    def __init__(self, folder: Path, encoder: EncoderLike | None) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._store = ReadStore(folder / DATABASE)
        self._view: View | None = None
        self._encoders = EncoderSlot(folder, encoder)

    @classmethod
    def open(cls, folder: Path, *, encoder: EncoderLike | None = None) -> Self:
        """Open a finished collection.

        Args:
            folder: its folder; it may be relative, and is found later from elsewhere, too.
            encoder: what encodes queries; None loads the collection's own at the first query.

        Raises:
            CollectionError: there is none, it was never finished, or it is of a newer format.
            CollectionCorruptError: a file that was committed is missing or too short.
            EncoderMismatchError: `encoder` is not the one the collection was built with.
        """
        collection = cls(Path(folder).absolute(), encoder)
        try:
            with collection._reading() as view:
                collection._encoders.check(view.generation)
        except BaseException:
            collection.close()
            raise
        return collection

    def close(self) -> None:
        """Release the files; nothing else is needed."""
        with self._lock:
            self._store.close()
            self._view = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open collection cannot be pickled: open its folder in each process")

    def _check_open(self) -> None:
        if not self._store.close.alive:
            raise CollectionError(
                "the collection is closed", where=str(self.folder), remedy="Open it again"
            )

    @contextmanager
    def _reading(self) -> Iterator[View]:
        """Hold the newest committed state for the block."""
        with self._lock:
            self._check_open()
            with self._store.snapshot() as generation:
                view = self._view
                if view is not None and view.generation.number == generation.number:
                    yield view
                    return
            with ExitStack() as stack:
                yield self._enter_view(stack)

    def _newest(self) -> View | None:
        """Return the newest committed state if it is at hand; the caller holds the lock.

        It costs half of what `_reading` does, and is for what reads nothing of the database.
        """
        view = self._view
        if view is None:
            return None
        try:
            return view if self._store.unchanged(view.generation.number) else None
        except DAMAGE:
            return None  # `_reading` meets it again, and tells what it is

    def _answered(self, answer: Callable[[View], T], *, briefly: bool) -> T:
        """Return what `answer` says of the newest committed state.

        Args:
            answer: is given the state, and may be called twice.
            briefly: what it reads of the database is for this answer alone. Then no transaction is
                held: where nothing was committed between two looks at the version, all that was
                read is of the same state.
        """
        with self._lock:
            newest = self._newest() if briefly else None
            if newest is not None and newest.knows_live:
                with suppress(*DAMAGE):  # `_reading` meets it again, and tells what it is
                    found = answer(newest)
                    if self._store.unchanged(newest.generation.number):
                        return found
        with self._reading() as view:
            return answer(view)

    def _enter_view(self, stack: ExitStack) -> View:
        missing: FileNotFoundError | None = None
        # A writer may commit and clear away the old file between our snapshot and our opening it;
        # then the next snapshot names the new file.
        for _ in range(3):
            generation = stack.enter_context(self._store.snapshot())
            if self._view is not None and self._view.generation.number == generation.number:
                return self._view
            try:
                self._view = View(self.folder, self._store, generation, self._view)
            except FileNotFoundError as error:
                missing = error
                stack.pop_all().close()
            else:
                return self._view
        raise CollectionCorruptError(
            "a committed vector file is missing",
            where=str(missing.filename if missing else self.folder),
            remedy="Restore it from a copy, or build the collection again",
        ) from missing

    @property
    def encoder_folder(self) -> Path:
        """Folder of the encoder that belongs to the committed state."""
        with self._reading() as view:
            return self.folder / view.generation.encoder_folder

    @property
    def encoder(self) -> EncoderLike:
        """The encoder of queries, loaded and checked against the stored probes on first use."""
        with self._reading() as view:
            return self._encoders.get(view)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows from the collection's own encoder.

        Raises:
            EncoderMismatchError: the encoder does not reproduce the stored probe vectors.
            UsageError: one text instead of a list.
        """
        encoder = self.encoder
        if not several(texts):
            return np.empty((0, encoder.dim), dtype=np.float32)
        return encoder.encode([normalise_text(valid_unicode(text)) for text in texts])


def valid_unicode(text: str) -> str:
    """Replace lone surrogates, which neither tokenizers nor SQLite take."""
    return text.encode("utf-8", "replace").decode("utf-8")
