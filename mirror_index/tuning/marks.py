"""Texts alone and between marks: what can be asked of them besides misspellings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mirror_index.tuning.resampling import FloatArray
from mirror_index.vectors import FloatMatrix

MARKS = ('"{}"', "({})", "- {}.", "{}?")
"""What a text is put between; it means the same in all of them, and training shows none of them."""

NEIGHBOURS = 10
COMPARED = 400
FEWEST = 10 * NEIGHBOURS
"""Among fewer strings the nearest ones say little."""


def between(texts: Sequence[str]) -> list[list[str]]:
    """Return the texts between each kind of marks."""
    return [[marks.format(text) for text in texts] for marks in MARKS]


def neighbours_kept(plain: FloatMatrix, marked: Sequence[FloatMatrix], rows: int) -> FloatArray:
    """Return, for each of the first `rows` texts, the share of its neighbours that marks leave it.

    A text's neighbours are the ten whose cosine is highest, among the texts alone and, for each
    kind of marks, among the texts between these; the share is a mean over the kinds. It compares
    which texts are alike, not where they lie, as representational similarity analysis does
    (Kriegeskorte, Mur & Bandettini 2008, doi 10.3389/neuro.06.004.2008). Ties count against the
    encoder: where the tenth is as near as the eleventh, neither is a neighbour.

    Args:
        plain: (texts, dim) unit rows of the texts alone.
        marked: for each kind of marks, (texts, dim) unit rows of the same texts.
        rows: how many to answer for.
    """
    alone = _nearest(plain, rows)
    shares = [(alone & _nearest(vectors, rows)).sum(axis=1) / NEIGHBOURS for vectors in marked]
    return np.asarray(np.mean(shares, axis=0), dtype=np.float64)


def _nearest(vectors: FloatMatrix, rows: int) -> NDArray[np.bool_]:
    """Return the (rows, texts) table of who is whose neighbour."""
    cosines = vectors[:rows] @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    eleventh = -np.partition(-cosines, NEIGHBOURS, axis=1)[:, NEIGHBOURS, None]
    return np.asarray(cosines > eleventh)
