"""One committed state as a reader sees it: generation, mapped vectors, live rows."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mirror_index.errors import CollectionCorruptError, FilterError, UsageError
from mirror_index.index.halves import near_rows
from mirror_index.index.vectorfile import map_rows
from mirror_index.store.filter_sql import EVERYTHING, Predicate, compile_filter
from mirror_index.store.filter_tree import BUILT_IN, Filter, columns_of
from mirror_index.store.generations import Generation, vector_file_of
from mirror_index.store.reading import ReadStore
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector, UnitRows

if TYPE_CHECKING:
    from mirror_index.index.ann import AnnIndex
    from mirror_index.index.later import OneByOne

_KEPT_FILTERS = 256
_KEPT_ROWS = 4_000_000
"""Row numbers of filters that are kept, 8 bytes each."""
_KEPT_VALUES = 1 << 24
"""Values of vectors of filters that are kept, 4 bytes each."""


class View:
    """A generation with its files mapped; queries through `store` belong inside its snapshot.

    Attributes:
        store: the reading side of the database.
        generation: the committed state.
        vectors: (vector_rows, dim) unit rows, read-only; float32 when indexed.
        lone: searches for a query by itself that are kept; see `alone`.

    Args:
        folder: the collection's.
        store: see above.
        generation: see above.
        before: the state that was looked at before.
    """

    def __init__(
        self,
        folder: Path,
        store: ReadStore,
        generation: Generation,
        before: View | None = None,
    ) -> None:
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
        self._gathered: list[tuple[IntVector, FloatMatrix]] = []
        self.lone: dict[tuple[int, Any, Any], OneByOne | None] = {}
        if before is not None:
            self._take_index(before)

    def _take_index(self, before: View) -> None:
        """Go on with a loaded index where a change left it as it was: it may be gigabytes."""
        old, new = before.generation, self.generation
        same = old.ann_file == new.ann_file and old.ann_sha256 == new.ann_sha256
        same = same and old.ann_parameters == new.ann_parameters
        if same and before.__dict__.get("ann") is not None:
            self.__dict__["ann"] = before.ann

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

    @property
    def knows_live(self) -> bool:
        """Whether `live_rows` is at hand without reading the database."""
        return not self.generation.dead_texts or "live_rows" in self.__dict__

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

    def require_rows(self, rows: IntVector) -> None:
        """Refuse row numbers that are not there.

        Raises:
            UsageError: a row below 0 or past the last.
        """
        bad = rows[(rows < 0) | (rows >= len(self.vectors))]
        if bad.size:
            raise UsageError(
                "no such vector row",
                value=int(bad[0]),
                remedy=f"Rows go from 0 to {len(self.vectors) - 1}",
            )

    def require_same_rows(self, generation: int) -> None:
        """Refuse row numbers of a state whose texts had other rows.

        Raises:
            UsageError: the texts were numbered anew since, or there is no such state.
        """
        if vector_file_of(self.store.connection, generation) != self.generation.vector_file:
            raise UsageError(
                "the rows are of a state whose texts had other row numbers",
                value=generation,
                remedy="Search again: the collection was compacted or built anew",
            )

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

    def gathered(self, allowed: IntVector) -> FloatMatrix | None:
        """Return the vectors of some rows side by side, as `near_rows` gives them.

        They are compared in a tenth of the time that rows here and there in the file take, and
        kept while the rows are the same array, as those of a filter are; None where they are too
        many, or most of all.
        """
        dim = self.generation.dim
        if len(allowed) * dim > _KEPT_VALUES // 2 or len(allowed) > len(self.vectors) // 2:
            return None
        for place, (rows, matrix) in enumerate(self._gathered):
            if rows is allowed:
                self._gathered.append(self._gathered.pop(place))
                return matrix
        matrix = near_rows(self.vectors, allowed)
        self._gathered.append((allowed, matrix))
        while sum(len(rows) for rows, _ in self._gathered) * dim > _KEPT_VALUES:
            self._gathered.pop(0)
        return matrix

    def _too_much_kept(self) -> bool:
        rows = sum(len(rows) for rows in self._allowed.values())
        return rows > _KEPT_ROWS or len(self._allowed) > _KEPT_FILTERS
