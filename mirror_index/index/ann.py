"""An approximate index: FAISS over the first rows of the vector file.

It only ever proposes candidates; scores and order come from the vector file (`index/exact.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss as _typed_faiss
import numpy as np

from mirror_index.errors import CollectionCorruptError
from mirror_index.index.exact import MARGIN
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

# The stubs lack what its Python layer adds: keyword arguments, arrays for pointers.
faiss: Any = _typed_faiss

PREFIX_ROWS = 64
"""Searches for up to this many rows see the same candidates, so the shorter answer is the beginning
of the longer one."""
_SPARE_ROWS = 16
_COARSE_FACTOR = 2
_REMEDY = "Run `mirror-index repair`, which makes it again, or search with exact"
_LOCATION = re.compile(r"^Error in .*? at \S+:\d+: ")
FAISS_ERRORS = (RuntimeError, AssertionError, NotImplementedError, MemoryError)


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


class AnnIndex:
    """A FAISS index with the breadth its searches use.

    Args:
        index: the FAISS index.
        parameters: what calibration chose; `value` is the breadth (HNSW efSearch, IVF nprobe).
    """

    def __init__(self, index: Any, parameters: Mapping[str, Any]) -> None:  # noqa: ANN401
        self._index = index
        self.parameters = dict(parameters)
        self._selection: tuple[IntVector, BoolVector, Any] | None = None
        self._plain_search: dict[int, Any] = {}

    @classmethod
    def load(cls, path: Path, parameters: Mapping[str, Any]) -> AnnIndex:
        """Read an index file.

        Raises:
            CollectionCorruptError: FAISS cannot read it.
        """
        try:
            index = faiss.read_index(str(path))
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
        faiss.write_index(self._index, str(path))

    @property
    def rows(self) -> int:
        """Number of vectors in the index: rows 0 to `rows` - 1 of the vector file."""
        return int(self._index.ntotal)

    @cached_property
    def faithful(self) -> bool:
        """Whether the scores of the index are the cosines of whole vectors, not of codes."""
        top = faiss.downcast_index(self._index)
        return isinstance(top, faiss.IndexHNSWFlat | faiss.IndexIVFFlat | faiss.IndexFlat)

    def fetch(self, k: int) -> int:
        """Return how many candidates to ask for when `k` rows are wanted.

        It is the same for every k up to `PREFIX_ROWS`. Where vectors are stored as codes their
        order is not to be trusted, and twice as many are asked for, or what calibration found.
        """
        least = int(self.parameters.get("fetch", 0))
        wanted = max(k, PREFIX_ROWS)
        return max(least, wanted + _SPARE_ROWS if self.faithful else _COARSE_FACTOR * wanted)

    @property
    def knob(self) -> str | None:
        """Name of the parameter that sets the breadth of a search, None when there is none."""
        core = core_of(self._index)
        if isinstance(core, faiss.IndexIVF):
            return "nprobe"
        return "efSearch" if isinstance(core, faiss.IndexHNSW) else None

    @property
    def ladder(self) -> tuple[int, ...]:
        """Breadths worth trying, rising; a single 0 when nothing can be set."""
        core = core_of(self._index)
        if isinstance(core, faiss.IndexIVF):
            powers = range(int(core.nlist).bit_length())
            steps = sorted({step for power in powers for step in (1 << power, 3 << power >> 1)})
            return (*(step for step in steps if step < core.nlist), int(core.nlist))
        if isinstance(core, faiss.IndexHNSW):
            # HNSW keeps as many candidates as are fetched, so less than that changes nothing.
            least = self.fetch(1)
            return tuple(round(least * 2 ** (half / 2)) for half in range(12))
        return (0,)

    def candidates(
        self,
        queries: FloatMatrix,
        k: int,
        allowed: IntVector | None,
        *,
        widen: int = 1,
    ) -> Proposed:
        """Return per query the allowed rows that may be among the `k` best.

        Args:
            queries: (q, dim) float32 unit rows.
            k: rows wanted.
            allowed: ascending row numbers that may be found; None for all.
            widen: multiplies the breadth and the number of candidates.
        """
        value = (int(self.parameters.get("value", 0)) or self.ladder[0]) * widen
        mask, selector = (None, None) if allowed is None else self._select(allowed)
        with _threads_for(len(queries)):
            scores, rows = self._index.search(
                np.ascontiguousarray(queries),
                min(self.fetch(k) * widen, max(1, self.rows)),
                params=self._search_parameters(selector, value),
            )
        good = (rows >= 0) & (rows < self.rows)  # a damaged file may name any row
        if mask is not None:
            good &= mask[np.where(good, rows, 0)]
        found = np.count_nonzero(good, axis=1).tolist()
        if self.faithful and rows.shape[1] > k:
            scores[~good] = -np.inf
            kth = np.partition(scores, rows.shape[1] - k, axis=1)[:, rows.shape[1] - k]
            good &= scores >= kth[:, None] - np.float32(MARGIN)
        return Proposed(rows=[row[kept] for row, kept in zip(rows, good, strict=True)], found=found)

    def _search_parameters(self, selector: Any, value: int) -> Any:  # noqa: ANN401
        if selector is not None:
            return _search_parameters(self._index, selector, value)
        if value not in self._plain_search:
            self._plain_search[value] = _search_parameters(self._index, None, value)
        return self._plain_search[value]

    def _select(self, allowed: IntVector) -> tuple[BoolVector, Any]:
        """Return the allowed rows as a mask and for FAISS; kept, for filters are used again."""
        if self._selection is None or self._selection[0] is not allowed:
            mask = np.zeros(max(1, self.rows), dtype=np.bool_)
            mask[allowed[: np.searchsorted(allowed, self.rows)]] = True
            selector = None
            if self.parameters.get("selector", True):
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
            self.candidates(query, 1, np.arange(self.rows))
        except FAISS_ERRORS:
            return False
        return True


@contextmanager
def _threads_for(queries: int) -> Iterator[None]:
    """Search for one query on one thread: waiting for a second costs more than it does."""
    if queries > 1:
        yield
        return
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


def core_of(index: Any) -> Any:  # noqa: ANN401
    """Return the index below transforms and refinement."""
    core = faiss.downcast_index(index)
    if isinstance(core, faiss.IndexPreTransform):
        return core_of(core.index)
    if isinstance(core, faiss.IndexRefine):
        return core_of(core.base_index)
    return core


def _search_parameters(index: Any, selector: Any, value: int) -> Any:  # noqa: ANN401
    core = faiss.downcast_index(index)
    chosen = {} if selector is None else {"sel": selector}
    if isinstance(core, faiss.IndexPreTransform):
        inner = _search_parameters(core.index, selector, value)
        return faiss.SearchParametersPreTransform(index_params=inner)
    if isinstance(core, faiss.IndexRefine):
        inner = _search_parameters(core.base_index, selector, value)
        return faiss.IndexRefineSearchParameters(k_factor=1.0, base_index_params=inner)
    if isinstance(core, faiss.IndexIVF):
        return faiss.SearchParametersIVF(nprobe=min(value, int(core.nlist)), **chosen)
    if isinstance(core, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(efSearch=value, **chosen)
    return faiss.SearchParameters(**chosen) if chosen else None


def reason_of(error: BaseException) -> str:
    """Return the last line of a FAISS message without its source location."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return _LOCATION.sub("", last).strip().rstrip(".")
