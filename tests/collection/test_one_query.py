"""A query by itself takes shorter ways; they answer what the long ones do, of one state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection, searching
from mirror_index.collection.view import View
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.errors import CollectionCorruptError, MirrorIndexError, UsageError
from mirror_index.index import approximate
from mirror_index.index.ann import AnnIndex, Nearby
from mirror_index.index.building import build_ann
from mirror_index.index.exact import rank
from mirror_index.index.lone import LoneSearch
from mirror_index.index.plain import plain_search, quick_answer
from mirror_index.records import Record
from mirror_index.store.expanding import records_of_texts
from mirror_index.vectors import FloatMatrix, check_unit_rows
from tests.fakes import HashEncoder

DIM, ROWS = 24, 700
ENCODER = HashEncoder(DIM)


def unit(rows: int, seed: int = 3) -> FloatMatrix:
    made = np.random.default_rng(seed).normal(size=(rows, DIM))
    return check_unit_rows(made)


def records(version: int) -> list[Record]:
    return [Record(id=f"r{i}", text=f"text {i}", metadata={"version": version}) for i in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    spec = IndexSpec(kind="exact")
    Collection.build(tmp_path / "c", records(1), encoder=ENCODER, spec=spec).close()
    return tmp_path / "c"


@pytest.fixture
def reader(folder: Path) -> Iterator[Collection]:
    with Collection.open(folder, encoder=ENCODER) as opened:
        yield opened


def meeting(
    monkeypatch: pytest.MonkeyPatch, happens: Any, *, after: bool = False
) -> list[sqlite3.Connection]:
    """Let something happen once, before or after the records of a search are read."""
    asked: list[sqlite3.Connection] = []

    def read(connection: sqlite3.Connection, *rest: Any) -> Any:
        asked.append(connection)
        if len(asked) == 1 and not after:
            happens()
        found = records_of_texts(connection, *rest)
        if len(asked) == 1 and after:
            happens()
        return found

    monkeypatch.setattr(searching, "records_of_texts", read)
    return asked


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_in_the_middle_is_answered_anew(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    query = ENCODER.encode(["text 7"])
    assert reader.search_vectors(query)[0][0].metadata == {"version": 1}

    def change() -> None:
        with Collection.open(folder, encoder=ENCODER) as writer:
            writer.delete(["r7"])
            writer.update(record for record in records(2) if record.id != "r7")

    asked = meeting(monkeypatch, change, after=after)
    (hits,) = reader.search_vectors(query)
    assert len(asked) == 2
    assert len(hits) == 10
    assert {hit.metadata["version"] for hit in hits} == {2}
    assert "r7" not in {hit.id for hit in hits}


def test_no_transaction_is_held_unless_it_is_needed(
    reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ENCODER.encode(["text 7"])
    reader.search_vectors(query)  # the state is at hand from here on
    held: list[bool] = []

    def read(connection: sqlite3.Connection, *rest: Any) -> Any:
        held.append(connection.in_transaction)
        return records_of_texts(connection, *rest)

    monkeypatch.setattr(searching, "records_of_texts", read)
    reader.search_vectors(query)
    reader.search_vectors(query, SearchOptions(where="version = 1"))
    assert held == [False, True]


def test_damage_met_on_the_short_way_is_told_as_ever(
    reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ENCODER.encode(["text 7"])
    reader.search_vectors(query)

    def torn(*_: Any) -> Any:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(searching, "records_of_texts", torn)
    with pytest.raises(CollectionCorruptError, match="damaged"):
        reader.search_vectors(query)


def test_the_tombstones_of_a_new_state_are_read_within_it(folder: Path, reader: Collection) -> None:
    query = ENCODER.encode(["text 7"])
    reader.search_vectors(query)
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.delete(["r7", "r8"])
    for _ in range(2):
        (hits,) = reader.search_vectors(query, SearchOptions(k=100))
        assert len(hits) == 38
        assert reader.nearest(query, 100).rows[0, 37:].min() == -1


def test_options_are_checked_whatever_was_asked_before(reader: Collection) -> None:
    query = ENCODER.encode(["text 7"])
    assert reader.nearest(query, 1).rows.shape == (1, 1)
    for k in (0, -1):
        with pytest.raises(MirrorIndexError):
            reader.nearest(query, k)


def test_a_row_by_itself_is_checked_as_one_of_many() -> None:
    rows = np.random.default_rng(1).normal(size=(300, DIM)) * 7
    for dtype in (np.float64, np.float32, np.float16):
        many = rows.astype(dtype)
        together = check_unit_rows(many)
        before = many.copy()
        alone = np.concatenate([check_unit_rows(one) for one in np.split(many, len(many))])
        assert together.tobytes() == alone.tobytes()
        assert alone.dtype == np.float32
        assert before.tobytes() == many.tobytes()
    assert (
        check_unit_rows(rows[:1].astype(int)).tobytes()
        == check_unit_rows(np.asfortranarray(rows[:2].astype(int)))[:1].tobytes()
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0])
def test_a_row_without_length_is_refused_by_itself_too(value: float) -> None:
    for rows in (1, 3):
        matrix = np.ones((rows, DIM))
        matrix[0] = value
        with pytest.raises(MirrorIndexError, match="rows 0"):
            check_unit_rows(matrix)


def test_few_candidates_are_ranked_as_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = unit(50)
    vectors[30:] = vectors[:20]  # ties
    rng = np.random.default_rng(4)
    for count in (0, 1, 2, 12, 64):
        chosen = rng.integers(0, 50, count)
        few = rank(vectors[3], vectors, chosen)
        with monkeypatch.context() as patch:
            patch.setattr("mirror_index.index.exact._FEW", -1)
            many = rank(vectors[3], vectors, chosen)
        assert few.rows.tolist() == many.rows.tolist()
        assert few.scores.tobytes() == many.scores.tobytes()
        assert (few.rows.dtype, few.scores.dtype) == (many.rows.dtype, many.scores.dtype)
        true = vectors[few.rows].astype(np.float64) @ vectors[3].astype(np.float64)
        assert few.scores == pytest.approx(true, abs=1e-6)


def test_a_damaged_row_hides_only_itself() -> None:
    vectors = unit(30)
    sound = rank(vectors[3], vectors, np.arange(29))
    vectors[29] = np.nan
    found = rank(vectors[3], vectors, np.arange(30))
    assert found.rows.tolist()[:29] == sound.rows.tolist()
    assert found.rows[29] == 29


@pytest.fixture(scope="module")
def index() -> AnnIndex:
    made = build_ann(unit(ROWS), "HNSW16")
    made.parameters["value"] = 60
    return made


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("k", [1, 10, 16])
def test_a_quick_answer_is_the_long_one(
    index: AnnIndex, k: int, filtered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit(ROWS)
    allowed = np.arange(0, ROWS, 2) if filtered else None
    queries = unit(40, seed=9)
    quick = [quick_answer(one[None], vectors, index, k, allowed) for one in queries]
    long = approximate.approximate_search(queries, vectors, index, k, allowed)
    for one, many in zip(quick, long, strict=True):
        assert one is not None
        assert one.path == many.path == "candidates"
        assert one.ranked.rows.tolist() == many.ranked.rows.tolist()
        assert one.ranked.scores.tolist() == many.ranked.scores.tolist()


def nothing_else(*_: Any, **__: Any) -> Any:
    raise AssertionError("the long way was taken")


def test_a_query_by_itself_goes_the_quick_way(
    index: AnnIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approximate._Search, "answers", nothing_else)
    (answer,) = approximate.approximate_search(unit(1, seed=9), unit(ROWS), index, 10)
    assert len(answer.ranked.rows) >= 10


def told(index: AnnIndex, rows: list[int], scores: list[float]) -> AnnIndex:
    """Return an index that gives a query by itself the answer it was told."""
    mine = AnnIndex(index._index, index.parameters)
    lone = LoneSearch(index._index, len(rows), None, graph=True)

    def answer(*_: object) -> None:
        lone._rows[0], lone._scores[0] = rows, scores

    lone._search = answer
    mine.lone = lambda *_, **__: lone  # type: ignore[method-assign]
    mine.nearby = lambda queries, *_, **__: Nearby(*lone(queries))  # type: ignore[method-assign]
    return mine


@pytest.mark.parametrize(
    ("rows", "scores"),
    [
        ([9, 4, 7, -1], [0.9, 0.8, 0.5, -9.0]),  # too few
        ([9, 4, 7, ROWS], [0.9, 0.8, 0.5, 0.4]),  # a row that is not there
        ([9, 4, 7, 1], [0.9, 0.8, 0.4, 0.5]),  # not in order
        ([9, 4, 7], [0.9, 0.8, 0.5]),  # nothing past the third
    ],
)
def test_what_is_not_quick(index: AnnIndex, rows: list[int], scores: list[float]) -> None:
    odd = told(index, rows, scores)
    assert quick_answer(unit(1), unit(ROWS), odd, 3, None) is None


def test_nor_are_few_rows_or_codes(index: AnnIndex) -> None:
    assert quick_answer(unit(1), unit(ROWS), index, 3, np.arange(200)) is None
    codes = build_ann(unit(ROWS), "IVF8,PQ8x4fs")
    assert quick_answer(unit(1), unit(ROWS), codes, 3, None) is None


def test_ties_at_the_end_of_a_quick_answer_come_along(index: AnnIndex) -> None:
    vectors = unit(ROWS)
    vectors[[11, 12]] = vectors[10]
    tied = told(index, [12, 10, 11, 50], [1.0, 0.9999999, 0.9999998, 0.2])
    answer = quick_answer(vectors[10:11], vectors, tied, 1, None)
    assert answer is not None
    assert answer.ranked.rows.tolist() == [10, 11, 12]


def test_a_cosine_above_one_is_one(index: AnnIndex) -> None:
    above = told(index, [12, 10, 11, 50], [1.0000001, 0.9, 0.8, 0.2])
    plain = plain_search(unit(1), unit(ROWS), above, 3)
    assert plain is not None
    assert plain.scores[0, 0] == 1.0
    assert plain.rows.tolist() == [[12, 10, 11]]


def test_a_new_breadth_counts_at_once(index: AnnIndex) -> None:
    mine = AnnIndex(index._index, index.parameters)
    asked = unit(60, seed=9)
    mine.parameters["value"] = 24
    narrow = mine.nearby(asked, 16, None)
    mine.parameters["value"] = 600
    wide = mine.nearby(asked, 16, None)
    assert wide.scores.sum() > narrow.scores.sum()
    mine.parameters["fetch"] = 40
    assert mine.nearby(asked, 16, None).rows.shape == (60, 40)


def test_metadata_decodes_all_at_once_or_not_at_all() -> None:
    assert searching.decode_all(['{"a":1}', "{}"]) == [{"a": 1}, {}]
    assert searching.decode_all([]) == []
    for torn in ("{}, {}", "{}] , [", '{"a":1'):
        with pytest.raises(json.JSONDecodeError):
            searching.decode_all(["{}", torn])


def test_a_filter_is_checked_also_without_a_query(reader: Collection) -> None:
    with pytest.raises(MirrorIndexError):
        reader.search([" "], SearchOptions(where="nothing = 1"))
    assert reader.search([" "]) == [[]]
    with pytest.raises(UsageError, match="2 query texts for 1 vectors"):
        reader.search_vectors(ENCODER.encode(["a"]), queries=["a", "b"])


def test_the_state_at_hand_is_used_again(
    reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.nearest(ENCODER.encode(["text 7"]), 3)
    made: list[View] = []
    monkeypatch.setattr("mirror_index.collection.opening.View", nothing_else)
    reader.nearest(ENCODER.encode(["text 7"]), 3)
    reader.search_vectors(ENCODER.encode(["text 7"]))
    assert not made
