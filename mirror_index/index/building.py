"""Building an approximate index: from a factory string and rows to a filled FAISS index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mirror_index.errors import UsageError
from mirror_index.index.ann import AnnIndex
from mirror_index.index.kinds import FAISS_ERRORS, core_of, faiss, reason_of
from mirror_index.vectors import FloatMatrix, UnitRows

EF_CONSTRUCTION = 100
"""Breadth with which a graph (HNSW) looks for the neighbours of a new row. FAISS's own 40 leaves a
graph of real embeddings that is searched at twice the breadth for 0.95 and hardly reaches 0.99; see
docs/adr/009."""
_ADD_ROWS = 65_536
_TRAIN_ROWS = 1_000_000
_TRAIN_ROWS_A_LIST = 100


def check_factory(kind: str, dim: int) -> None:
    """Refuse a factory string that FAISS does not know or that cannot rank by inner product.

    Raises:
        UsageError: names the string and FAISS's reason.
    """
    make_index(kind, dim)


def build_ann(
    vectors: UnitRows, kind: str, advance: Callable[[int], None] = lambda n: None
) -> AnnIndex:
    """Train and fill an index over (n, dim) float32 unit rows, a block at a time.

    Raises:
        UsageError: FAISS does not know `kind`, or it needs more rows to train on than there are.
    """
    index = make_index(kind, vectors.shape[1])
    core = core_of(index)
    if isinstance(core, faiss.IndexHNSW):
        core.hnsw.efConstruction = EF_CONSTRUCTION
    try:
        if not index.is_trained:
            _use_gpus(index)
            index.train(_training_rows(vectors, core))
        for start in range(0, len(vectors), _ADD_ROWS):
            block = np.ascontiguousarray(vectors[start : start + _ADD_ROWS])
            index.add(block)
            advance(len(block))
    except FAISS_ERRORS as error:
        raise UsageError(
            f"this kind of index cannot be built from {len(vectors)} distinct texts: "
            f"{reason_of(error)}",
            value=kind,
            remedy="Use auto or exact, fewer lists, or a kind that needs no training (HNSW32)",
        ) from error
    built = AnnIndex(index, {})
    built.parameters["selector"] = built.takes_selector()
    return built


def _use_gpus(index: Any) -> None:  # noqa: ANN401
    """Let k-means of an inverted file run on the GPUs there are; the index stays on the CPU."""
    core = core_of(index)
    if faiss.get_num_gpus() and isinstance(core, faiss.IndexIVF):
        core.clustering_index = faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(core.d))


def _training_rows(vectors: UnitRows, core: Any) -> FloatMatrix:  # noqa: ANN401
    """Return the rows to train on: a hundred for each inverted list, or a million."""
    wanted = _TRAIN_ROWS
    if isinstance(core, faiss.IndexIVF):
        wanted = min(wanted, max(65_536, _TRAIN_ROWS_A_LIST * int(core.nlist)))
    if len(vectors) <= wanted:
        return np.ascontiguousarray(vectors[:])
    rows = np.random.default_rng(0).choice(len(vectors), wanted, replace=False)
    return np.ascontiguousarray(vectors[np.sort(rows)])


def make_index(kind: str, dim: int) -> Any:  # noqa: ANN401
    """Return the empty FAISS index of a factory string.

    Raises:
        UsageError: FAISS does not know it, or it cannot rank by inner product over plain rows.
    """
    try:
        index = faiss.index_factory(dim, kind, faiss.METRIC_INNER_PRODUCT)
    except FAISS_ERRORS as error:
        raise UsageError(
            f"FAISS cannot make this kind of index for {dim} dimensions: {reason_of(error)}",
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
