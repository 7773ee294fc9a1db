"""A query by itself goes straight to FAISS: the answers are those of its Python layer."""

from __future__ import annotations

import gc
from typing import Any

import faiss
import numpy as np
import pytest

from mirror_index.index.ann import AnnIndex
from mirror_index.index.building import build_ann
from mirror_index.index.few import SCORE_UNITS, rank_few, with_ties
from mirror_index.index.lone import LoneSearch
from mirror_index.vectors import FloatMatrix, check_unit_rows

DIM, ROWS = 16, 900


def unit(rows: int, seed: int = 3) -> FloatMatrix:
    return check_unit_rows(np.random.default_rng(seed).normal(size=(rows, DIM)))


QUERIES = unit(30, seed=8)


@pytest.fixture(scope="module", params=["HNSW16", "IVF16,Flat", "Flat", "IVF16,PQ8x4fs"])
def index(request: pytest.FixtureRequest) -> AnnIndex:
    made = build_ann(unit(ROWS), request.param)
    made.parameters["value"] = 60
    return made


@pytest.mark.parametrize("filtered", [False, True])
def test_one_by_one_is_what_many_get(index: AnnIndex, filtered: bool) -> None:
    allowed = np.arange(0, ROWS, 3) if filtered else None
    together = index.nearby(QUERIES, 16, allowed)
    for place, query in enumerate(QUERIES):
        alone = index.nearby(query[None], 16, allowed)
        assert alone.rows.tolist() == together.rows[place : place + 1].tolist()
        assert alone.scores[0] == pytest.approx(together.scores[place], abs=1e-6)


def test_an_answer_stays_when_the_next_comes(index: AnnIndex) -> None:
    first = index.nearby(QUERIES[:1], 16, None)
    kept = first.rows.copy()
    index.nearby(QUERIES[1:2], 16, None)
    assert first.rows.tolist() == kept.tolist()


def test_what_is_selected_outlives_the_next_selection() -> None:
    index = build_ann(unit(ROWS), "HNSW16")
    allowed = np.arange(0, ROWS, 3)
    lone = index.lone(16, allowed)
    expected = lone(QUERIES[:1])
    index.nearby(QUERIES, 16, np.arange(1, ROWS, 3))
    gc.collect()
    junk = [np.full(ROWS, 255, dtype=np.uint8) for _ in range(200)]
    again = lone(QUERIES[:1])
    assert again.rows.tolist() == expected.rows.tolist()
    assert (again.rows % 3 == 0).all()
    del junk


def test_plans_are_kept_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    index = build_ann(unit(ROWS), "HNSW16")
    assert index.lone(16, None) is index.lone(16, None)
    for depth in range(1, 300):
        assert index.nearby(QUERIES[:1], depth, None).rows.shape == (1, index.fetch(depth))
    assert len(index._plans) <= 64
    monkeypatch.setattr("mirror_index.index.ann._KEPT_ROWS", 100)
    assert index.lone(400, None) is not index.lone(400, None)


def test_a_search_keeps_to_one_thread_and_gives_it_back() -> None:
    index = build_ann(unit(ROWS), "IVF16,Flat")
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    try:
        lone = index.lone(16, None)
        seen: list[int] = []

        def search(*_: object) -> None:
            seen.append(faiss.omp_get_max_threads())

        assert lone._search.args  # type: ignore[attr-defined]
        lone._search.func(search)  # type: ignore[attr-defined]
        assert seen == [1]
        assert faiss.omp_get_max_threads() == 2
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize("scale", [1.0, 7.5, 1e-3])
def test_a_query_is_scaled_as_every_other(scale: float) -> None:
    lone = build_ann(unit(ROWS), "HNSW16").lone(16, None)
    for query in QUERIES:
        given = (query[None] * np.float32(scale)).astype(np.float32)
        assert lone.ask(given)
        scaled = check_unit_rows(given)
        assert lone.query.tobytes() == scaled[0].tobytes()
        direct = lone(scaled)
        assert lone.ask(given)
        assert lone.found.rows.tolist() == direct.rows.tolist()


