"""Counting distinct texts with one vector, against a comparison of every pair."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.collection import collisions
from mirror_index.collection.collisions import equal_to_earlier
from mirror_index.vectors import FloatMatrix


def unit(rows: object) -> FloatMatrix:
    wide = np.asarray(rows, dtype=np.float64)
    return (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)


def by_all_pairs(vectors: FloatMatrix, before: int) -> int:
    wide = vectors.astype(np.float64)
    leaders: list[int] = []
    count = 0
    for row in range(len(wide)):
        if any(round(float(wide[row] @ wide[leader]), 6) >= 0.999999 for leader in leaders):
            count += row >= before
        else:
            leaders.append(row)
    return count


@pytest.mark.parametrize("dim", [1, 2, 3, 64])
@pytest.mark.parametrize("noise", [0.0, 1e-7, 5e-4, 2e-3])
def test_the_count_is_that_of_all_pairs(dim: int, noise: float) -> None:
    rng = np.random.default_rng(dim)
    base = unit(np.abs(rng.standard_normal((60, dim))))
    copies = base[rng.integers(0, 60, 140)]
    shake = rng.standard_normal(copies.shape) * noise / np.sqrt(dim)
    vectors = np.concatenate([base, unit(copies + shake)])
    for before in (0, 60, 150):
        found = equal_to_earlier(vectors, range(len(vectors)), before)
        assert found == by_all_pairs(vectors, before)


def test_a_group_of_many_different_vectors_compares_few_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    vectors = unit(np.abs(rng.standard_normal((3000, 32))))
    compared = 0

    def counting(query: FloatMatrix, rows: FloatMatrix) -> FloatMatrix:
        nonlocal compared
        compared += len(rows)
        return real(query, rows)

    real = collisions.rescore
    monkeypatch.setattr(collisions, "rescore", counting)
    assert equal_to_earlier(vectors, range(3000), 0) == 0
    assert compared < 3000  # of 4.5 million pairs


def test_a_group_of_one_vector_has_one_leader() -> None:
    vectors = np.repeat(unit([[3.0, 4.0]]), 5000, axis=0)
    assert equal_to_earlier(vectors, range(5000), 100) == 4900
