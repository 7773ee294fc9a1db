"""Rows that came after the index was built count as those in it, for one query as for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.index import approximate
from mirror_index.index.ann import AnnIndex
from mirror_index.index.building import build_ann
from mirror_index.index.exact import exact_search
from mirror_index.index.halves import HalfRows
from mirror_index.index.later import JoinedSearch, LaterRows
from mirror_index.index.plain import lone_search, plain_search, quick_answer
from mirror_index.index.tails import FEW_ROWS
from mirror_index.vectors import FloatMatrix, IntVector, check_unit_rows

DIM, HELD, ROWS = 12, 400, 700


def unit(rows: int, seed: int) -> FloatMatrix:
    return check_unit_rows(np.random.default_rng(seed).normal(size=(rows, DIM)))


VECTORS = unit(ROWS, 3)
VECTORS[50:90] = VECTORS[:40]  # ties within the index
VECTORS[410:450] = VECTORS[10:50]  # across its end
VECTORS[500:530] = VECTORS[470]  # and after it
QUERIES = np.concatenate([unit(20, 8), VECTORS[::35]])


@pytest.fixture(scope="module", params=["HNSW16", "IVF8,Flat"])
def index(request: pytest.FixtureRequest) -> AnnIndex:
    made = build_ann(VECTORS[:HELD], request.param)
    made.parameters["value"] = 40
    return made


def rows_of(seed: int | None, count: int) -> IntVector | None:
    """Return `count` of the rows, None for all."""
    if seed is None:
        return None
    return np.sort(np.random.default_rng(seed).permutation(ROWS)[:count])


def the_general_way(
    query: FloatMatrix, vectors: Any, index: AnnIndex, k: int, allowed: IntVector | None
) -> list[tuple[int, float]]:
    search = approximate._Search(query, vectors, index, allowed)
    (answer,) = search.answers(index.depths(k)[0], k)
    assert answer.path == "candidates"
    return list(zip(answer.ranked.rows.tolist(), answer.ranked.scores.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(
    place=st.integers(0, len(QUERIES) - 1),
    k=st.integers(1, 16),
    total=st.sampled_from([HELD, HELD + 1, 460, 520, ROWS]),
    seed=st.none() | st.integers(0, 5),
    share=st.sampled_from([0.6, 0.9, 0.99]),
    halves=st.booleans(),
)
def test_the_answers_are_those_of_the_general_way(
    index: AnnIndex, place: int, k: int, total: int, seed: int | None, share: float, halves: bool
) -> None:
    query = QUERIES[place : place + 1]
    vectors: Any = HalfRows(VECTORS[:total].astype(np.float16)) if halves else VECTORS[:total]
    allowed = rows_of(seed, int(share * ROWS))
    if allowed is not None:
        allowed = allowed[allowed < total]
    quick = quick_answer(query, vectors, index, k, allowed)
    if allowed is not None and len(allowed) <= FEW_ROWS:
        assert quick is None
        return
    assert quick is not None
    found = list(zip(quick.ranked.rows.tolist(), quick.ranked.scores.tolist(), strict=True))
    assert quick.path == "candidates"
    assert found == the_general_way(query, vectors, index, k, allowed)


@settings(max_examples=150, deadline=None)
@given(
    place=st.integers(0, len(QUERIES) - 1),
    k=st.integers(1, 16),
    total=st.sampled_from([HELD + 1, 460, 520, ROWS]),
    seed=st.none() | st.integers(0, 5),
)
def test_rows_and_scores_are_those_of_many(
    index: AnnIndex, place: int, k: int, total: int, seed: int | None
) -> None:
    vectors, allowed = VECTORS[:total], rows_of(seed, 600)
    if allowed is not None:
        allowed = allowed[allowed < total]
    together = plain_search(QUERIES, vectors, index, k, allowed)
    lone = lone_search(vectors, index, k, allowed)
    assert together is not None
    assert isinstance(lone, JoinedSearch)
    assert lone.ask(QUERIES[place : place + 1])
    best = lone.best(k)
    if best is None:
        return
    assert together.unsure is None or not together.unsure[place]
    assert (best.rows.dtype, best.scores.dtype) == (np.int64, np.float32)
    assert best.scores[0] == pytest.approx(together.scores[place], abs=1e-6)
    expected = plain_search(QUERIES[place : place + 1], vectors, index, k, allowed)
    assert expected is not None
    assert best.rows.tolist() == expected.rows.tolist()
    assert best.scores.tobytes() == expected.scores.tobytes()


def test_most_queries_need_no_second_look(index: AnnIndex) -> None:
    lone = lone_search(VECTORS, index, 10, None)
    assert lone is not None
    sure = 0
    for query in unit(50, 9):
        assert lone.ask(query[None])
        sure += lone.best(10) is not None
    assert sure == 50


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_rivals_hold_the_best_of_the_later_rows(halves: bool, hidden: bool) -> None:
    vectors: Any = HalfRows(VECTORS.astype(np.float16)) if halves else VECTORS
    allowed = rows_of(1, 500) if hidden else np.arange(ROWS)
    later = LaterRows(vectors, HELD, allowed if hidden else None)
    after = allowed[allowed >= HELD]
    for query in QUERIES:
        for k in (1, 10, 400):
            (best,) = exact_search(query[None], vectors, k, after)
            for least in (-1.0, 0.3, 1.0):
                wanted = set(best.rows[best.scores >= least].tolist())
                found = later.rivals(query, k, least).tolist()
                assert wanted <= set(found) <= set(after.tolist())
                assert found == sorted(found)


def test_rows_far_below_are_no_rivals() -> None:
    later = LaterRows(VECTORS, HELD, None)
    cosines = VECTORS[HELD:].astype(np.float64) @ QUERIES[0].astype(np.float64)
    for least in (-0.5, 0.0, 0.5):
        found = later.rivals(QUERIES[0], ROWS, least)
        assert found.tolist() == (np.flatnonzero(cosines >= least - 1e-5) + HELD).tolist()
    assert len(later.rivals(QUERIES[0], 10, -1.0)) < 20


def test_rows_that_tie_but_for_the_last_bit_are_all_rivals() -> None:
    noise = np.random.default_rng(4).normal(size=(50, DIM)).astype(np.float32)
    vectors = np.concatenate([VECTORS[:HELD], VECTORS[470] + noise * np.float32(1e-7)])
    found = LaterRows(vectors, HELD, None).rivals(VECTORS[471], 5, -1.0)
    (best,) = exact_search(VECTORS[471:472], vectors[HELD:], 5)
    assert set((best.rows + HELD).tolist()) <= set(found.tolist())
    assert len(best.rows) > 5


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0])
def test_a_damaged_later_row_hides_itself_or_takes_the_long_way(
    index: AnnIndex, value: float
) -> None:
    vectors = VECTORS.copy()
    vectors[600] *= np.float32(value)
    lone = lone_search(vectors, index, 10, None)
    assert lone is not None
    assert lone.ask(VECTORS[600:601])
    best = lone.best(10)
    if np.isnan(value):
        assert best is not None
        assert 600 not in best.rows
    else:
        assert best is None


def test_what_the_index_lacks_is_found(index: AnnIndex) -> None:
    lone = lone_search(VECTORS, index, 3, None)
    assert lone is not None
    for row in range(540, ROWS):
        assert lone.ask(VECTORS[row : row + 1])
        best = lone.best(3)
        assert best is not None
        assert best.rows[0, 0] == row
        assert best.scores[0, 0] == 1.0


def test_an_index_that_leaves_rows_missing_needs_a_second_look(index: AnnIndex) -> None:
    lone = lone_search(VECTORS, index, 3, None)
    assert isinstance(lone, JoinedSearch)
    lone.ask(QUERIES[:1])
    lone._search._rows[0, -1] = -1
    assert lone.best(3) is None
    assert lone.near(3, 1e-5) is None
    assert lone.found.rows[0, -1] == -1
