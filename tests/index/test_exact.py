"""Exact search against a full float64 sort."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.index import exact
from mirror_index.index.exact import exact_search, rank, rescore
from mirror_index.vectors import FloatMatrix, IntVector


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
    allowed = None if share is None else rows
    found = exact_search(queries, vectors, k, allowed)
    if allowed is not None:
        again = exact_search(queries, vectors, k, allowed, vectors[allowed])
        assert [one.rows.tolist() for one in again] == [one.rows.tolist() for one in found]
        assert [one.scores.tolist() for one in again] == [one.scores.tolist() for one in found]
    for query, ranked in zip(queries, found, strict=True):
        wide = (vectors[rows].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        scores = np.round(wide, 6)
        order = np.lexsort((rows, -scores))
        cut = len(order)
        if len(order) > k:
            cut = int(np.sum(scores >= scores[order[k - 1]]))
        assert ranked.rows.tolist() == rows[order[:cut]].tolist()
        assert np.allclose(ranked.scores, np.clip(scores[order[:cut]], -1, 1), atol=0)


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 130])
def test_whole_and_broken_runs(rows: int) -> None:
    rng = np.random.default_rng(6)
    vectors, queries = unit(rng, rows), unit(rng, 3)
    for allowed in (None, np.arange(0, rows, 2)):
        places = np.arange(rows) if allowed is None else allowed
        for k in (1, 64, 65, 200):
            for query, ranked in zip(
                queries, exact_search(queries, vectors, k, allowed), strict=True
            ):
                scores = (vectors[places].astype(float) * query.astype(float)).sum(axis=1)
                best = places[np.argsort(-scores)][:k]
                assert ranked.rows.tolist() == best.tolist()


def test_a_damaged_row_hides_only_itself() -> None:
    rng = np.random.default_rng(7)
    vectors, queries = unit(rng, 200), unit(rng, 2)
    whole = exact_search(queries, vectors, 200)
    vectors[70] = np.nan
    for one, true in zip(exact_search(queries, vectors, 199), whole, strict=True):
        assert one.rows.tolist() == [row for row in true.rows.tolist() if row != 70]


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


@pytest.mark.parametrize("allowed", [None, np.array([1, 4]), np.empty(0, dtype=np.int64)])
def test_any_k_costs_no_more_than_the_rows(allowed: IntVector | None) -> None:
    vectors = unit(np.random.default_rng(3), 6)
    (most,) = exact_search(vectors[:1], vectors, 10**20, allowed)
    (six,) = exact_search(vectors[:1], vectors, 6, allowed)
    assert most.rows.tolist() == six.rows.tolist()
    assert len(most.rows) == (6 if allowed is None else len(allowed))
    (none,) = exact_search(vectors[:1], vectors[:0], 10**20)
    assert none.rows.tolist() == []
