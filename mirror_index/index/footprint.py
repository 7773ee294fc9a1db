"""How much memory an approximate index will take, before it is built."""

from __future__ import annotations

from typing import Any

from mirror_index.index.building import make_index
from mirror_index.index.kinds import core_of, faiss

_ID_BYTES = 8
_LINK_BYTES = 4
_HNSW_ROW = 8 + 4 + 8  # offset of the links, level, and a share of the upper levels


def index_bytes(kind: str, rows: int, dim: int) -> int:
    """Return the bytes an index of a FAISS factory string holds in memory over `rows` rows.

    Codes, ids, links, centroids and codebooks are counted from the empty index; what FAISS
    allocates beyond them is a few percent.

    Raises:
        UsageError: FAISS does not know `kind`.
    """
    index = make_index(kind, dim)
    return _fixed_bytes(index) + rows * _row_bytes(index)


def _row_bytes(index: Any) -> int:  # noqa: ANN401 - a FAISS index
    top = faiss.downcast_index(index)
    if isinstance(top, faiss.IndexPreTransform):
        return _row_bytes(top.index)
    if isinstance(top, faiss.IndexRefine):
        return _row_bytes(top.base_index) + _row_bytes(top.refine_index)
    if isinstance(top, faiss.IndexIVF):
        return int(top.code_size) + _ID_BYTES
    if isinstance(top, faiss.IndexHNSW):
        links = int(top.hnsw.nb_neighbors(0)) * _LINK_BYTES
        return int(faiss.downcast_index(top.storage).sa_code_size()) + links + _HNSW_ROW
    return int(top.sa_code_size())


def _fixed_bytes(index: Any) -> int:  # noqa: ANN401 - a FAISS index
    core = core_of(index)
    centroids = int(core.nlist) * int(core.d) * 4 if isinstance(core, faiss.IndexIVF) else 0
    quantiser = getattr(core, "pq", None)
    codebook = 0 if quantiser is None else int(quantiser.ksub) * int(core.d) * 4
    return centroids + codebook
