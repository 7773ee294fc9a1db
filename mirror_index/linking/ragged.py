"""Lists of unequal length in one array, laid end to end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mirror_index.vectors import IntVector


def ranges(starts: IntVector, ends: IntVector) -> IntVector:
    """Return ``[*range(starts[0], ends[0]), *range(starts[1], ends[1]), ...]``."""
    lengths = ends - starts
    stops = np.cumsum(lengths)
    total = int(stops[-1]) if len(stops) else 0
    places: IntVector = np.arange(total)
    places += np.repeat(starts - (stops - lengths), lengths)
    return places


def sums(places: IntVector, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the (count,) sums of the values at each place."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)


def bounds_of(lists: list[IntVector]) -> IntVector:
    """Return the (n + 1,) places where each of n lists begins when they are laid end to end."""
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def joined(lists: list[IntVector]) -> IntVector:
    """Return lists laid end to end."""
    return np.concatenate([np.empty(0, dtype=np.int64), *lists])
