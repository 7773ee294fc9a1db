"""An approximate index: FAISS over the first rows of the vector file.

It only ever proposes candidates; scores and order come from the vector file (`index/exact.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import faiss as _typed_faiss
import numpy as np

from mirror_index.errors import CollectionCorruptError, UsageError
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

# The stubs lack what its Python layer adds: keyword arguments, arrays for pointers.
faiss: Any = _typed_faiss

FETCH_FLOOR = 128
_ADD_ROWS = 65_536
_TRAIN_ROWS = 1_000_000
_LOCATION = re.compile(r"^Error in .*? at \S+:\d+: ")
_FAISS_ERRORS = (RuntimeError, AssertionError, NotImplementedError)


class AnnIndex:
    """A FAISS index with the breadth its searches use.

    Args:
        index: the FAISS index.
        parameters: what calibration chose; `value` is the breadth (HNSW efSearch, IVF nprobe).
    """

    def __init__(self, index: Any, parameters: Mapping[str, Any]) -> None:  # noqa: ANN401
        self._index = index
        self.parameters = dict(parameters)

    @classmethod
    def load(cls, path: Path, parameters: Mapping[str, Any]) -> AnnIndex:
        """Read an index file.

        Raises:
            CollectionCorruptError: FAISS cannot read it.
        """
        try:
            index = faiss.read_index(str(path))
        except _FAISS_ERRORS as error:
            raise CollectionCorruptError(
                f"the approximate index cannot be read: {_reason(error)}",
                where=str(path),
                remedy="Run `mirror-index compact`, which makes it again, or search with exact",
            ) from error
        return cls(index, parameters)

    def save(self, path: Path) -> None:
        """Write the index file."""
        faiss.write_index(self._index, str(path))

    @property
    def rows(self) -> int:
        """Number of vectors in the index: rows 0 to `rows` - 1 of the vector file."""
        return int(self._index.ntotal)

    @property
    def fetch(self) -> int:
        """Candidates asked for at least, so that small searches agree with each other."""
        return int(self.parameters.get("fetch", FETCH_FLOOR))

    @property
    def knob(self) -> str | None:
        """Name of the parameter that sets the breadth of a search, None when there is none."""
        core = _core(self._index)
        if isinstance(core, faiss.IndexIVF):
            return "nprobe"
        return "efSearch" if isinstance(core, faiss.IndexHNSW) else None

    @property
    def ladder(self) -> tuple[int, ...]:
        """Breadths worth trying, rising; a single 0 when nothing can be set."""
        core = _core(self._index)
        if isinstance(core, faiss.IndexIVF):
            steps = [1 << power for power in range(int(core.nlist).bit_length())]
            return tuple(dict.fromkeys([*(s for s in steps if s < core.nlist), int(core.nlist)]))
        if isinstance(core, faiss.IndexHNSW):
            # HNSW keeps as many candidates as are fetched, so less than that changes nothing.
            return tuple(FETCH_FLOOR << power for power in range(6))
        return (0,)

    def candidates(
        self,
        queries: FloatMatrix,
        fetch: int,
        allowed: BoolVector | None,
        *,
        breadth: int | None = None,
        widen: int = 1,
    ) -> list[IntVector]:
        """Return per query up to `fetch` row numbers that are allowed, in no particular order.

        Args:
            queries: (q, dim) float32 unit rows.
            fetch: candidates wanted.
            allowed: (rows,) True where a row may be found; None for all.
            breadth: overrides the calibrated breadth.
            widen: multiplies it.
        """
        value = (breadth or int(self.parameters.get("value", 0)) or self.ladder[0]) * widen
        selector = None
        if allowed is not None and self.parameters.get("selector", True):
            selector = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        _, found = self._index.search(
            np.ascontiguousarray(queries),
            min(fetch, max(1, self.rows)),
            params=_search_parameters(self._index, selector, value),
        )
        kept = (row[row >= 0].astype(np.int64) for row in found)
        return [row if allowed is None else row[allowed[row]] for row in kept]

    def takes_selector(self) -> bool:
        """Whether this kind of index can leave rows out while it searches."""
        if self.rows == 0:
            return True
        query = np.zeros((1, self._index.d), dtype=np.float32)
        query[0, 0] = 1.0
        try:
            self.candidates(query, 1, np.ones(self.rows, dtype=np.bool_))
        except _FAISS_ERRORS:
            return False
        return True


def check_factory(kind: str, dim: int) -> None:
    """Refuse a factory string that FAISS does not know or that cannot rank by inner product.

    Raises:
        UsageError: names the string and FAISS's reason.
    """
    _make(kind, dim)


def build_ann(
    vectors: FloatMatrix, kind: str, advance: Callable[[int], None] = lambda n: None
) -> AnnIndex:
    """Train and fill an index over (n, dim) float32 unit rows, a block at a time.

    Raises:
        UsageError: FAISS does not know `kind`, or it needs more rows to train on than there are.
    """
    index = _make(kind, vectors.shape[1])
    try:
        if not index.is_trained:
            _use_gpus(index)
            index.train(_training_rows(vectors))
        for start in range(0, len(vectors), _ADD_ROWS):
            block = np.ascontiguousarray(vectors[start : start + _ADD_ROWS])
            index.add(block)
            advance(len(block))
    except _FAISS_ERRORS as error:
        raise UsageError(
            f"this kind of index cannot be built from {len(vectors)} distinct texts: "
            f"{_reason(error)}",
            value=kind,
            remedy="Use auto or exact, fewer lists, or a kind that needs no training (HNSW32)",
        ) from error
    built = AnnIndex(index, {})
    built.parameters["selector"] = built.takes_selector()
    return built


def _use_gpus(index: Any) -> None:  # noqa: ANN401
    """Let k-means of an inverted file run on the GPUs there are; the index stays on the CPU."""
    core = _core(index)
    if faiss.get_num_gpus() and isinstance(core, faiss.IndexIVF):
        core.clustering_index = faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(core.d))


def _training_rows(vectors: FloatMatrix) -> FloatMatrix:
    if len(vectors) <= _TRAIN_ROWS:
        return np.ascontiguousarray(vectors)
    rows = np.random.default_rng(0).choice(len(vectors), _TRAIN_ROWS, replace=False)
    return np.ascontiguousarray(vectors[np.sort(rows)])


def _make(kind: str, dim: int) -> Any:  # noqa: ANN401
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except _FAISS_ERRORS as error:
        raise UsageError(
            f"FAISS cannot make this kind of index for {dim} dimensions: {_reason(error)}",
            value=kind,
            remedy="Use auto, exact, or a factory string such as HNSW32 or IVF1024,Flat",
        ) from error
    if index.metric_type != faiss.METRIC_INNER_PRODUCT or isinstance(index, faiss.IndexIDMap):
        raise UsageError(
            "this kind of index cannot rank by inner product over plain rows",
            value=kind,
            remedy="Use auto, exact, or a factory string such as HNSW32 or IVF1024,Flat",
        )
    return index


def _core(index: Any) -> Any:  # noqa: ANN401
    """Return the index below transforms and refinement."""
    core = faiss.downcast_index(index)
    if isinstance(core, faiss.IndexPreTransform):
        return _core(core.index)
    if isinstance(core, faiss.IndexRefine):
        return _core(core.base_index)
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


def _reason(error: BaseException) -> str:
    """Return the last line of a FAISS message without its source location."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return _LOCATION.sub("", last).strip().rstrip(".")
