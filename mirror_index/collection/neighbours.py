"""For each text the nearest text of another owner: a bounded self-join over the vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirror_index.collection.view import View
from mirror_index.index.exact import MARGIN, rescore
from mirror_index.progress import Advance
from mirror_index.store.owners import SEVERAL, Owners
from mirror_index.vectors import FloatMatrix, IntVector

BLOCK = 1024
FETCHES = (8, 64, 512)
"""Neighbours an approximate index is asked for, more where all of them share an owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest text of another owner for each row.

    Attributes:
        rows: (n,) its row, -1 where none is within the threshold.
        scores: (n,) float32 cosines, good to 1e-5.
        path: "exact" or "approximate".
    """

    rows: IntVector
    scores: NDArray[np.float32]
    path: str


class NearestOthers:
    """The search over one committed state.

    Memory: 12 bytes a row, and one block of `BLOCK` x `BLOCK` scores.

    Args:
        view: the state.
        owners: whose the texts are.
        threshold: least cosine that counts.
        advance: told of finished rows.
    """

    def __init__(self, view: View, owners: Owners, threshold: float, advance: Advance) -> None:
        self._view = view
        self._owners = owners
        self._threshold = threshold
        self._advance = advance
        count = len(view.vectors)
        self._rows: IntVector = np.full(count, -1, dtype=np.int64)
        self._scores = np.full(count, -np.inf, dtype=np.float32)

    def run(self, *, exact: bool) -> Nearest:
        """Compare all pairs, or ask the approximate index where there is one."""
        approximate = not exact and self._view.ann is not None
        if approximate:
            self._ask_index()
        else:
            self._compare_all()
        path = "approximate" if approximate else "exact"
        return Nearest(rows=self._rows, scores=self._scores, path=path)

    def _compare_all(self) -> None:
        live = np.flatnonzero(self._view.live)
        for start in range(0, len(live), BLOCK):
            rows = live[start : start + BLOCK]
            block = self._view.vectors[rows]
            for other in range(start, len(live), BLOCK):
                columns = live[other : other + BLOCK]
                scores = block @ self._view.vectors[columns].T
                self._take(rows, columns, scores, diagonal=other == start)
            self._advance(len(rows))

    def _take(
        self, rows: IntVector, columns: IntVector, scores: FloatMatrix, *, diagonal: bool
    ) -> None:
        """Note the best partner of each row and column of a block."""
        near = scores >= self._threshold - MARGIN
        if diagonal:
            near = np.triu(near, 1)
        left, right = np.nonzero(near)
        values = scores[left, right]
        one, other = rows[left], columns[right]
        keep = self._apart(one, other)
        self._note(one[keep], other[keep], values[keep])
        self._note(other[keep], one[keep], values[keep])

    def _apart(self, one: IntVector, other: IntVector) -> NDArray[np.bool_]:
        """Return for each pair of rows whether they have no owner in common."""
        single = self._owners.single
        apart: NDArray[np.bool_] = single[one] != single[other]
        unclear = np.flatnonzero((single[one] == SEVERAL) | (single[other] == SEVERAL))
        for place in unclear.tolist():
            apart[place] = not self._owners.share(int(one[place]), int(other[place]))
        return apart

    def _note(self, rows: IntVector, partners: IntVector, values: FloatMatrix) -> None:
        # The best one of each row comes last and stays; the lowest partner where they tie.
        order = np.lexsort((-partners, values, rows))
        rows, partners, values = rows[order], partners[order], values[order]
        last = np.concatenate((rows[1:] != rows[:-1], [True])) if len(rows) else np.empty(0, bool)
        rows, partners, values = rows[last], partners[last], values[last]
        better = values > self._scores[rows]
        self._rows[rows[better]] = partners[better]
        self._scores[rows[better]] = values[better]

    def _ask_index(self) -> None:
        waiting = np.flatnonzero(self._view.live)
        for fetch in FETCHES:
            unsure = [
                self._ask(waiting[start : start + BLOCK], fetch, last=fetch == FETCHES[-1])
                for start in range(0, len(waiting), BLOCK)
            ]
            waiting = np.concatenate([np.empty(0, np.int64), *unsure])

    def _ask(self, rows: IntVector, fetch: int, *, last: bool) -> IntVector:
        """Ask for the neighbours of rows; return those whose neighbours all share an owner."""
        from mirror_index.index.approximate import approximate_search  # loads faiss

        view = self._view
        assert view.ann is not None  # `run` has looked
        results = approximate_search(
            view.vectors[rows], view.vectors, view.ann, fetch, view.live_rows, prefix=False
        )
        unsure = []
        for row, result in zip(rows.tolist(), results, strict=True):
            found, scores = result.ranked.rows, result.ranked.scores
            near = np.flatnonzero(scores >= self._threshold)
            apart = self._apart(np.full(len(near), row), found[near])
            if apart.any():
                best = near[np.flatnonzero(apart)[0]]
                self._rows[row], self._scores[row] = found[best], scores[best]
            elif len(near) == len(found) and len(found) >= fetch and not last:
                unsure.append(row)
        self._advance(len(rows) - len(unsure))
        return np.asarray(unsure, dtype=np.int64)


def cosine(view: View, one: int, other: int) -> float:
    """Return the exact cosine of two stored vectors."""
    return float(rescore(view.vectors[one], view.vectors[other : other + 1])[0])
