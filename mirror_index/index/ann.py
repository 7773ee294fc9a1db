"""An approximate index: FAISS over the first rows of the vector file.

It only ever proposes candidates; scores and order come from the vector file (`index/exact.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mirror_index import durable
from mirror_index.errors import CollectionCorruptError
from mirror_index.index.exact import MARGIN
from mirror_index.index.kinds import FAISS_ERRORS, core_of, faiss, reason_of, search_parameters
from mirror_index.index.lone import LoneSearch
from mirror_index.index.lone import Nearby as Nearby
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

FIRST_ROWS = 16
"""The best this many rows of a graph are the same for every number of rows wanted."""
PREFIX_ROWS = 64
"""Searches for up to this many rows see the same candidates, so the shorter answer is the beginning
of the longer one."""
_SPARE_ROWS = 8
_SPARE_SHARE = 4
_COARSE_FACTOR = 2
_GRAPH_STEPS = 26
_KEPT_PLANS, _KEPT_ROWS = 64, 4096
"""Plans of searches that are kept, and the rows that each may ask for: its arrays stay."""
_MARGIN = np.float32(MARGIN)
_REMEDY = "Run `mirror-index repair`, which makes it again, or search with exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What an index proposes for each query.

    Attributes:
        rows: per query, the row numbers worth scoring, in no particular order.
        found: per query, how many allowed rows the index came up with, also those that its own
            scores rule out.
    """

    rows: list[IntVector]
    found: list[int]


class _Plan(NamedTuple):
    """How a search asks FAISS: for how many rows, with what parameters, for a query by itself."""

    fetched: int
    parameters: Any
    alone: LoneSearch


_Plans = dict[tuple[int, float, Any, Any], _Plan]


