"""The nearest rows for linking, against the exact search."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec
from mirror_index.index.exact import exact_search
from mirror_index.records import Record
from tests.fakes import HashEncoder


def test_deleted_texts_are_left_out(tmp_path: Path) -> None:
    items = [Record(id=str(n), text=f"text number {n}") for n in range(40)]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        collection.delete(["7"])
        vector = collection.encode(["text number 7"])
        found = collection.nearest_texts(vector, 39)
        assert (len(found.ranked[0].rows), found.path) == (39, "exact")
        assert 7 not in found.ranked[0].rows.tolist()
        some = collection.nearest_texts(vector, 39, np.array([6, 7, 8]))
        assert sorted(some.ranked[0].rows.tolist()) == [6, 8]
        assert found.generation == collection.info()["generation"]


def test_an_approximate_index_is_used_where_there_is_one(tmp_path: Path) -> None:
    items = [Record(id=str(n), text=f"text number {n} {n % 7}") for n in range(300)]
    spec = IndexSpec(kind="HNSW16")
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder(), spec=spec) as collection:
        vectors = collection.encode(["text number 7 0", "number 99 1"])
        found = collection.nearest_texts(vectors, 5)
        assert found.path in ("candidates", "widened")
        expected = exact_search(vectors, collection.vectors_of(range(300)), 5)
        for one, other in zip(found.ranked, expected, strict=True):
            assert len(set(one.rows.tolist()) & set(other.rows.tolist())) >= 4
        few = collection.nearest_texts(vectors, 5, np.arange(20))
        assert (few.path, max(few.ranked[0].rows.tolist()) < 20) == ("exact", True)
