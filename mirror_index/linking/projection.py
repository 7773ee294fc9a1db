"""A smaller space in which the names of one concept lie close, learned from a dictionary.

Two names of a concept mostly differ in what does not matter for its identity. The map starts as the
within-class covariance normalisation of Hatch et al. (Interspeech 2006) with the leading directions
of what it leaves (linear discriminant analysis), and is then trained on pairs of names with the
contrastive loss of van den Oord et al. (2018), the other concepts of a batch being the negatives.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mirror_index.linking.lexicon import Floats, Lexicon
from mirror_index.linking.ragged import ranges
from mirror_index.vectors import BoolVector, FloatMatrix, IntVector

if TYPE_CHECKING:
    from mirror_index.collection import Collection

RANK = 128
FEWEST_CONCEPTS = 100
"""Concepts with two names or more that each half must have."""

WORTH = 0.02
"""Mean reciprocal rank that names of unseen concepts must gain for the map to be used."""

MOST_NAMES = 60_000
MOST_OF_ONE = 500
"""Names of a concept from which on it is left out: it would leave no room for others."""

_SHRINKAGE = 0.1
_STEPS = 100
_WARM = 20
_BATCH = 512
_RATE = 2e-3
_TEMPERATURE = 0.1
_JUDGED = 400
_LENGTHS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A linear map of unit vectors into a space of fewer dimensions.

    Attributes:
        matrix: (dim, rank) float32, exact in float16.
    """

    matrix: FloatMatrix

    def __eq__(self, other: object) -> bool:
        """Whether the other is the same map."""
        return isinstance(other, Projection) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.matrix.tobytes())

    def of(self, vectors: FloatMatrix) -> FloatMatrix:
        """Return (n, rank) float32 unit rows for (n, dim) ones."""
        mapped = vectors @ self.matrix
        lengths = np.sqrt(np.einsum("ij,ij->i", mapped, mapped))
        lengths[lengths == 0.0] = 1.0
        unit: FloatMatrix = np.ascontiguousarray(mapped / lengths[:, None], dtype=np.float32)
        return unit

    def to_json(self) -> dict[str, Any]:
        """Return the shape, and the matrix as base64 of little-endian float16 in C order."""
        packed = base64.b64encode(self.matrix.astype("<f2").tobytes()).decode()
        return {"shape": list(self.matrix.shape), "float16": packed}

    @classmethod
    def from_json(cls, values: dict[str, Any] | None) -> Projection | None:
        """Return the map that `to_json` described, None for None."""
        if values is None:
            return None
        flat = np.frombuffer(base64.b64decode(values["float16"]), dtype="<f2")
        return cls(flat.astype(np.float32).reshape(values["shape"]))


class Halves(NamedTuple):
    """Maps learned from one half of the concepts each, and what stands for both in the end.

    Attributes:
        first: from the concepts where the mask was False.
        second: from those where it was True.
        whole: the mean of the two.
    """

    first: Projection
    second: Projection
    whole: Projection


class _Lesson(NamedTuple):
    """Names of concepts that have several: (n, dim) vectors, those of a concept side by side."""

    vectors: FloatMatrix
    bounds: IntVector
    second: BoolVector

    def of(self, chosen: BoolVector) -> _Lesson:
        """Return some of the concepts."""
        starts, ends = self.bounds[:-1][chosen], self.bounds[1:][chosen]
        bounds = np.concatenate([[0], np.cumsum(ends - starts)])
        return _Lesson(self.vectors[ranges(starts, ends)], bounds, self.second[chosen])


def learn(
    collection: Collection, lexicon: Lexicon, second: BoolVector, rng: np.random.Generator
) -> Halves | None:
    """Learn a map from each half of the concepts, about a second for each.

    Args:
        collection: holds the vectors of the names; at most `MOST_NAMES` are read.
        lexicon: its names.
        second: (concepts,) True for the second half.
        rng: draws pairs of names.

    Returns:
        The maps; None where there is too little to learn from, or where names of the concepts that
        a map did not see are not found better in its space.
    """
    lesson = _lesson(collection, lexicon, second, rng)
    if min(lesson.second.sum(), (~lesson.second).sum()) < FEWEST_CONCEPTS:
        return None
    start = _start(lesson)
    parts = [lesson.of(~lesson.second), lesson.of(lesson.second)]
    trained = [_trained(part, start, rng) for part in parts]
    first, other = (Projection(_rounded(matrix)) for matrix in trained)
    gains = [_gain(first, lesson, lesson.second, rng), _gain(other, lesson, ~lesson.second, rng)]
    if np.mean(gains) < WORTH:
        return None
    return Halves(first, other, Projection(_rounded((trained[0] + trained[1]) / 2)))