class AnnIndex:
    """A FAISS index with the breadth its searches use; for one thread at a time.

    Args:
        index: the FAISS index.
        parameters: what calibration chose; `value` is the breadth (HNSW efSearch, IVF nprobe).
    """

    def __init__(self, index: Any, parameters: Mapping[str, Any]) -> None:  # noqa: ANN401
        self._index = index
        self.parameters = dict(parameters)
        self._selection: tuple[IntVector, BoolVector, Any] | None = None
        self._plans: _Plans = {}
        self._filtered_plans: tuple[IntVector, _Plans] | None = None

    @classmethod
    def load(cls, path: Path, parameters: Mapping[str, Any]) -> AnnIndex:
        """Read an index file.

        Raises:
            CollectionCorruptError: FAISS cannot read it.
        """
        try:
            with durable.utf8_folder(path.parent) as folder:
                index = faiss.read_index(f"{folder}/{path.name}")
        except FAISS_ERRORS as error:
            raise CollectionCorruptError(
                f"the approximate index cannot be read: {reason_of(error)}",
                where=str(path),
                remedy=_REMEDY,
            ) from error
        return cls(index, parameters)

    def require_shape(self, rows: int, dim: int, path: Path) -> None:
        """Refuse an index over something else than what was committed.

        Raises:
            CollectionCorruptError: it holds other than `rows` vectors of `dim` values.
        """
        found = (self.rows, int(self._index.d))
        if found != (rows, dim):
            raise CollectionCorruptError(
                f"the approximate index holds {found[0]} vectors of {found[1]} values, "
                f"{rows} of {dim} were committed",
                where=str(path),
                remedy=_REMEDY,
            )

    def save(self, path: Path) -> None:
        """Write the index file."""
        with durable.utf8_folder(path.parent) as folder:
            faiss.write_index(self._index, f"{folder}/{path.name}")

    @cached_property
    def rows(self) -> int:
        """Number of vectors in the index: rows 0 to `rows` - 1 of the vector file."""
        return int(self._index.ntotal)

    @property
    def selects(self) -> bool:
        """Whether this kind of index leaves rows out while it searches, as was found at build."""
        return bool(self.parameters.get("selector", True))

    @cached_property
    def faithful(self) -> bool:
        """Whether the scores of the index are the cosines of whole vectors, not of codes."""
        top = faiss.downcast_index(self._index)
        return isinstance(top, faiss.IndexHNSWFlat | faiss.IndexIVFFlat | faiss.IndexFlat)

    def depths(self, k: int) -> tuple[int, ...]:
        """Return how many rows to look for, in one search or two, when `k` are wanted.

        They are the same for every k up to `FIRST_ROWS`, and up to `PREFIX_ROWS`. A graph keeps
        as many candidates as are asked for and pays for each, so it is asked for few; what it
        says of these stands, and the rows after them come from a deeper search.
        """
        if self.knob != "efSearch":
            return (max(k, PREFIX_ROWS),)
        return (FIRST_ROWS,) if k <= FIRST_ROWS else (FIRST_ROWS, max(k, PREFIX_ROWS))

    def fetch(self, depth: int) -> int:
        """Return how many candidates to ask for when `depth` rows are looked for.

        Where vectors are stored as codes their order is not to be trusted, and twice as many are
        asked for, or what calibration found.
        """
        least = int(self.parameters.get("fetch", 0))
        spare = max(_SPARE_ROWS, depth // _SPARE_SHARE)
        return max(least, depth + spare if self.faithful else _COARSE_FACTOR * depth)

    def breadth(self, depth: int) -> int:
        """Return how broadly to search for `depth` rows, by what was calibrated for the first."""
        value = int(self.parameters.get("value", 0)) or self.ladder[0]
        if depth <= FIRST_ROWS or self.knob != "efSearch":
            return value
        return value + self.fetch(depth) - self.fetch(FIRST_ROWS)

    @cached_property
    def knob(self) -> str | None:
        """Name of the parameter that sets the breadth of a search, None when there is none."""
        core = core_of(self._index)
        if isinstance(core, faiss.IndexIVF):
            return "nprobe"
        return "efSearch" if isinstance(core, faiss.IndexHNSW) else None

    @cached_property
    def ladder(self) -> tuple[int, ...]:
        """Breadths worth trying, rising; a single 0 when nothing can be set."""
        core = core_of(self._index)
        if isinstance(core, faiss.IndexIVF):
            powers = range(int(core.nlist).bit_length())
            steps = sorted({step for power in powers for step in (1 << power, 3 << power >> 1)})
            return (*(step for step in steps if step < core.nlist), int(core.nlist))
        if isinstance(core, faiss.IndexHNSW):
            # HNSW keeps as many candidates as are fetched, so less than that changes nothing.
            least = self.fetch(FIRST_ROWS)
            return tuple(round(least * 2 ** (step / 4)) for step in range(_GRAPH_STEPS))
        return (0,)

    def candidates(
        self,
        queries: FloatMatrix,
        depth: int,
        allowed: IntVector | None,
        *,
        keep: int | None = None,
        widen: float = 1.0,
    ) -> Proposed:
        """Return per query the allowed rows that may be among the `depth` best.

        Args:
            queries: (q, dim) float32 unit rows.
            depth: rows to look for, of those that `depths` gives.
            allowed: ascending row numbers that may be found; None for all.
            keep: of the rows found, only those that may be among this many best are wanted.
            widen: multiplies the breadth and the number of candidates.
        """
        scores, rows = self.nearby(queries, depth, allowed, widen=widen)
        good = (rows >= 0) & (rows < self.rows)  # a damaged file may name any row
        if allowed is not None and not self.selects:
            mask = self._select(allowed)[0]
            good &= mask[np.where(good, rows, 0)]
        return self._proposed(scores, rows, good, keep)

    def nearby(
        self, queries: FloatMatrix, depth: int, allowed: IntVector | None, *, widen: float = 1.0
    ) -> Nearby:
        """Ask FAISS for candidates; see `candidates`."""
        plan = self._plan(depth, allowed, widen)
        if len(queries) != 1:
            return Nearby(*self._index.search(queries, plan.fetched, params=plan.parameters))
        return plan.alone(queries)

    def lone(self, depth: int, allowed: IntVector | None, *, widen: float = 1.0) -> LoneSearch:
        """Return what `nearby` does for a query by itself, as long as the parameters are these."""
        return self._plan(depth, allowed, widen).alone

    def _proposed(
        self, scores: FloatMatrix, rows: IntVector, good: BoolVector, keep: int | None
    ) -> Proposed:
        count, width = rows.shape
        whole = bool(good.all())
        found = [width] * count if whole else np.count_nonzero(good, axis=1).tolist()
        if not self.faithful or keep is None or width <= keep:
            kept = list(rows) if whole else [row[one] for row, one in zip(rows, good, strict=True)]
            return Proposed(rows=kept, found=found)
        if whole and bool((scores[:, :-1] >= scores[:, 1:]).all()):  # FAISS gives the best first
            near = np.count_nonzero(scores >= scores[:, keep - 1 : keep] - _MARGIN, axis=1)
            firsts = [row[:one] for row, one in zip(rows, near.tolist(), strict=True)]
            return Proposed(rows=firsts, found=found)
        scores[~good] = -np.inf
        kth = np.partition(scores, width - keep, axis=1)[:, width - keep]
        good &= scores >= kth[:, None] - _MARGIN
        return Proposed(rows=[row[one] for row, one in zip(rows, good, strict=True)], found=found)

    def _plan(self, depth: int, allowed: IntVector | None, widen: float) -> _Plan:
        """Return how to look for `depth` rows; the same until rows or parameters are others."""
        plans = self._plans
        if allowed is not None:
            if self._filtered_plans is None or self._filtered_plans[0] is not allowed:
                self._filtered_plans = (allowed, {})
            plans = self._filtered_plans[1]
        key = (depth, widen, self.parameters.get("value"), self.parameters.get("fetch"))
        plan = plans.get(key)
        if plan is None:
            count = min(round(self.fetch(depth) * widen), max(1, self.rows))
            selector = None if allowed is None else self._select(allowed)[1]
            breadth = round(self.breadth(depth) * widen)
            parameters = search_parameters(self._index, selector, breadth)
            alone = LoneSearch(self._index, count, parameters, graph=self.knob == "efSearch")
            plan = _Plan(count, parameters, alone)
            if count <= _KEPT_ROWS:
                if len(plans) >= _KEPT_PLANS:
                    plans.clear()
                plans[key] = plan
        return plan

    def _select(self, allowed: IntVector) -> tuple[BoolVector, Any]:
        """Return the allowed rows as a mask and for FAISS; kept, for filters are used again."""
        if self._selection is None or self._selection[0] is not allowed:
            mask = np.zeros(max(1, self.rows), dtype=np.bool_)
            mask[allowed[: np.searchsorted(allowed, self.rows)]] = True
            selector = None
            if self.selects:
                selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
            self._selection = (allowed, mask, selector)
        return self._selection[1:]

    def takes_selector(self) -> bool:
        """Whether this kind of index can leave rows out while it searches."""
        if self.rows == 0:
            return True
        query = np.zeros((1, self._index.d), dtype=np.float32)
        query[0, 0] = 1.0
        try:
            self.candidates(query, FIRST_ROWS, np.arange(self.rows))
        except FAISS_ERRORS:
            return False
        return True
