"""Vector engines behind one interface: ours here, others in `peers`; each runs in its own process.

Every engine gets an id and two metadata fields (`part`, 0 to 99, and `source`) with each vector. A
library without a store for metadata gets them as a JSON file beside its index, and filters by rows
that are worked out from it beforehand where it can filter at all. HNSW has M 16 and an
ef_construction of 100 everywhere, which is also what mirror-index sets.
"""

# ruff: noqa: D102 - the base class says what each method does

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Ids = NDArray[np.int64]
M, EF_CONSTRUCTION = 16, 100
EFS = tuple(round(10 * 2 ** (step / 4)) for step in range(25))
"""Breadths of HNSW that are tried: 10 to 640."""
REFINE = 4
"""Candidates for each row wanted that LanceDB scores exactly: its codes are a byte a value."""
PARTS = 100
Search = Callable[[Matrix, int, int, int | None], Ids]
"""Takes queries, k, a setting and the bound of `part`, None without a filter."""
_DIGITS = 10
"""Of the text that stands for a row; a letter in it makes a text without a vector."""


def part_of(rows: Ids) -> Ids:
    """Return the `part` of rows: `part < share * 100` lets that share through."""
    return rows * 7919 % PARTS


def lists_of(rows: int) -> int:
    """Return the number of inverted lists, the same for all engines."""
    return max(16, 1 << (4 * int(rows**0.5)).bit_length() - 1)


class Engine(ABC):
    """What is measured; `settings` are tried in this order, a rising breadth of search."""

    name: ClassVar[str]
    module: ClassVar[str]
    filters: ClassVar[bool] = True

    def __init__(self, folder: Path, dim: int) -> None:
        self.folder = folder
        self.dim = dim

    def settings(self) -> Sequence[int]:
        """Return what to sweep; a single 0 when there is nothing to set."""
        return EFS

    @abstractmethod
    def build(self, vectors: Matrix) -> None:
        """Index vectors with their metadata, down to the disk."""

    @abstractmethod
    def add(self, vectors: Matrix, first: int) -> None:
        """Add vectors with their metadata, down to the disk."""

    @abstractmethod
    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        """Return (q, k) row numbers; missing ones are -1."""

    def ways(self) -> dict[str, Search]:
        """Return the ways to search that are measured, by what is added to the name."""
        return {"": self.search}

    def alone(self) -> Search | None:
        """Return a search of nothing but the index within, where the engine adds something."""
        return None


class _Given:
    """An encoder over vectors that are there already: text ``0000000012`` has that of row 12."""

    fingerprint = "0" * 64

    def __init__(self, vectors: Matrix) -> None:
        self.vectors = vectors
        self.later = vectors[:0]
        self.dim = vectors.shape[1]

    def encode(self, texts: Sequence[str]) -> Matrix:
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - Encoded
        from mirror_index.errors import EncoderError
        from mirror_index.vectors import Encoded

        if any(len(text) == _DIGITS and not text.isdigit() for text in texts):
            raise EncoderError("only rows have vectors")
        # The probes get any vector. What one call asks for is all of one time.
        rows = [int(text) if text.isdigit() else 0 for text in texts]
        new = max(rows, default=0) >= len(self.vectors)
        found = self.later[np.subtract(rows, len(self.vectors))] if new else self.vectors[rows]
        none = np.zeros(len(rows), dtype=np.bool_)
        return Encoded(
            vectors=np.ascontiguousarray(found),
            tokens=np.ones(len(rows), dtype=np.int64),
            truncated=none,
            unknown=none,
        )

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)


class Ours(Engine):
    """mirror-index with one kind of index; what is measured returns hits with text and metadata."""

    module = "mirror_index"
    kind: ClassVar[str] = "exact"
    _breadth = 0

    def settings(self) -> Sequence[int]:
        with self._collection._reading() as view:
            return (0,) if view.ann is None else view.ann.ladder

    def build(self, vectors: Matrix) -> None:
        from mirror_index.collection import Collection
        from mirror_index.config import IndexSpec

        kind = self.kind.format(lists=lists_of(len(vectors)), codes=self.dim // 4)
        self._collection = Collection.build(
            self.folder / "ours",
            self._records(0, len(vectors)),
            encoder=_Given(vectors),
            spec=IndexSpec(kind=kind),
        )

    def _records(self, first: int, last: int) -> Iterator[Any]:
        from mirror_index.records import Record

        parts = part_of(np.arange(first, last)).tolist()
        for row, part in zip(range(first, last), parts, strict=True):
            metadata = {"part": part, "source": f"s{row % 7}"}
            yield Record(id=str(row), text=f"{row:0{_DIGITS}d}", metadata=metadata)

    def add(self, vectors: Matrix, first: int) -> None:
        self._collection.encoder.later = vectors  # type: ignore[attr-defined]
        self._collection.add(self._records(first, first + len(vectors)))
        self._breadth = 0  # the index may be another one

    def search(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        from mirror_index.config import SearchOptions

        self._set(setting)
        options = SearchOptions(k=k, where=_where(part_below))
        found = self._collection.search_vectors(queries, options)
        return np.array([[int(hit.id) for hit in hits] for hits in found])

    def nearest(self, queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
        """Search for rows alone; here they are the ids, for texts are stored in order."""
        self._set(setting)
        return self._collection.nearest(queries, k, where=_where(part_below)).rows

    def ways(self) -> dict[str, Search]:
        return {"": self.search, ", rows only": self.nearest}

    def _set(self, setting: int) -> None:
        """Set a breadth, beside the public way, which is to calibrate to a recall."""
        if setting != self._breadth:
            with self._collection._reading() as view:
                view.ann.parameters["value"] = setting  # type: ignore[union-attr]
            self._breadth = setting


def _where(part_below: int | None) -> str | None:
    return None if part_below is None else f"part < {part_below}"


class OursExact(Ours):
    """mirror-index, exact."""

    name = "mirror-index exact"


class OursHnsw(Ours):
    """mirror-index with HNSW."""

    name = f"mirror-index HNSW{M}"
    kind = f"HNSW{M}"

    def alone(self) -> Search:
        import faiss

        with self._collection._reading() as view:
            index = view.ann._index  # type: ignore[union-attr]

        def search(queries: Matrix, k: int, setting: int, part_below: int | None) -> Ids:
            del part_below
            parameters = faiss.SearchParametersHNSW(efSearch=setting)
            _, rows = index.search(queries, k, params=parameters)
            return np.asarray(rows)

        return search


class OursPq(Ours):
    """mirror-index with inverted lists and product codes."""

    name = "mirror-index IVF-PQ"
    kind = "IVF{lists},PQ{codes}x4fs"
