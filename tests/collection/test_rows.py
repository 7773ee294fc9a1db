"""Rows and scores as arrays, and one answer for every k, against brute force over the vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import Dtype, IndexSpec, SearchOptions
from mirror_index.errors import (
    CollectionCorruptError,
    FilterError,
    MirrorIndexError,
    UsageError,
)
from mirror_index.index import approximate
from mirror_index.index.ann import AnnIndex, Nearby
from mirror_index.index.plain import plain_search
from mirror_index.records import Record, Scope
from mirror_index.vectors import Encoded, FloatMatrix
from tests.fakes import HashEncoder

ROWS, DIM = 3000, 24
Floats = np.ndarray[Any, Any]


def clusters(rows: int, seed: int = 5) -> FloatMatrix:
    rng = np.random.default_rng(seed)
    made = rng.normal(size=(40, DIM))[rng.integers(0, 40, rows)]
    made = made + 0.6 * rng.normal(size=made.shape)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


class ByNumber(HashEncoder):
    """The text "text 12" has the vector of row 12."""

    def __init__(self, vectors: FloatMatrix) -> None:
        super().__init__(DIM, salt="by number")
        self.vectors = vectors

    def encode_audited(self, texts: Any) -> Encoded:
        if not all(text.startswith("text ") for text in texts):
            return super().encode_audited(texts)
        rows = [int("".join(char for char in text if char.isdigit()) or 0) for text in texts]
        none = np.zeros(len(rows), dtype=np.bool_)
        ones = np.ones(len(rows), dtype=np.int64)
        vectors = self.vectors[np.minimum(rows, len(self.vectors) - 1)]
        return Encoded(vectors=vectors, tokens=ones, truncated=none, unknown=none)


def record(row: int) -> Record:
    return Record(
        id=f"r{row:06d}", text=f"text {row:06d}", metadata={"part": row % 10}, line=row + 1
    )


VECTORS = clusters(ROWS + 200)
ENCODER = ByNumber(VECTORS)
QUERIES = clusters(30, seed=5)[::-1] + np.float32(0.05)


@pytest.fixture(scope="module", params=["exact", "HNSW16", "IVF16,Flat", "IVF16,SQ8", "HNSW16,SQ8"])
def collection(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("rows") / "c"
    spec = IndexSpec(kind=request.param)
    items = map(record, range(ROWS))
    with Collection.build(folder, items, encoder=ENCODER, spec=spec) as made:
        yield made


def cosines(rows: FloatMatrix, queries: Floats) -> Floats:
    unit = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    found: Floats = unit.astype(np.float64) @ rows.astype(np.float64).T
    return found


def stored(collection: Collection) -> FloatMatrix:
    return collection.vectors_of(range(collection.committed().vector_rows))


@pytest.mark.parametrize("k", [1, 10, 16, 17, 64, 200])
def test_rows_and_scores_are_those_of_the_hits(collection: Collection, k: int) -> None:
    found = collection.nearest(QUERIES, k)
    assert (found.rows.shape, found.rows.dtype) == ((30, k), np.int64)
    assert (found.scores.shape, found.scores.dtype) == ((30, k), np.float32)
    assert found.generation == collection.committed().number
    true = cosines(stored(collection), QUERIES)
    assert np.abs(np.take_along_axis(true, found.rows, axis=1) - found.scores).max() < 2e-6
    assert np.all(np.diff(found.scores, axis=1) <= 0)
    assert all(len(set(row)) == k for row in found.rows.tolist())
    hits = collection.search_vectors(QUERIES, SearchOptions(k=k))
    for row, one, scores in zip(found.rows, hits, true, strict=True):
        shown = [int(hit.id[1:]) for hit in one]
        assert scores[row] == pytest.approx(scores[shown], abs=2e-6)
        assert len(set(row.tolist()) - set(shown)) <= 1  # where two scores are equal but for noise
    exact = collection.nearest(QUERIES, k, exact=True)
    assert exact.path == "exact"
    highest = -np.sort(-true, axis=1)[:, :k]
    assert np.abs(np.take_along_axis(true, exact.rows, axis=1) - highest).max() < 2e-6
    shared = [len(set(a) & set(b)) / k for a, b in zip(found.rows, exact.rows, strict=True)]
    assert np.mean(shared) > 0.85


def test_every_answer_begins_as_the_shorter_one(collection: Collection) -> None:
    longest = collection.nearest(QUERIES, 300).rows
    middle = collection.nearest(QUERIES, 60).rows
    graph = collection.committed().ann_kind.startswith("HNSW")
    for k in (1, 3, 10, 16):
        short = collection.nearest(QUERIES, k).rows
        assert short.tolist() == middle[:, :k].tolist()
        if graph:
            assert short.tolist() == longest[:, :k].tolist()
    assert collection.nearest(QUERIES, 33).rows.tolist() == middle[:, :33].tolist()
    alone = np.concatenate([collection.nearest(query[None, :], 60).rows for query in QUERIES])
    assert alone.tolist() == middle.tolist()


@pytest.mark.parametrize("limit", [0, 20_000])
@pytest.mark.parametrize("parts", [1, 3, 10])
def test_a_filter(
    collection: Collection, parts: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", limit)
    true = cosines(stored(collection), QUERIES)
    true[:, np.arange(ROWS) % 10 >= parts] = -np.inf
    best = np.argsort(-true, axis=1, kind="stable")[:, :12]
    for _ in range(2):
        found = collection.nearest(QUERIES, 12, where=f"part < {parts}")
        assert (found.rows % 10 < parts).all()
        if found.path == "exact":
            highest = np.take_along_axis(true, best, axis=1)
            assert np.abs(np.take_along_axis(true, found.rows, axis=1) - highest).max() < 2e-6
        shared = [len(set(a) & set(b)) / 12 for a, b in zip(found.rows, best, strict=True)]
        assert np.mean(shared) > 0.85


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Collection]:
    items = [
        Record(id="b", text="text 1", concept_id="C", scope=Scope.LABEL, name_type="word", line=3),
        Record(id="a", text="text 1", metadata={"n": 1}),
        *(record(row) for row in range(2, 300)),
    ]
    spec = IndexSpec(kind="HNSW16")
    with Collection.build(tmp_path / "c", items, encoder=ENCODER, spec=spec) as made:
        yield made


def test_records_of_rows(small: Collection) -> None:
    (row,) = small.nearest(VECTORS[1:2], 1).rows[0].tolist()
    found = small.records(np.array([[row, -1], [row, 5]]))
    assert list(found) == sorted({row, 5})
    assert [one.id for one in found[row]] == ["a", "b"]
    assert found[row][0].metadata == {"n": 1}
    second = found[row][1]
    assert (second.text, second.concept_id, second.scope) == ("text 1", "C", Scope.LABEL)
    assert (second.name_type, second.line) == ("word", 3)
    assert small.records([]) == {}
    for bad in (-2, 299, 10**9):
        with pytest.raises(UsageError, match="no such vector row"):
            small.records([0, bad])


def test_rows_of_a_state_before_a_compaction_are_refused(small: Collection) -> None:
    found = small.nearest(VECTORS[50:51], 3)
    gone = small.records(found.rows)[int(found.rows[0, 0])][0].id
    small.delete([gone])
    after = small.nearest(VECTORS[50:51], 3)
    assert after.rows[0].tolist()[:2] == found.rows[0].tolist()[1:]
    assert int(found.rows[0, 0]) not in small.records(found.rows, generation=found.generation)
    small.compact()
    with pytest.raises(UsageError, match="other row numbers"):
        small.records(found.rows, generation=found.generation)
    with pytest.raises(UsageError, match="other row numbers"):
        small.records(found.rows, generation=99)
    fresh = small.nearest(VECTORS[50:51], 3)
    assert small.records(fresh.rows, generation=fresh.generation)


def test_rows_added_later_are_found(small: Collection) -> None:
    small.add(record(row) for row in range(ROWS, ROWS + 50))
    found = small.nearest(VECTORS[ROWS : ROWS + 50], 2)
    names = small.records(found.rows)
    assert [names[row][0].id for row in found.rows[:, 0].tolist()] == [
        f"r{row:06d}" for row in range(ROWS, ROWS + 50)
    ]


def test_where_there_are_too_few(small: Collection) -> None:
    found = small.nearest(VECTORS[:2], 400)
    assert (found.rows >= 0).sum(axis=1).tolist() == [299, 299]
    assert (found.rows[:, 299:] == -1).all()
    assert (found.scores[:, 299:] == -2).all()
    none = small.nearest(VECTORS[:2], 2, where="id = 'nobody'")
    assert none.rows.tolist() == [[-1, -1], [-1, -1]]
    assert small.nearest(VECTORS[:0], 3).rows.shape == (0, 3)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_the_length_of_a_query_is_nothing_to_it(small: Collection, scale: float) -> None:
    expected = small.nearest(VECTORS[:3], 5)
    found = small.nearest(VECTORS[:3].astype(np.float64) * scale, 5)
    assert found.rows.tolist() == expected.rows.tolist()


def test_what_is_refused(small: Collection) -> None:
    with pytest.raises(MirrorIndexError, match="k must be at least 1"):
        small.nearest(VECTORS[:1], 0)
    with pytest.raises(MirrorIndexError, match="columns"):
        small.nearest(VECTORS[:1, :5], 1)
    with pytest.raises(MirrorIndexError, match="2 queries with k=1,000,000,000 are more than"):
        small.nearest(VECTORS[:2], 10**9)
    with pytest.raises(MirrorIndexError, match="NaN"):
        small.nearest(np.full((1, DIM), np.nan, dtype=np.float32), 1)
    with pytest.raises(FilterError, match="no record has this field"):
        small.nearest(VECTORS[:1], 1, where="nothing = 1")


def test_halves_are_scored_from_the_file(tmp_path: Path) -> None:
    spec = IndexSpec(kind="HNSW16", dtype=Dtype.FLOAT16)
    items = map(record, range(600))
    with Collection.build(tmp_path / "c", items, encoder=ENCODER, spec=spec) as made:
        found = made.nearest(QUERIES, 5)
        true = cosines(stored(made), QUERIES)
        assert np.abs(np.take_along_axis(true, found.rows, axis=1) - found.scores).max() < 2e-6


class Scripted(AnnIndex):
    """Proposes what the test says."""

    answer: Nearby

    def nearby(self, *args: object, **kwargs: object) -> Nearby:
        return Nearby(self.answer.scores.copy(), self.answer.rows.copy())


def scripted(vectors: FloatMatrix, rows: list[int], scores: list[float]) -> Scripted:
    from mirror_index.index.building import build_ann

    made = build_ann(vectors, "HNSW16")
    index = Scripted(made._index, made.parameters)
    index.answer = Nearby(np.array([scores], dtype=np.float32), np.array([rows]))
    return index


def test_equal_scores_come_by_row() -> None:
    vectors = clusters(400)
    index = scripted(vectors, [9, 4, 7, 1], [0.9, 0.9, 0.5, 0.4])
    plain = plain_search(vectors[:1], vectors, index, 3)
    assert plain is not None
    assert plain.rows.tolist() == [[4, 9, 7]]
    assert plain.scores[0].tolist() == pytest.approx([0.9, 0.9, 0.5])
    over = scripted(vectors, [9, 4, 7, 1], [1.0000001, 0.9, 0.5, 0.4])
    plain = plain_search(vectors[:1], vectors, over, 3)
    assert plain is not None
    assert plain.scores[0, 0] == 1.0


def test_later_rows_take_their_places() -> None:
    vectors = clusters(400)
    true = cosines(vectors, vectors[395:396])[0]
    later = [row for row in np.argsort(-true).tolist() if row >= 390]
    index = scripted(vectors[:390], [9, 4, 7, 1], [true[later[0]] + 0.1, 0.2, 0.15, 0.1])
    plain = plain_search(vectors[395:396], vectors, index, 3)
    assert plain is not None
    assert plain.rows.tolist() == [[9, later[0], later[1]]]
    allowed = np.array([*range(300), later[1]])
    plain = plain_search(vectors[395:396], vectors, index, 3, np.sort(allowed))
    assert plain is not None
    assert plain.rows[0, 1] == later[1]
    over = scripted(vectors[:390], [9, 4, 7, 1], [0.9, 0.8, 0.8, 0.8])
    tied = vectors[:1] * np.float32(0.1)  # every later row scores less
    plain = plain_search(tied, vectors, over, 3)
    assert plain is not None
    assert plain.unsure.tolist() == [True]


@pytest.mark.parametrize(
    ("rows", "scores"),
    [
        ([9, 4, 7, 1], [0.9, 0.8, 0.5, 0.5]),  # a tie that may go on beyond what was proposed
        ([9, 4, 7, -1], [0.9, 0.8, 0.5, -9.0]),
        ([9, 4, 7, 400], [0.9, 0.8, 0.5, 0.4]),
    ],
)
def test_what_is_not_plain(rows: list[int], scores: list[float]) -> None:
    vectors = clusters(400)
    index = scripted(vectors, rows, scores)
    plain = plain_search(vectors[:1], vectors, index, 3)
    assert plain is not None
    assert plain.unsure.tolist() == [True]
    assert plain_search(vectors[:1], vectors, index, 4) is None


def test_the_unsure_are_asked_again_and_only_they(
    small: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = VECTORS[1:7]
    true = small.nearest(queries, 3, exact=True)
    first = small.nearest(queries, 3)
    asked: list[int] = []
    nearby = AnnIndex.nearby

    def spoilt(self: AnnIndex, vectors: FloatMatrix, *args: Any, **more: Any) -> Nearby:
        scores, rows = nearby(self, vectors, *args, **more)
        asked.append(len(vectors))
        if len(asked) == 1:
            rows[[1, 4], -1] = -1
        return Nearby(scores, rows)

    monkeypatch.setattr(AnnIndex, "nearby", spoilt)
    found = small.nearest(queries, 3)
    assert asked == [6, 2]
    assert found.rows.tolist() == first.rows.tolist()
    assert found.scores == pytest.approx(first.scores, abs=1e-6)
    assert np.mean(found.rows == true.rows) > 0.8
    assert found.path == "candidates"


def test_a_tie_inside_the_proposed_is_settled_by_row() -> None:
    vectors = clusters(400)
    index = scripted(vectors, [9, 8, 5, 7, 1], [0.9, 0.5, 0.5, 0.5, 0.4])
    plain = plain_search(vectors[:1], vectors, index, 3)
    assert plain is not None
    assert plain.rows.tolist() == [[9, 5, 7]]


def test_a_worse_beginning_is_kept_and_k_is_still_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph whose first search misses most of the best rows must not shorten a long answer."""
    from mirror_index.index.building import build_ann

    vectors = clusters(700)
    built = build_ann(vectors, "HNSW16")
    true = cosines(vectors, vectors[:1])[0]
    order = np.argsort(-true, kind="stable")

    class Bad(AnnIndex):
        def nearby(self, queries: FloatMatrix, depth: int, *args: Any, **more: Any) -> Nearby:
            rows = order[40:64] if depth == 16 else order[:80]
            return Nearby(true[rows][None, :].astype(np.float32), rows[None, :].copy())

    index = Bad(built._index, built.parameters)
    monkeypatch.setattr(approximate, "quick_answer", lambda *_: None)
    (short,) = approximate.approximate_search(vectors[:1], vectors, index, 10)
    assert short.ranked.rows.tolist() == order[40:50].tolist()
    (long,) = approximate.approximate_search(vectors[:1], vectors, index, 50)
    assert long.ranked.rows.tolist() == order[40:90].tolist()
    assert long.path == "widened"
    (free,) = approximate.approximate_search(vectors[:1], vectors, index, 50, prefix=False)
    assert free.ranked.rows.tolist() == order[:50].tolist()
    (most,) = approximate.approximate_search(vectors[:1], vectors, index, 690)
    assert (most.path, len(most.ranked.rows)) == ("exact", 690)


