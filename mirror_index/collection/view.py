"""One committed state as a reader sees it: generation, mapped vectors, live rows."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mirror_index.errors import CollectionCorruptError, FilterError
from mirror_index.index.vectorfile import map_rows
from mirror_index.store.filter_sql import EVERYTHING, Predicate, compile_filter
from mirror_index.store.filter_tree import BUILT_IN, Filter, columns_of
from mirror_index.store.generations import Generation
from mirror_index.store.reading import ReadStore
from mirror_index.vectors import BoolVector, IntVector, UnitRows

if TYPE_CHECKING:
    from mirror_index.index.ann import AnnIndex

_KEPT_FILTERS = 256
_KEPT_ROWS = 4_000_000
"""Row numbers of filters that are kept, 8 bytes each."""


class View:
    """A generation with its files mapped; queries through `store` belong inside its snapshot.

    Attributes:
        store: the reading side of the database.
        generation: the committed state.
        vectors: (vector_rows, dim) unit rows, read-only; float32 when indexed.
    """

    def __init__(self, folder: Path, store: ReadStore, generation: Generation) -> None:
        self._folder = folder
        self.store = store
        self.generation = generation
        store.require_rows(generation.vector_rows)
        self.vectors: UnitRows = map_rows(
            folder / generation.vector_file, generation.vector_rows, generation.dim
        )
        self._fields: set[str] = set()
        self._predicates: dict[str, Predicate] = {}
        self._allowed: dict[Predicate, IntVector] = {}

    @cached_property
    def live(self) -> BoolVector:
        """(vector_rows,) True where at least one record uses the text."""
        live = np.ones(len(self.vectors), dtype=np.bool_)
        if self.generation.dead_texts:
            live[self.store.dead_rows()] = False
        return live

    @cached_property
    def live_rows(self) -> IntVector | None:
        """Ascending rows of live texts, None when all are."""
        return np.flatnonzero(self.live) if self.generation.dead_texts else None

    @cached_property
    def ann(self) -> AnnIndex | None:
        """The approximate index; None when there is none or its file is gone."""
        if self.generation.ann_file is None:
            return None
        path = self._folder / self.generation.ann_file
        if not path.is_file():
            return None
        from mirror_index.index.ann import AnnIndex  # faiss is only loaded where it is used

        try:
            index = AnnIndex.load(path, self.generation.ann_parameters)
        except CollectionCorruptError:
            if path.is_file():
                raise
            return None  # a writer has just removed it, with the state that it belongs to
        index.require_shape(self.generation.ann_rows, self.generation.dim, path)
        return index

    def predicate(self, where: str | None) -> Predicate:
        """Compile a filter against what this state holds.

        Raises:
            FilterError: not a filter, or a metadata field that no record has.
        """
        if where is None:
            return EVERYTHING
        known = self._predicates.get(where)
        if known is not None:
            return known
        from mirror_index.store.filters import parse_filter  # the SQL parser loads only for filters

        tree = parse_filter(where)
        self._check_fields(tree)
        predicate = compile_filter(tree)
        if len(self._predicates) >= _KEPT_FILTERS:
            self._predicates.pop(next(iter(self._predicates)))
        self._predicates[where] = predicate
        return predicate

    def _check_fields(self, tree: Filter) -> None:
        names = {column.name for column in columns_of(tree) if column.metadata}
        for name in sorted(names - self._fields):
            if self.generation.live_records and not self.store.has_field(name):
                known = [*BUILT_IN, *self.store.metadata_fields()]
                raise FilterError(
                    "no record has this field",
                    value=name,
                    remedy=f"Known fields: {', '.join(known)}",
                )
            self._fields.add(name)

    def allowed(self, predicate: Predicate) -> IntVector | None:
        """Return the ascending rows a filter lets through, None for all rows of the file.

        Evaluating a filter reads every record; the answers are kept as long as the state is.
        """
        if predicate is EVERYTHING:
            return self.live_rows
        rows = self._allowed.pop(predicate, None)
        if rows is None:
            rows = self.store.rows_where(predicate.sql, predicate.parameters)
        self._allowed[predicate] = rows  # the one used last stands last
        while len(self._allowed) > 1 and self._too_much_kept():
            self._allowed.pop(next(iter(self._allowed)))
        return rows

    def _too_much_kept(self) -> bool:
        rows = sum(len(rows) for rows in self._allowed.values())
        return rows > _KEPT_ROWS or len(self._allowed) > _KEPT_FILTERS
