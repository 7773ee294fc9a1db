"""The reading half of a collection: search, look up.

It loads neither faiss nor sqlite-utils nor torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mirror_index.collection.alone import hits_of_one, nearest_to_one
from mirror_index.collection.answering import hits_of, nearest_of, options_of
from mirror_index.collection.nearest import KeyedNames, NearestRows, NearestTexts, nearest_texts
from mirror_index.collection.opening import OpenCollection, valid_unicode
from mirror_index.collection.report import TextAudit
from mirror_index.config import SearchOptions
from mirror_index.errors import CollectionError, UsageError
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.records import (
    Concept,
    Hit,
    Record,
    Rejected,
    normalise_text,
    several,
    several_ids,
)
from mirror_index.store import concepts as stored_concepts
from mirror_index.store.concepts import StoredName
from mirror_index.store.expanding import stored_records
from mirror_index.store.generations import Generation
from mirror_index.store.layout import DATABASE, Json
from mirror_index.store.reading import DAMAGE, ReadStore
from mirror_index.vectors import FloatMatrix, IntVector


class CollectionReader(OpenCollection):
    """One open collection, for reading.

    Readers see whole committed states only, and move to the next one as soon as it is there. An
    open collection may be used from several threads; its reads take turns.

    Attributes:
        folder: where it lies.
    """

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
            UsageError: one query instead of a list.
        """
        cleaned = [normalise_text(valid_unicode(query)) for query in several(queries)]
        distinct = [query for query in dict.fromkeys(cleaned) if query]
        found = self._hits(self.encode(distinct), options, distinct) if distinct else []
        if not distinct:
            self._answered(lambda view: view.predicate(options.where), briefly=False)
        answers = dict(zip(distinct, found, strict=True))
        return [
            [hit if hit.query == query else replace(hit, query=query) for hit in answers[clean]]
            if clean
            else []
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
        texts = None if queries is None else [valid_unicode(query) for query in queries]
        return self._hits(vectors, options, texts)

    def _hits(
        self,
        vectors: FloatMatrix,
        options: SearchOptions,
        texts: Sequence[str] | None,
    ) -> list[list[Hit]]:
        brief = options.where is None and not options.hybrid
        alone = isinstance(vectors, np.ndarray) and vectors.shape[:1] == (1,)
        if brief and alone and not options.exact:
            hits = self._hits_of_one(vectors, options, texts)
            if hits is not None:
                return [hits]
        return self._answered(lambda view: hits_of(view, vectors, options, texts), briefly=brief)

    def _hits_of_one(
        self, vectors: FloatMatrix, options: SearchOptions, texts: Sequence[str] | None
    ) -> list[Hit] | None:
        if texts is not None and len(texts) != 1:
            return None
        with self._lock:
            view = self._view
            if view is None or not view.knows_live:
                return None
            try:
                return hits_of_one(view, vectors, options, texts[0] if texts else "")
            except DAMAGE:
                return None  # the long way meets it again, and tells what it is

    def nearest(
        self,
        vectors: FloatMatrix,
        k: int = 10,
        *,
        where: str | None = None,
        exact: bool = False,
    ) -> NearestRows:
        """Return the `k` nearest texts of vectors as arrays: `search_vectors` without the records.

        It reads nothing of the database but a filter, and so costs little more than the index.
        `records` gives what belongs to the rows.

        Args:
            vectors: (q, dim) rows of any float type; normalised before use.
            k: distinct texts wanted for each.
            where: a filter, as in `SearchOptions`.
            exact: leave an approximate index aside.

        Raises:
            MirrorIndexError: rows with NaN, Inf or only zeros, or of another dimension.
            UsageError: `k` is below 1, or there would be more than 2^28 answers.
            FilterError: `where` is not a filter over this collection.
        """
        if where is None:
            with self._lock:  # nothing is read of the database
                newest = self._newest()
                if newest is not None and newest.knows_live:
                    found = None if exact else nearest_to_one(newest, vectors, k)
                    return found or nearest_of(newest, vectors, options_of(k, None, exact))
        options = options_of(k, where, exact)
        with self._reading() as view:
            return nearest_of(view, vectors, options)

    def records(
        self, rows: Iterable[int] | NDArray[np.int64], *, generation: int | None = None
    ) -> dict[int, list[Record]]:
        """Return the records of vector rows, by row, and within a row by id.

        Rows without a live record, and -1, are left out.

        Args:
            rows: row numbers in an array of any shape, e.g. `NearestRows.rows`.
            generation: the state they belong to; compacting gives texts other rows.

        Raises:
            UsageError: no such row, or the rows changed since `generation`.
        """
        flat = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, np.int64)
        wanted = np.sort(flat.reshape(-1))
        with self._reading() as view:
            view.require_rows(wanted[wanted != -1])
            if generation is not None:
                view.require_same_rows(generation)
            distinct = dict.fromkeys(wanted.tolist())
            distinct.pop(-1, None)
            return stored_records(view.store.connection, list(distinct))

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

    def obsolete_names(self) -> list[str]:
        """Return the names of obsolete concepts, labels too, in the order of their ids."""
        with self._reading() as view:
            return stored_concepts.obsolete_names(view.store.connection)

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

        Raises:
            UsageError: one id instead of several.
        """
        with self._reading() as view:
            return stored_concepts.concepts_by_id(view.store.connection, several_ids(ids))

    def id_prefixes(self) -> set[str]:
        """Return what stands before the first colon of the ids and alternative ids of concepts."""
        with self._reading() as view:
            return stored_concepts.id_prefixes(view.store.connection)

    def vectors_of(self, rows: Sequence[int] | IntVector) -> FloatMatrix:
        """Return (len(rows), dim) copies of stored vectors, e.g. those of `StoredName.row`.

        Raises:
            UsageError: a row that is not there.
        """
        with self._reading() as view:
            wanted = np.asarray(rows, dtype=np.int64).reshape(-1)
            view.require_rows(wanted)
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
