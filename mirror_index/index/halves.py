"""Unit rows kept as float16, which halves the file; outside of this module they are float32.

A float16 row is a unit row rounded, so its length is 1 only to about 1e-4. Reading divides by the
length, in float64 and row by row: what comes out is a float32 unit row that depends on nothing but
the stored bytes. Scores are exact cosines of these rows, within 5e-4 of those before rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirror_index.vectors import FloatMatrix, UnitRows

NEARNESS = 6e-4
"""No length of a rounded unit row is farther from 1: half a unit in the last of 11 bits, and a bit
more where components are too small to be normal numbers."""

_SCALE = np.float32(2.0**112)
_EXPONENT_GAP = np.int32(13)
_KEEP = np.int32(-0x70000001)  # every bit but the three that the shift copied the sign into
_DECODE_ROWS = 2048


class HalfRows:
    """An (n, dim) matrix of float32 unit rows over float16 storage; indexing decodes.

    Args:
        raw: (n, dim) float16, usually a memory map.
    """

    def __init__(self, raw: NDArray[np.float16]) -> None:
        self.raw = raw

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.raw.shape

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, key: Any, /) -> FloatMatrix:  # noqa: ANN401 - whatever indexes rows
        rows = decoded(self.raw[key])
        flat = np.atleast_2d(rows)
        wide = flat.astype(np.float64)
        lengths = np.sqrt(np.add.reduce(wide * wide, axis=1))
        lengths[lengths == 0.0] = 1.0  # damage that `verify` reports; here it must not be a NaN
        unit: FloatMatrix = (wide / lengths[:, None]).astype(np.float32).reshape(rows.shape)
        return unit

    def __array__(
        self,
        dtype: Any = None,  # noqa: ANN401 - NumPy's protocol
        copy: bool | None = None,
    ) -> NDArray[Any]:
        """Decode everything, for NumPy."""
        del copy
        return self[:].astype(dtype or np.float32, copy=False)


def decoded(raw: NDArray[np.float16]) -> FloatMatrix:
    """Return float16 values as float32, without dividing by the length.

    Moving the bits in blocks that stay in the cache is six times as fast as NumPy's conversion.
    Infinities and NaN, which no unit row holds, come out as numbers of 65,536 and more.
    """
    flat = np.atleast_2d(np.ascontiguousarray(raw)).view(np.int16)
    result = np.empty(flat.shape, dtype=np.int32)
    for start in range(0, len(flat), _DECODE_ROWS):
        block = result[start : start + _DECODE_ROWS]
        block[...] = flat[start : start + _DECODE_ROWS]  # the sign is copied upwards
        np.left_shift(block, _EXPONENT_GAP, out=block)
        np.bitwise_and(block, _KEEP, out=block)
        numbers = block.view(np.float32)
        np.multiply(numbers, _SCALE, out=numbers)
    return result.view(np.float32).reshape(raw.shape)


def near_rows(vectors: UnitRows, key: Any) -> FloatMatrix:  # noqa: ANN401 - whatever indexes rows
    """Return rows whose length is 1 up to `NEARNESS`, as fast as the storage gives them."""
    return decoded(vectors.raw[key]) if isinstance(vectors, HalfRows) else vectors[key]


def near_error(vectors: UnitRows) -> float:
    """Return how far a product with `near_rows` may be from the cosine, beyond float32 noise."""
    return NEARNESS if isinstance(vectors, HalfRows) else 0.0


def first_rows(vectors: UnitRows, rows: int) -> UnitRows:
    """Return the first `rows` rows without reading them."""
    return HalfRows(vectors.raw[:rows]) if isinstance(vectors, HalfRows) else vectors[:rows]


def later_rows(vectors: UnitRows, start: int) -> UnitRows:
    """Return the rows from `start` on without reading them."""
    return HalfRows(vectors.raw[start:]) if isinstance(vectors, HalfRows) else vectors[start:]
