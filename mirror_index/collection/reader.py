"""The reading half of a collection: open, search, look up.

It loads neither faiss nor sqlite-utils nor torch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from mirror_index.collection.encoders import EncoderSlot
from mirror_index.collection.nearest import KeyedNames, NearestTexts, nearest_texts
from mirror_index.collection.report import TextAudit
from mirror_index.collection.searching import Search
from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.errors import CollectionCorruptError, CollectionError, UsageError
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.records import Concept, Hit, Rejected, normalise_text
from mirror_index.store import concepts as stored_concepts
from mirror_index.store.concepts import StoredName
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE, Json
from mirror_index.store.reading import ReadStore
from mirror_index.vectors import EncoderLike, FloatMatrix, IntVector, check_unit_rows


class CollectionReader:
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
            folder: its folder.
            encoder: what encodes queries; None loads the collection's own at the first query.

        Raises:
            CollectionError: there is none, it was never finished, or it is of a newer format.
            CollectionCorruptError: a file that was committed is missing or too short.
            EncoderMismatchError: `encoder` is not the one the collection was built with.
        """
        collection = cls(Path(folder), encoder)
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

    @contextmanager
    def _reading(self) -> Iterator[View]:
        """Hold the newest committed state for the block."""
        with self._lock, ExitStack() as stack:
            yield self._enter_view(stack)

    def _enter_view(self, stack: ExitStack) -> View:
        missing: FileNotFoundError | None = None
        # A writer may commit and clear away the old file between our snapshot and our opening it;
        # then the next snapshot names the new file.
        for _ in range(3):
            generation = stack.enter_context(self._store.snapshot())
            if self._view is not None and self._view.generation.number == generation.number:
                return self._view
            try:
                self._view = View(self.folder, self._store, generation)
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
        """
        encoder = self.encoder
        if not texts:
            return np.empty((0, encoder.dim), dtype=np.float32)
        return encoder.encode([normalise_text(_valid(text)) for text in texts])

    def search(
        self,
        queries: Sequence[str],
        options: SearchOptions = SearchOptions(),  # noqa: B008 (frozen)
    ) -> list[list[Hit]]:
        """Return the best records for each query, in query order.

        Each list holds `min(k, matching records)` hits, best exact cosine first, equal scores by
        record id; a query without any character but white space gets none.

        Raises:
            FilterError: `options.where` is not a filter over this collection.
            EncoderMismatchError: the encoder is not the collection's.
        """
        cleaned = [normalise_text(_valid(query)) for query in queries]
        distinct = [query for query in dict.fromkeys(cleaned) if query]
        vectors = self.encode(distinct) if distinct else None
        with self._reading() as view:
            search = Search(view, options)
            if vectors is None:
                return [[] for _ in queries]
            answers = dict(zip(distinct, search.run(vectors, distinct), strict=True))
        return [
            [replace(hit, query=query) for hit in answers.get(clean, ())]
            for query, clean in zip(queries, cleaned, strict=True)
        ]

    def search_vectors(
        self,
        vectors: FloatMatrix,
        options: SearchOptions = SearchOptions(),  # noqa: B008 (frozen)
        *,
        queries: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Like `search`, for queries that are vectors already.

        Args:
            vectors: (q, dim) rows of any float type; normalised before use.
            options: as for `search`.
            queries: the texts behind them, shown in the hits and needed for a hybrid search.

        Raises:
            MirrorIndexError: rows with NaN, Inf or only zeros, or of another dimension.
            UsageError: a hybrid search without `queries`, or not one per row.
        """
        if queries is None and options.hybrid:
            raise UsageError("a hybrid search needs the query texts", remedy="Pass queries")
        with self._reading() as view:
            unit = check_unit_rows(vectors, dim=view.generation.dim, where="query vectors")
            texts = [""] * len(unit) if queries is None else [_valid(query) for query in queries]
            if len(texts) != len(unit):
                raise UsageError(
                    f"{len(texts)} query texts for {len(unit)} vectors", remedy="Pass one for each"
                )
            return Search(view, options).run(unit, texts)

    def names_by_key(self, keys: Iterable[str]) -> dict[str, list[StoredName]]:
        """Return the names of concepts by exact-layer key (`names.name_key`).

        Keys without a name are left out.

        Raises:
            CollectionError: the stored keys were made by another version of the rules.
        """
        with self._reading() as view:
            version = view.store.meta("name_key_version")
            if version != NAME_KEY_VERSION:
                raise CollectionError(
                    f"the names were keyed by version {version} of the rules, this is "
                    f"{NAME_KEY_VERSION}",
                    where=str(self.folder),
                    remedy="Run `mirror-index repair`; a change or a compact keys them again too",
                )
            return stored_concepts.names_by_key(view.store.connection, keys)

    def iter_names(self) -> Iterator[StoredName]:
        """Yield the names of live concepts in record-id order, all of one committed state."""
        store = ReadStore(self.folder / DATABASE)
        try:
            with store.snapshot():
                yield from stored_concepts.iterate_names(store.connection)
        finally:
            store.close()

    def keyed_names(self) -> KeyedNames:
        """Return the names of live concepts with their keys, all of one committed state."""
        with self._reading() as view:
            return KeyedNames.of(view)

    def committed(self) -> Generation:
        """Return the newest committed state as it is stored; `history` tells more of it."""
        with self._reading() as view:
            return view.generation

    def nearest_texts(
        self, vectors: FloatMatrix, k: int, rows: IntVector | None = None
    ) -> NearestTexts:
        """Return the rows nearest to each of some unit vectors; see `nearest.nearest_texts`."""
        with self._reading() as view:
            return nearest_texts(view, vectors, k, rows)

    def concepts(self, ids: Iterable[str]) -> dict[str, Concept]:
        """Return concepts by id or alternative id, under the id asked for, without their names.

        Dictionary rows without a concept of their own count as a concept labelled by its best name.
        """
        with self._reading() as view:
            return stored_concepts.concepts_by_id(view.store.connection, ids)

    def vectors_of(self, rows: Sequence[int]) -> FloatMatrix:
        """Return (len(rows), dim) copies of stored vectors, e.g. those of `StoredName.row`.

        Raises:
            UsageError: a row that is not there.
        """
        with self._reading() as view:
            wanted = np.asarray(rows, dtype=np.int64).reshape(-1)
            bad = wanted[(wanted < 0) | (wanted >= len(view.vectors))]
            if bad.size:
                raise UsageError(
                    "no such vector row",
                    value=int(bad[0]),
                    remedy=f"Rows go from 0 to {len(view.vectors) - 1}",
                )
            return np.array(view.vectors[wanted], dtype=np.float32)

    def load_state(self, key: str) -> Json:
        """Return a JSON document saved with `save_state`, None when there is none."""
        with self._reading() as view:
            return view.store.meta(f"state.{key}")

    def quarantine(self, limit: int | None = None) -> list[Rejected]:
        """Return the rows that were not taken, oldest first, with the source of their change.

        Skipped ones are marked.
        """
        with self._reading() as view:
            return [
                Rejected(
                    line=line, reason=reason, content=content, skipped=bool(skipped), source=source
                )
                for line, reason, content, skipped, source in view.store.quarantine(limit)
            ]

    def audit(self, limit: int | None = None) -> list[TextAudit]:
        """Return the records whose text was read in part, with unknown tokens, or like another's.

        They come in id order; see `TextAudit`.
        """
        from mirror_index.collection.auditing import audit  # not on the path of a search

        with self._reading() as view:
            return audit(view, limit)


def _valid(text: str) -> str:
    """Replace lone surrogates, which neither tokenizers nor SQLite take."""
    return text.encode("utf-8", "replace").decode("utf-8")
