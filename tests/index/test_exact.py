"""Exact search against a full float64 sort."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.index import exact
from mirror_index.index.exact import exact_search, rank, rescore
from mirror_index.vectors import FloatMatrix


def unit(rng: np.random.Generator, rows: int, dim: int = 24) -> FloatMatrix:
    matrix = rng.normal(size=(rows, dim))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("share", [None, 0.0, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("k", [1, 10, 5000])
def test_the_same_as_a_full_sort(
    share: float | None, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "_BLOCK_FLOATS", 1 << 12)
    monkeypatch.setattr(exact, "_QUERY_BLOCK", 3)
    rng = np.random.default_rng(1)
    vectors, queries = unit(rng, 3000), unit(rng, 7)
    vectors[100:140] = vectors[7]
    queries[0] = vectors[7]
    rows = np.arange(3000)
    if share is not None:
        rows = np.flatnonzero(rng.random(3000) < share)
    found = exact_search(queries, vectors, k, None if share is None else rows)
    for query, ranked in zip(queries, found, strict=True):
        wide = (vectors[rows].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        scores = np.round(wide, 6)
        order = np.lexsort((rows, -scores))
        cut = len(order)
        if len(order) > k:
            cut = int(np.sum(scores >= scores[order[k - 1]]))
        assert ranked.rows.tolist() == rows[order[:cut]].tolist()
        assert np.allclose(ranked.scores, np.clip(scores[order[:cut]], -1, 1), atol=0)


def test_a_score_does_not_depend_on_its_company() -> None:
    rng = np.random.default_rng(2)
    vectors, (query,) = unit(rng, 5000, 384), unit(rng, 1, 384)
    together = rescore(query, vectors)
    alone = [float(rescore(query, vectors[row : row + 1])[0]) for row in range(0, 5000, 97)]
    assert together[::97].tolist() == alone


def test_no_candidates() -> None:
    rng = np.random.default_rng(3)
    vectors, (query,) = unit(rng, 5), unit(rng, 1)
    assert len(rank(query, vectors, np.empty(0, dtype=np.int64)).rows) == 0
    empty = np.empty((0, 24), dtype=np.float32)
    (found,) = exact_search(query[None, :], empty, 3)
    assert len(found.rows) == 0


def test_scores_stay_in_range() -> None:
    row = np.full((1, 3), np.float32(0.57735029), dtype=np.float32)
    assert rescore(row[0], row).tolist() == [1.0]
    assert rescore(row[0], -row).tolist() == [-1.0]
