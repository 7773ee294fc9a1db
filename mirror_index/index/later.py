"""A query by itself where texts came after the index was built: it, and the rows that it lacks."""

from __future__ import annotations

import numpy as np

from mirror_index.index.exact import margin_of
from mirror_index.index.few import SCORE_UNITS, rank_few
from mirror_index.index.halves import later_rows, near_rows
from mirror_index.index.lone import LoneSearch, Nearby
from mirror_index.vectors import FloatMatrix, FloatVector, IntVector, UnitRows


class LaterRows:
    """The rows from one on, compared with one query after the other.

    Not for two threads at once.

    Args:
        vectors: (n, dim) unit rows.
        start: the first row that counts.
        allowed: ascending row numbers that may be found; None for all.
    """

    def __init__(self, vectors: UnitRows, start: int, allowed: IntVector | None) -> None:
        self.vectors = vectors
        self._start = start
        self._later = later_rows(vectors, start)
        self._scores = np.empty(len(self._later), dtype=np.float32)
        self._margin = float(margin_of(vectors))
        self._hidden: IntVector | None = None
        if allowed is not None:
            others = np.ones(len(self._later), dtype=np.bool_)
            others[allowed[np.searchsorted(allowed, start) :] - start] = False
            self._hidden = np.flatnonzero(others)

    def rivals(self, query: FloatVector, k: int, least: float) -> IntVector:
        """Return the rows that may score `least` or more and be among the `k` best of all these.

        Args:
            query: (dim,) float32 unit row.
            k: rows wanted.
            least: a float32 cosine.
        """
        scores = np.dot(near_rows(self._later, slice(None)), query, out=self._scores)
        if self._hidden is not None:
            scores[self._hidden] = -np.inf
        near = np.flatnonzero(scores >= least - self._margin)  # a damaged row (NaN) is not
        if len(near) > k:
            few = scores[near]
            near = near[few >= np.partition(few, len(few) - k)[len(few) - k] - self._margin]
        near += self._start
        return near


class JoinedSearch:
    """Searches for one query after the other in an index and in the rows after its last.

    Not for two threads at once.

    Attributes:
        ask: searches for a row of any length; see `LoneSearch.ask`.

    Args:
        search: of the index.
        later: the rows that the index lacks.
    """

    def __init__(self, search: LoneSearch, later: LaterRows) -> None:
        self._search = search
        self._later = later
        self.ask = search.ask

    @property
    def query(self) -> FloatVector:
        """(dim,) the float32 unit row that was asked for last."""
        return self._search.query

    @property
    def found(self) -> Nearby:
        """(1, count) copies of what the index answered last."""
        return self._search.found

    def __call__(self, query: FloatMatrix) -> Nearby:
        """Search for a (1, dim) unit row; return `found`."""
        return self._search(query)

    def best(self, k: int) -> Nearby | None:
        """Return the best of both; see `LoneSearch.best`. Later rows have exact cosines."""
        best = self._search.best(k)
        if best is None:
            return None
        later = self._later.rivals(self.query, k, best.scores.item(k - 1))
        if not len(later):
            return best
        ranked = rank_few(self.query, self._later.vectors, later)
        if ranked is None:
            return None
        exact = np.array([-order for order, _ in ranked]) / SCORE_UNITS
        scores = np.concatenate([best.scores[0], exact], dtype=np.float32)
        rows = np.concatenate([best.rows[0], np.array([row for _, row in ranked])])
        order = np.argsort(-scores, kind="stable")[None, :k]  # equal scores by row: later ones last
        return Nearby(scores[order], rows[order])

    def near(self, k: int, margin: float) -> IntVector | None:
        """Return the rows that may be the best of both; see `LoneSearch.near`."""
        near = self._search.near(k, margin)
        if near is None:
            return None
        later = self._later.rivals(self.query, k, self._search.score(k))
        return np.concatenate([near, later]) if len(later) else near


OneByOne = LoneSearch | JoinedSearch
"""What answers a query by itself."""
