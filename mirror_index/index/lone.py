"""A search of an index for one query: what no query changes is made once, lists stand for arrays.

Between two searches the processor's caches hold the index, and a call of numpy costs two
or three times what it costs by itself. FAISS's own Python layer, which makes arrays, pointers and
checks anew each time, costs a twentieth of a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import ge, gt, neg
from typing import Any, NamedTuple

import numpy as np

from mirror_index.index.kinds import faiss
from mirror_index.vectors import FloatMatrix, FloatVector, IntVector

_ONE = np.float32(1.0)


class Nearby(NamedTuple):
    """What FAISS answers: (q, n) scores and rows, the best first, -1 where there are no more."""

    scores: FloatMatrix
    rows: IntVector


class LoneSearch:
    """Searches for one query after the other, all for as many rows and with the same parameters.

    Not for two threads at once.

    Args:
        index: a FAISS index.
        count: rows to ask for.
        parameters: those of FAISS for the search.
        graph: whether the index searches with one thread a query. Others are told to: for one
            query, waiting for a second thread costs more than it does.
    """

    def __init__(self, index: Any, count: int, parameters: Any, *, graph: bool) -> None:  # noqa: ANN401
        self._total = int(index.ntotal)
        self._query = np.empty((1, int(index.d)), dtype=np.float32)
        self._wide = np.empty(self._query.shape)
        self._scores = np.empty((1, count), dtype=np.float32)
        self._rows = np.empty((1, count), dtype=np.int64)
        query, scores, rows = map(faiss.swig_ptr, (self._query, self._scores, self._rows))
        self._arguments = (1, query, count, scores, rows, parameters)
        own = index.search_c  # FAISS's own, below its Python layer
        self._search = own if graph else partial(_on_one_thread, own)

    @property
    def query(self) -> FloatVector:
        """(dim,) the float32 unit row that was asked for last."""
        row: FloatVector = self._query[0]
        return row

    @property
    def found(self) -> Nearby:
        """(1, count) copies of what FAISS answered last."""
        return Nearby(self._scores.copy(), self._rows.copy())

    def __call__(self, query: FloatMatrix) -> Nearby:
        """Search for a (1, dim) unit row; return `found`."""
        self._query[...] = query
        self._search(*self._arguments)
        return self.found

    def ask(self, query: object) -> bool:
        """Search for a row of any length.

        False is for what is no (1, dim) float32 array or has no length, and nothing is done.
        """
        wide = self._wide
        shaped = type(query) is np.ndarray and query.shape == wide.shape
        if not shaped or query.dtype.char != "f":  # type: ignore[attr-defined]
            return False
        wide[...] = query  # type: ignore[call-overload]
        flat = wide[0]
        length = math.sqrt(flat.dot(flat))
        if not 0.0 < length < math.inf:
            return False
        np.divide(wide, length, out=self._query)
        self._search(*self._arguments)
        return True

    def best(self, k: int) -> Nearby | None:
        """Return (1, k) scores and rows of what was found last, where they need no second look.

        That is where no row is missing, and none past these may tie with the k-th.
        """
        best, rows = self._scores[0].tolist(), self._rows[0].tolist()
        if len(best) <= k or not self._there(rows):
            return None
        if all(map(gt, best[:k], best[1:])):
            first, order = self._scores[:, :k].copy(), self._rows[:, :k].copy()
        elif _ordered(best) and best[k - 1] > best[-1]:  # equal scores by row
            pairs = sorted(zip(map(neg, best), rows, strict=True))[:k]
            first = np.array([[-score for score, _ in pairs]], dtype=np.float32)
            order = np.array([[row for _, row in pairs]], dtype=np.int64)
        else:
            return None
        if best[0] > 1.0:
            np.minimum(first, _ONE, out=first)
        return Nearby(first, order)

    def near(self, k: int, margin: float) -> IntVector | None:
        """Return the rows that score no more than `margin` below the k-th of those found last.

        None is for where rows are missing or out of order, or none comes after the k-th.
        """
        best = self._scores[0].tolist()
        if len(best) <= k or not _ordered(best) or not self._there(self._rows[0].tolist()):
            return None
        least = best[k - 1] - margin
        while k < len(best) and best[k] >= least:
            k += 1
        near: IntVector = self._rows[0, :k]
        return near

    def score(self, k: int) -> float:
        """Return the k-th score of what was found last."""
        return float(self._scores[0, k - 1])

    def _there(self, rows: list[int]) -> bool:
        """Say whether all rows are there; a damaged file may name any row."""
        return min(rows) >= 0 and max(rows) < self._total


def _ordered(scores: list[float]) -> bool:
    return all(map(ge, scores, scores[1:]))


def _on_one_thread(search: Callable[..., None], *arguments: object) -> None:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        search(*arguments)
    finally:
        faiss.omp_set_num_threads(threads)