def _lesson(
    collection: Collection, lexicon: Lexicon, second: BoolVector, rng: np.random.Generator
) -> _Lesson:
    counts = np.diff(lexicon.first)
    concepts = rng.permutation(np.flatnonzero((counts > 1) & (counts <= MOST_OF_ONE)))
    concepts = np.sort(concepts[np.cumsum(counts[concepts]) <= MOST_NAMES])
    starts = lexicon.first[concepts]
    names = ranges(starts, starts + counts[concepts])
    vectors = collection.vectors_of(lexicon.rows[names].tolist())
    return _Lesson(vectors, np.concatenate([[0], np.cumsum(counts[concepts])]), second[concepts])


def _rounded(matrix: Floats | FloatMatrix) -> FloatMatrix:
    return matrix.astype(np.float16).astype(np.float32)


def _start(lesson: _Lesson) -> FloatMatrix:
    """Return the discriminant directions, scaled so that names come out about one long."""
    vectors, counts = lesson.vectors, np.diff(lesson.bounds)
    means = np.add.reduceat(vectors, lesson.bounds[:-1]) / counts[:, None].astype(np.float32)
    spread = vectors - np.repeat(means, counts, axis=0)
    spread /= np.sqrt(np.repeat(counts - 1, counts)).astype(np.float32)[:, None]
    values, axes = np.linalg.eigh(_products(spread) / len(counts))
    values = np.maximum(values, 0.0) + _SHRINKAGE * max(float(values.mean()), 1e-12)
    whitened = (axes / np.sqrt(values)) @ axes.T
    leading = np.linalg.eigh(whitened @ _products(vectors) @ whitened)[1][:, -RANK:]
    matrix = whitened @ leading
    lengths = np.sum((vectors[:_LENGTHS] @ matrix) ** 2, axis=1)
    start: FloatMatrix = (matrix / np.sqrt(lengths.mean())).astype(np.float32)
    return start


def _products(rows: FloatMatrix) -> Floats:
    return (rows.T @ rows).astype(np.float64)


def _trained(lesson: _Lesson, start: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
    """Improve a map by Adam (Kingma and Ba 2015) with warm-up and linear decay."""
    matrix = start.copy()
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    counts = np.diff(lesson.bounds)
    for step in range(_STEPS):
        chosen = rng.choice(len(counts), min(_BATCH, len(counts)), replace=False)
        places = (rng.random(len(chosen)) * counts[chosen]).astype(np.int64)
        others = (rng.random(len(chosen)) * (counts[chosen] - 1)).astype(np.int64)
        others += others >= places
        starts = lesson.bounds[chosen]
        gradient = _gradient(
            lesson.vectors[starts + places], lesson.vectors[starts + others], matrix
        )
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient * gradient
        rate = _RATE * min(1.0, (step + 1) / _WARM) * (1.0 - step / _STEPS)
        scale = np.sqrt(square / np.float32(1.0 - 0.99 ** (step + 1))) + np.float32(1e-8)
        matrix -= np.float32(rate / (1.0 - 0.9 ** (step + 1))) * mean / scale
    return matrix


def _gradient(left: FloatMatrix, right: FloatMatrix, matrix: FloatMatrix) -> FloatMatrix:
    """Return the gradient of the mean contrastive loss of pairs of rows, each of another concept.

    The loss of a pair is ``-log(exp(c_ii / t) / sum_j exp(c_ij / t))`` with cosines c after the map
    and temperature t.
    """
    one, other = left @ matrix, right @ matrix
    lengths = np.linalg.norm(one, axis=1, keepdims=True) + np.float32(1e-12)
    widths = np.linalg.norm(other, axis=1, keepdims=True) + np.float32(1e-12)
    one /= lengths
    other /= widths
    shares = one @ other.T
    shares /= np.float32(_TEMPERATURE)
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    np.einsum("ii->i", shares)[:] -= np.float32(1.0)
    shares /= np.float32(len(left) * _TEMPERATURE)
    pull, push = shares @ other, shares.T @ one
    pull = (pull - (pull * one).sum(axis=1, keepdims=True) * one) / lengths
    push = (push - (push * other).sum(axis=1, keepdims=True) * other) / widths
    gradient: FloatMatrix = left.T @ pull + right.T @ push
    return gradient


def _gain(
    projection: Projection, lesson: _Lesson, unseen: BoolVector, rng: np.random.Generator
) -> float:
    """Return what the map adds to the mean reciprocal rank of the other names of a concept."""
    concepts = rng.permutation(np.flatnonzero(unseen))[:_JUDGED]
    before = _reciprocal_rank(lesson.vectors, lesson.bounds, concepts)
    return _reciprocal_rank(projection.of(lesson.vectors), lesson.bounds, concepts) - before


def _reciprocal_rank(vectors: FloatMatrix, bounds: IntVector, concepts: IntVector) -> float:
    """Return it for the last name of each concept among all names but itself."""
    asked = bounds[concepts + 1] - 1
    found = []
    for start in range(0, len(asked), 64):
        block = asked[start : start + 64]
        scores = vectors[block] @ vectors.T
        scores[np.arange(len(block)), block] = -np.inf
        for row, first, last in zip(scores, bounds[concepts[start:]], block, strict=False):
            found.append(1.0 / (1.0 + float((row > row[first:last].max()).sum())))
    return float(np.mean(found))
