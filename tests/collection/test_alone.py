"""A query by itself is answered as one of many is, of one state, whatever is committed then."""

from __future__ import annotations

import random
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection, alone
from mirror_index.config import Dtype, IndexSpec, SearchOptions
from mirror_index.errors import CollectionCorruptError, MirrorIndexError, UsageError
from mirror_index.index.ann import AnnIndex
from mirror_index.records import Hit, Record, Scope
from mirror_index.store.expanding import only_records
from tests.fakes import HashEncoder

ROWS = 400
ENCODER = HashEncoder(24)
WORDS = "red green blue round square tall old new wet dry cold warm".split()


def text(row: int) -> str:
    return f"{WORDS[row % 12]} {WORDS[row // 12 % 12]} thing {row}"


def record(row: int, version: int = 1) -> Record:
    return Record(id=f"r{row:04d}", text=text(row), metadata={"version": version})


QUERIES = ENCODER.encode([f"{WORDS[row % 12]} thing {row * 3}" for row in range(25)])


@pytest.fixture(params=["HNSW16", "IVF8,Flat"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each text in two spellings of the same vector: ties all over."""
    items = [record(row) for row in range(ROWS)]
    items += [
        Record(id=f"a{row}", text=text(row).upper(), metadata={"version": 1})
        for row in range(0, 60, 2)
    ]
    spec = IndexSpec(kind=request.param)
    Collection.build(tmp_path / "c", items, encoder=ENCODER, spec=spec).close()
    return tmp_path / "c"


@pytest.fixture
def reader(folder: Path) -> Iterator[Collection]:
    with Collection.open(folder, encoder=ENCODER) as opened:
        opened.nearest(QUERIES[:1])  # the state is at hand from here on
        yield opened


def same(reader: Collection, k: int) -> None:
    """Compare each query by itself with the same one of many."""
    options = SearchOptions(k=k)
    many = reader.search_vectors(QUERIES, options)
    rows = reader.nearest(QUERIES, k)
    for place in range(len(QUERIES)):
        query = QUERIES[place : place + 1]
        assert reader.search_vectors(query, options) == many[place : place + 1]
        found = reader.nearest(query, k)
        assert found.rows.tolist() == rows.rows[place : place + 1].tolist()
        assert found.scores[0] == pytest.approx(rows.scores[place], abs=1e-6)
        assert (found.rows.dtype, found.scores.dtype) == (np.int64, np.float32)
        assert found.generation == rows.generation
        assert found.path == rows.path


@pytest.mark.parametrize("k", [1, 10, 16, 40])
def test_by_itself_as_among_many(reader: Collection, k: int) -> None:
    same(reader, k)
    assert reader.nearest(QUERIES[:1], k).path == "candidates"


@pytest.mark.parametrize("most", [20_000, 100])
def test_with_tombstones_too(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Few rows that are left are compared all; of more the index is told which."""
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", most)
    gone = {f"r{row:04d}" for row in range(0, 50)}
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.delete(gone)
    for query in QUERIES:
        (hits,) = reader.search_vectors(query[None])
        assert len(hits) == 10
        assert not gone & {hit.id for hit in hits}
        assert {hit.path for hit in hits} == {"exact" if most > ROWS else "candidates"}
    same(reader, 10)


def test_with_several_records_of_a_text(folder: Path, reader: Collection) -> None:
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.add(Record(id=f"x{row}", text=text(row // 3), metadata={}) for row in range(90))
    (hits,) = reader.search_vectors(ENCODER.encode([text(5)]), SearchOptions(k=5))
    assert [hit.id for hit in hits] == ["r0005", "x15", "x16", "x17", hits[4].id]
    same(reader, 10)


def test_ties_are_ordered_by_id(reader: Collection) -> None:
    (hits,) = reader.search_vectors(ENCODER.encode([text(8)]), SearchOptions(k=2))
    assert [(hit.id, hit.score) for hit in hits] == [("a8", 1.0), ("r0008", 1.0)]
    (hits,) = reader.search_vectors(ENCODER.encode([text(8)]), SearchOptions(k=1))
    assert [hit.id for hit in hits] == ["a8"]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("kind", ["HNSW16", "IVF8,Flat"])
def test_more_ties_than_are_found(tmp_path: Path, kind: str, held: bool) -> None:
    """64 spellings of one vector: by row in arrays, by id in hits, alone as among many.

    Where they came later than the index, they are the first of all of them.
    """
    spellings = [
        "".join(
            char.upper() if number >> place & 1 else char for place, char in enumerate("abcdef")
        )
        for number in range(64)
    ]
    tied = [
        Record(id=f"s{63 - number:02d}", text=spelling, metadata={})
        for number, spelling in enumerate(spellings)
    ]
    items, spec = [record(row) for row in range(ROWS)], IndexSpec(kind=kind)
    first = [*items, *tied] if held else items
    with Collection.build(tmp_path / "c", first, encoder=ENCODER, spec=spec) as reader:
        reader.add([] if held else tied)
        query = ENCODER.encode(["abcdef"])
        twice = np.repeat(query, 2, axis=0)
        reader.nearest(query)  # the state is at hand from here on
        found = reader.nearest(query, 5)
        assert found.scores[0].tolist() == pytest.approx([1.0] * 5)
        assert reader.nearest(twice, 5).rows[:1].tolist() == found.rows.tolist()
        (hits,) = reader.search_vectors(query, SearchOptions(k=5))
        assert hits == reader.search_vectors(twice, SearchOptions(k=5))[0]
        assert {hit.score for hit in hits} == {1.0}
        if not held:
            assert found.rows.tolist() == [list(range(ROWS, ROWS + 5))]
            assert [hit.id for hit in hits] == [f"s{number:02d}" for number in range(5)]


def test_a_damaged_row_takes_the_long_way(
    reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = reader.search_vectors(QUERIES[:1])
    monkeypatch.setattr(alone, "rank_few", lambda *_: None)
    assert reader.search_vectors(QUERIES[:1]) == expected


def test_texts_are_shown_as_they_were_asked_for(reader: Collection) -> None:
    (hits,) = reader.search_vectors(QUERIES[:1], queries=["as asked"])
    assert {hit.query for hit in hits} == {"as asked"}
    assert [hit.rank for hit in hits] == list(range(1, 11))
    assert {hit.path for hit in hits} == {"candidates"}
    (hits,) = reader.search([text(3)])
    assert (hits[0].id, hits[0].query, hits[0].text) == ("r0003", text(3), text(3))
    with pytest.raises(UsageError, match="2 query texts for 1 vectors"):
        reader.search_vectors(QUERIES[:1], queries=["a", "b"])


def test_what_cannot_be_searched_for_is_told(reader: Collection) -> None:
    for bad in (np.zeros((1, 24)), np.full((1, 24), np.nan), np.ones((1, 5))):
        for dtype in (np.float32, np.float64):
            with pytest.raises(MirrorIndexError):
                reader.search_vectors(bad.astype(dtype))
            with pytest.raises(MirrorIndexError):
                reader.nearest(bad.astype(dtype))
    for odd in (None, 3.0, np.float32(1.0), np.ones(24, dtype=np.float32), ["a"], np.array(["a"])):
        with pytest.raises(MirrorIndexError):
            reader.search_vectors(odd)  # type: ignore[arg-type]
        with pytest.raises(MirrorIndexError):
            reader.nearest(odd)  # type: ignore[arg-type]
    assert len(reader.search_vectors(QUERIES[:1].tolist())[0]) == 10  # type: ignore[arg-type]


def test_what_is_no_k_is_refused_whatever_was_asked_before(reader: Collection) -> None:
    assert reader.nearest(QUERIES[:1], 1).rows.shape == (1, 1)
    assert reader.nearest(QUERIES[:1], np.int64(3)).rows.shape == (1, 3)  # type: ignore[arg-type]
    for k in (0, -1, 1.0, 2.5, "2", None):
        with pytest.raises(MirrorIndexError):
            reader.nearest(QUERIES[:1], k)  # type: ignore[arg-type]
    for k in range(1, 100):
        assert reader.nearest(QUERIES[:1], k).rows.shape == (1, k)


def test_exact_leaves_the_index_aside(reader: Collection) -> None:
    assert reader.nearest(QUERIES[:1], exact=True).path == "exact"
    (hits,) = reader.search_vectors(QUERIES[:1], SearchOptions(exact=True))
    assert {hit.path for hit in hits} == {"exact"}


def test_halves_are_scored_from_the_file(tmp_path: Path) -> None:
    spec = IndexSpec(kind="HNSW16", dtype=Dtype.FLOAT16)
    items = map(record, range(ROWS))
    with Collection.build(tmp_path / "c", items, encoder=ENCODER, spec=spec) as made:
        same(made, 10)
        rows = made.nearest(QUERIES, 10)
        for place in range(len(QUERIES)):
            found = made.nearest(QUERIES[place : place + 1], 10)
            assert found.scores.tobytes() == rows.scores[place].tobytes()


def test_texts_of_several_records_are_not_read(folder: Path, reader: Collection) -> None:
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.add(Record(id=f"x{row}", text=text(1), metadata={}) for row in range(50))
    with reader._reading() as view:
        connection, number = view.store.connection, view.generation.number
        rows = dict(connection.execute("SELECT text, row FROM texts"))
        found = only_records(connection, [rows[text(1)], rows[text(2)]])
        assert found == [(number, rows[text(2)], "r0002", text(2), '{"version": 1}', None, None)]
        assert only_records(connection, [rows[text(1)]]) == []


def meeting(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None], *, after: bool
) -> list[int]:
    """Let something happen once, before or after the records of a query are read."""
    asked: list[int] = []

    def read(connection: sqlite3.Connection, rows: Any) -> Any:
        asked.append(len(rows))
        if len(asked) == 1 and not after:
            happens()
        found = only_records(connection, rows)
        if len(asked) == 1 and after:
            happens()
        return found

    monkeypatch.setattr(alone, "only_records", read)
    return asked


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_in_the_middle(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """Read before it, the hits are all of the old state; after it, all of the new one."""
    query = ENCODER.encode([text(7)])
    assert reader.search_vectors(query)[0][0].metadata == {"version": 1}

    def change() -> None:
        with Collection.open(folder, encoder=ENCODER) as writer:
            writer.delete([f"a{row}" for row in range(0, 60, 2)])
            writer.update(record(row, 2) for row in range(ROWS) if row != 7)
            writer.delete(["r0007"])

    asked = meeting(monkeypatch, change, after=after)
    (hits,) = reader.search_vectors(query)
    assert asked[0] == 10
    versions = {hit.metadata["version"] for hit in hits}
    assert versions == ({1} if after else {2})
    assert ("r0007" in {hit.id for hit in hits}) == after
    (hits,) = reader.search_vectors(query)
    assert {hit.metadata["version"] for hit in hits} == {2}
    assert "r0007" not in {hit.id for hit in hits}


def test_a_commit_while_several_records_are_read(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror_index.collection import searching
    from mirror_index.store.expanding import records_of_texts

    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.add([Record(id="x", text=text(7), metadata={"version": 1})])
    query = ENCODER.encode([text(7)])
    assert len(reader.search_vectors(query)[0]) == 10
    met: list[bool] = []

    def read(*given: Any) -> Any:
        if not met:
            met.append(True)
            with Collection.open(folder, encoder=ENCODER) as writer:
                writer.update(record(row, 2) for row in range(ROWS))
        return records_of_texts(*given)

    monkeypatch.setattr(searching, "records_of_texts", read)
    (hits,) = reader.search_vectors(query)
    assert {hit.metadata["version"] for hit in hits if hit.id.startswith("r")} == {2}


def test_damage_is_told_as_ever(reader: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(*_: Any) -> Any:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(alone, "only_records", torn)
    assert len(reader.search_vectors(QUERIES[:1])[0]) == 10  # the long way finds no damage
    monkeypatch.setattr("mirror_index.collection.searching.records_of_texts", torn)
    with pytest.raises(CollectionCorruptError, match="damaged"):
        reader.search_vectors(QUERIES[:1])


def test_a_state_that_cannot_be_looked_at_hides_no_older_one(
    folder: Path, reader: Collection
) -> None:
    """The newest state's vectors are gone: the state before it must not answer in its place."""
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.delete(["r0001"])
        writer.compact()
    (vectors,) = (folder / "vectors").iterdir()
    vectors.rename(folder / "elsewhere")
    for _ in range(2):
        with pytest.raises(CollectionCorruptError, match="missing"):
            reader.nearest(QUERIES[:1])
        with pytest.raises(CollectionCorruptError, match="missing"):
            reader.search_vectors(QUERIES[:1])
    (folder / "elsewhere").rename(vectors)
    assert reader.nearest(QUERIES[:1]).rows.shape == (1, 10)


def test_an_index_is_loaded_once_for_all_states_it_serves(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    load = AnnIndex.load

    def counted(path: Path, parameters: Any) -> AnnIndex:
        loaded.append(path)
        return load(path, parameters)

    monkeypatch.setattr(AnnIndex, "load", counted)
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.add([Record(id="later", text="something later", metadata={})])
        assert not loaded
        (hits,) = reader.search_vectors(ENCODER.encode(["something later"]))
        assert hits[0].id == "later"
        assert not loaded
        writer.delete(["later", "r0001"])
        assert "later" not in {hit.id for hit in reader.search_vectors(QUERIES[:1])[0]}
        assert not loaded
        writer.compact()
        same(reader, 10)
        assert len(loaded) >= 1


@pytest.mark.parametrize("seed", range(4))
def test_after_changes_that_the_index_does_not_hold(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Random adds, updates and deletes: what came later stands beside the index, and is found."""
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", 100)
    draw = random.Random(seed)
    with Collection.open(folder, encoder=ENCODER) as writer:
        for step in range(5):
            new = [record(ROWS + 40 * step + place, step) for place in range(draw.randrange(1, 40))]
            old = [record(draw.randrange(ROWS), step + 2) for _ in range(10)]
            more = [Record(id=f"c{step}", text=text(3 + step).title(), metadata={"version": 1})]
            writer.add([*new, *more])
            writer.update({item.id: item for item in old}.values())
            if draw.random() < 0.7:
                writer.delete({f"r{draw.randrange(ROWS):04d}" for _ in range(8)})
            same(reader, draw.choice([1, 3, 10]))
            query = ENCODER.encode([new[-1].text])
            (hits,) = reader.search_vectors(query, SearchOptions(k=1))
            assert (hits[0].id, hits[0].score) == (new[-1].id, 1.0)


def test_what_came_later_takes_no_longer_way(
    folder: Path, reader: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collection.open(folder, encoder=ENCODER) as writer:
        writer.add(record(row) for row in range(ROWS, ROWS + 50))
    queries = ENCODER.encode([text(ROWS + 7), "something else", text(100)])
    many = reader.search_vectors(queries)
    rows = reader.nearest(queries)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr("mirror_index.collection.reader.hits_of", never)
    monkeypatch.setattr("mirror_index.collection.reader.nearest_of", never)
    for place, query in enumerate(queries):
        assert reader.search_vectors(query[None]) == [many[place]]
        assert reader.nearest(query[None]).rows.tolist() == [rows.rows[place].tolist()]
    assert many[0][0].id == f"r{ROWS + 7:04d}"


def test_hits_say_what_is_stored_of_their_records(tmp_path: Path) -> None:
    items = [
        Record(id=f"n{row}", text=text(row), concept_id=f"C{row}", scope=Scope.LABEL, metadata={})
        for row in range(ROWS)
    ]
    spec = IndexSpec(kind="HNSW16")
    with Collection.build(tmp_path / "c", items, encoder=ENCODER, spec=spec) as made:
        (several,) = made.search_vectors(QUERIES[:1])  # the state is at hand from here on
        (hits,) = made.search_vectors(ENCODER.encode([text(7)]))
        first = Hit(
            query="", rank=1, id="n7", text=text(7), score=1.0, metadata={}, path="candidates",
            concept_id="C7", scope=Scope.LABEL, legs=None,
        )  # fmt: skip
        assert hits[0] == first
        assert len(several) == len(hits) == 10


def test_threads_get_their_own_answers(reader: Collection) -> None:
    """The arrays of a search are kept from query to query: no thread may see another's."""
    expected = reader.nearest(QUERIES, 5)
    hits = reader.search_vectors(QUERIES, SearchOptions(k=5))
    wrong: list[int] = []

    def ask(start: int) -> None:
        for step in range(150):
            place = (start + step) % len(QUERIES)
            query = QUERIES[place : place + 1]
            found = reader.nearest(query, 5)
            shown = reader.search_vectors(query, SearchOptions(k=5))
            if found.rows.tolist() != expected.rows[place : place + 1].tolist():
                wrong.append(place)
            if shown != hits[place : place + 1]:
                wrong.append(place)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=ask, args=(3 * start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []
