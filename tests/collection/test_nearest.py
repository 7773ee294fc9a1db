"""The nearest rows for linking, against the exact search and numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection, nearest
from mirror_index.config import IndexSpec
from mirror_index.index.exact import exact_search
from mirror_index.records import Record
from tests.fakes import HashEncoder


def unit(rows: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 700])
@pytest.mark.parametrize("k", [1, 5, 48, 1000])
def test_it_finds_what_the_exact_search_finds(
    rows: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_SCORES", 2000)
    vectors = unit(rows)
    vectors[rows // 2 :: 7] = vectors[0]  # ties
    queries = np.vstack([unit(9, seed=1), vectors[:1]])
    for allowed in (None, np.arange(0, rows, 3), np.empty(0, dtype=np.int64)):
        found = list(nearest._exact(queries, vectors, k, allowed))
        expected = exact_search(queries, vectors, k, allowed)
        assert len(found) == len(expected) == 10
        for one, other in zip(found, expected, strict=True):
            assert one.rows.tolist() == other.rows.tolist()
            assert one.scores.tolist() == other.scores.tolist()


def test_an_empty_file_has_no_neighbours() -> None:
    found = list(nearest._exact(unit(3), np.empty((0, 16), dtype=np.float32), 5, None))
    assert [len(one.rows) for one in found] == [0, 0, 0]


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
