"""Many strings in two arrays, which can be stored and read back without making each a string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from mirror_index.vectors import IntVector

_MANY = 8
"""Of so many strings one can be asked for before all are decoded, which costs about as much."""


class Strings(Sequence[str]):
    """Strings, each decoded when it is asked for; all at once when many are.

    Attributes:
        data: uint8 UTF-8 of all of them, lone surrogates included.
        bounds: (strings + 1,) int64; string i lies at ``bounds[i]:bounds[i + 1]``.
    """

    def __init__(self, data: NDArray[np.uint8], bounds: IntVector) -> None:
        self.data = data
        self.bounds = bounds
        self._bytes = data.data
        self._asked = 0
        self._all: list[str] | None = None

    @classmethod
    def of(cls, strings: Iterable[str]) -> Strings:
        """Pack strings."""
        parts = [string.encode("utf-8", "surrogatepass") for string in strings]
        lengths = np.array([len(part) for part in parts], dtype=np.int64)
        data = np.frombuffer(b"".join(parts), dtype=np.uint8)
        return cls(data, np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.bounds) - 1

    def lengths_of(self, places: IntVector) -> IntVector:
        """Return the lengths of some strings in UTF-8."""
        lengths: IntVector = self.bounds[places + 1] - self.bounds[places]
        return lengths

    def __iter__(self) -> Iterator[str]:
        """Yield all of them, quicker than one by one."""
        held = self.data.tobytes()
        for start, end in pairwise(self.bounds.tolist()):
            yield str(held[start:end], "utf-8", "surrogatepass")

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return one string, or a list of some."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if self._all is not None:
            return self._all[place]
        self._asked += 1
        if self._asked > len(self) // _MANY:
            self._all = list(self)
        at = place if place >= 0 else place + len(self)
        if not 0 <= at < len(self):
            raise IndexError(place)
        return str(self._bytes[self.bounds[at] : self.bounds[at + 1]], "utf-8", "surrogatepass")