def test_a_reader_moves_on_with_the_writer(small: Collection) -> None:
    with Collection.open(small.folder, encoder=ENCODER) as reader:
        before = reader.nearest(VECTORS[ROWS : ROWS + 1], 1)
        assert before.scores[0, 0] < 1
        small.add([record(ROWS)])
        after = reader.nearest(VECTORS[ROWS : ROWS + 1], 1)
        assert (after.scores[0, 0], after.generation) == (1.0, before.generation + 1)
        small.delete([f"r{ROWS:06d}"])
        for _ in range(2):
            last = reader.nearest(VECTORS[ROWS : ROWS + 1], 1)
            assert last.rows.tolist() == before.rows.tolist()
            assert last.generation == before.generation + 2


def test_damage_is_told_as_ever(small: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    small.nearest(VECTORS[:1], 1)

    def damaged() -> int:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(small._store, "_version", damaged)
    with pytest.raises(CollectionCorruptError, match="malformed"):
        small.nearest(VECTORS[:1], 1)


def test_vectors_of_filters_make_way(small: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.view._KEPT_VALUES", 200 * DIM)
    true = cosines(stored(small), VECTORS[:1])[0]
    for _ in range(2):
        for below in (1, 2, 3, 4, 9):
            found = small.nearest(VECTORS[:1], 4, where=f"part < {below}").rows[0]
            passing = [row for row in range(1, 299) if (row + 1) % 10 < below]
            assert set(found) <= set(passing)
            assert true[found] == pytest.approx(sorted(true[passing], reverse=True)[:4], abs=2e-6)
            with small._reading() as view:
                kept = sum(len(rows) for rows, _ in view._gathered)
                assert 0 < kept <= 200
                assert max(len(rows) for rows, _ in view._gathered) <= 100
