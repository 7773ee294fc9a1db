"""What kinds of FAISS index have in common: the part that searches, its parameters, its errors."""

from __future__ import annotations

import os
import re
from typing import Any

import faiss as _typed_faiss

# The stubs lack what its Python layer adds: keyword arguments, arrays for pointers.
faiss: Any = _typed_faiss

if hasattr(os, "register_at_fork"):  # not on Windows
    # OpenMP's threads stay behind in the parent; a search that waited for them would never end.
    os.register_at_fork(after_in_child=lambda: faiss.omp_set_num_threads(1))

FAISS_ERRORS = (RuntimeError, AssertionError, NotImplementedError, MemoryError)
_LOCATION = re.compile(r"^Error in .*? at \S+:\d+: ")


def core_of(index: Any) -> Any:  # noqa: ANN401
    """Return the index below transforms and refinement."""
    core = faiss.downcast_index(index)
    if isinstance(core, faiss.IndexPreTransform):
        return core_of(core.index)
    if isinstance(core, faiss.IndexRefine):
        return core_of(core.base_index)
    return core


def search_parameters(index: Any, selector: Any, value: int) -> Any:  # noqa: ANN401
    """Return the parameters of one search, passed down to the part of an index they are for.

    Args:
        index: a FAISS index.
        selector: the rows that may be found, None for all.
        value: the breadth: nprobe of inverted lists, efSearch of a graph.
    """
    core = faiss.downcast_index(index)
    chosen = {} if selector is None else {"sel": selector}
    if isinstance(core, faiss.IndexPreTransform):
        inner = search_parameters(core.index, selector, value)
        return faiss.SearchParametersPreTransform(index_params=inner)
    if isinstance(core, faiss.IndexRefine):
        inner = search_parameters(core.base_index, selector, value)
        return faiss.IndexRefineSearchParameters(k_factor=1.0, base_index_params=inner)
    if isinstance(core, faiss.IndexIVF):
        return faiss.SearchParametersIVF(nprobe=min(value, int(core.nlist)), **chosen)
    if isinstance(core, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(efSearch=min(value, int(core.ntotal)), **chosen)
    return faiss.SearchParameters(**chosen) if chosen else None


def reason_of(error: BaseException) -> str:
    """Return the last line of a FAISS message without its source location."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    return _LOCATION.sub("", last).strip().rstrip(".")
