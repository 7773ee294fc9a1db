"""The vector contract, and what anything that makes vectors must offer. No torch here.

A matrix of vectors is float32, C order, one unit row per text; the score of two rows is their dot
product, i.e. the cosine, and higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import MirrorIndexError

FloatMatrix = NDArray[np.float32]
FloatVector = NDArray[np.float32]
IntVector = NDArray[np.int64]
BoolVector = NDArray[np.bool_]


class UnitRows(Protocol):
    """Stored (n, dim) unit rows: a float32 array, or what decodes to one when it is indexed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def __getitem__(self, key: Any, /) -> FloatMatrix:  # noqa: ANN401 - whatever indexes rows
        """Return the rows a slice or an array of row numbers selects, as float32."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """Vectors with the audit of how each text was tokenised.

    Attributes:
        vectors: (n, dim) float32 unit rows.
        tokens: (n,) token counts before truncation, special tokens included.
        truncated: (n,) True where the text was longer than the encoder's `max_length`.
        unknown: (n,) True where at least one token is the tokenizer's unknown token.
    """

    vectors: FloatMatrix
    tokens: IntVector
    truncated: BoolVector
    unknown: BoolVector


@runtime_checkable
class EncoderLike(Protocol):
    """Text to unit vectors; what collections, tuning cards and evaluation need of an encoder."""

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over weights, tokenizer, recipe: equal when the vectors mean the same."""
        ...

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        ...

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        ...

    def save(self, folder: Path) -> None:
        """Write a folder that `load_encoder`, transformers and sentence-transformers open."""
        ...


def check_unit_rows(
    matrix: object, *, dim: int | None = None, where: str = "vectors"
) -> FloatMatrix:
    """Return `matrix` as float32 C-order unit rows, or say which rows cannot be used.

    Any float or integer dtype and memory order is converted; rows are normalised.

    Raises:
        MirrorIndexError: not two-dimensional, another number of columns than `dim`, or rows that
            hold NaN, Inf or only zeros (the first ten row numbers are named).
    """
    array = np.asarray(matrix)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise MirrorIndexError(
            "vectors must be a two-dimensional array of numbers",
            value=f"shape {array.shape}, dtype {array.dtype}",
            where=where,
        )
    if dim is not None and array.shape[1] != dim:
        raise MirrorIndexError(
            f"vectors have {array.shape[1]} columns, expected {dim}", where=where
        )
    alone = len(array) == 1 and array.dtype.char == "f"  # squares of float64 may overflow
    one = _unit_row(array[0]) if alone else None
    if one is not None:
        return one
    wide = array.astype(np.float64)
    if array.dtype.char != "f" and array.size:  # squares of large or tiny numbers leave float64
        largest = np.abs(wide).max(axis=1, keepdims=True)
        wide /= np.where(np.isfinite(largest) & (largest > 0.0), largest, 1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    if not (0.0 < norms.min(initial=1.0) and norms.max(initial=1.0) < np.inf):
        bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0.0))
        rows = ", ".join(str(int(row)) for row in bad[:10])
        raise MirrorIndexError(
            f"{bad.size} rows hold NaN, Inf or only zeros: rows {rows}",
            where=where,
            remedy="Remove or re-encode these rows",
        )
    return np.ascontiguousarray(wide / norms[:, None], dtype=np.float32)


def _unit_row(row: FloatVector) -> FloatMatrix | None:
    """Return a row as a matrix of one, None where it has no length; a query pays for every call."""
    wide = row.astype(np.float64)
    length = math.sqrt(wide.dot(wide))
    if not 0.0 < length < math.inf:
        return None
    wide /= length
    return wide.astype(np.float32)[None]