@pytest.mark.parametrize(
    "query",
    [
        QUERIES[0],
        QUERIES[:2],
        QUERIES[:1, :-1],
        QUERIES[:1].astype(np.float64),
        QUERIES[:1].tolist(),
        np.zeros((1, DIM), dtype=np.float32),
        np.full((1, DIM), np.nan, dtype=np.float32),
        np.full((1, DIM), np.inf, dtype=np.float32),
    ],
)
def test_anything_else_is_left_alone(query: Any) -> None:
    lone = build_ann(unit(ROWS), "HNSW16").lone(16, None)
    before = lone(QUERIES[4:5])
    assert not lone.ask(query)
    assert lone.found.rows.tolist() == before.rows.tolist()
    assert lone.query.tobytes() == QUERIES[4].tobytes()


def found(rows: list[int], scores: list[float]) -> LoneSearch:
    """Return a search that found this."""
    index = build_ann(unit(ROWS), "HNSW16")
    lone = LoneSearch(index._index, len(rows), None, graph=True)
    lone._rows[0], lone._scores[0] = rows, scores
    return lone


def test_the_best_come_by_score_and_then_by_row() -> None:
    best = found([9, 4, 7, 1, 2], [0.9, 0.8, 0.7, 0.6, 0.5]).best(3)
    assert best is not None
    assert best.rows.tolist() == [[9, 4, 7]]
    assert best.scores[0].tolist() == pytest.approx([0.9, 0.8, 0.7])
    tied = found([9, 4, 7, 1, 2], [0.9, 0.7, 0.7, 0.7, 0.5]).best(3)
    assert tied is not None
    assert tied.rows.tolist() == [[9, 1, 4]]
    assert tied.scores[0].tolist() == pytest.approx([0.9, 0.7, 0.7])
    assert (tied.rows.dtype, tied.scores.dtype) == (np.int64, np.float32)
    above = found([9, 4, 7], [1.0000002, 1.0000001, 0.5]).best(2)
    assert above is not None
    assert above.scores.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("rows", "scores"),
    [
        ([9, 4, 7], [0.9, 0.8, 0.7]),  # nothing past the third
        ([9, 4, 7, -1], [0.9, 0.8, 0.7, -9.0]),
        ([9, 4, 7, ROWS], [0.9, 0.8, 0.7, 0.6]),  # a row that is not there
        ([9, 4, 7, 1], [0.9, 0.7, 0.8, 0.6]),  # not in order
        ([9, 4, 7, 1], [0.9, np.nan, 0.8, 0.6]),
    ],
)
def test_what_needs_a_second_look(rows: list[int], scores: list[float]) -> None:
    assert found(rows, scores).best(3) is None
    assert found(rows, scores).near(3, 1e-5) is None


def test_a_tie_that_may_go_on_needs_one_too() -> None:
    lone = found([9, 4, 7, 1], [0.9, 0.8, 0.7, 0.7])
    assert lone.best(3) is None
    near = lone.near(3, 1e-5)
    assert near is not None
    assert near.tolist() == [9, 4, 7, 1]


def test_near_are_those_within_the_margin() -> None:
    lone = found([9, 4, 7, 1, 3], [0.9, 0.8, 0.7999, 0.798, 0.1])
    for margin, expected in ((1e-5, [9, 4]), (1e-3, [9, 4, 7]), (0.1, [9, 4, 7, 1])):
        near = lone.near(2, margin)
        assert near is not None
        assert near.tolist() == expected


def test_few_rows_are_ranked_as_numpy_ranks_them() -> None:
    vectors = unit(60)
    vectors[40:] = vectors[:20]  # ties
    rng = np.random.default_rng(5)
    for count in (0, 1, 2, 24, 64):
        rows = rng.integers(0, 60, count)
        cosines = vectors.astype(np.float64) @ vectors[5].astype(np.float64)
        expected = sorted({(-round(cosines[row] * 1e6), row) for row in rows.tolist()})
        assert rank_few(vectors[5], vectors, rows) == expected


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0, -3.0])
def test_a_damaged_row_is_none_of_the_few(value: float) -> None:
    vectors = unit(30)
    vectors[29] = vectors[3] * np.float32(value)
    assert rank_few(vectors[3], vectors, np.arange(29)) is not None
    assert rank_few(vectors[3], vectors, np.arange(30)) is None


def test_ties_with_the_last_come_along() -> None:
    ranked = [(-9, 4), (-7, 2), (-7, 3), (-7, 8), (-1, 0)]
    assert with_ties(ranked, 1) == ranked[:1]
    assert with_ties(ranked, 2) == ranked[:4]
    assert with_ties(ranked, 5) == with_ties(ranked, 9) == ranked
    assert with_ties([], 3) == []
    assert SCORE_UNITS == 1_000_000
