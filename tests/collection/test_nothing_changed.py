"""A change that changes nothing commits nothing; one that changes anything at all commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import ChangeReport, Collection
from mirror_index.config import IndexSpec
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem
from mirror_index.store.layout import DATABASE
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)
ITEMS: list[SourceItem] = [
    Record(id="1", text="one", metadata={"n": 1}),
    Record(id="2", text="two"),
    Record(id="2b", text="two"),
    Record(id="N#a", text="nine", concept_id="N"),
    Concept(id="C", label="sea", names=(Name(text="ocean", scope=Scope.EXACT),), alt_ids=("D",)),
    Concept(id="O", label="gone", obsolete=True, replaced_by=("C",)),
]


@pytest.fixture(params=["exact", "HNSW8"])
def collection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Collection]:
    spec = IndexSpec(kind=request.param)
    with Collection.build(
        tmp_path / "c", ITEMS, encoder=ENCODER, spec=spec, source="a.txt"
    ) as made:
        made.delete(["1"])
        made.add(ITEMS[:1], source="a.txt")
        yield made


def dump(folder: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        tables = ("generations", "undo", "undo_log", "meta", "texts", "records", "quarantine")
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in tables
        }


NOTHING: dict[str, Callable[[Collection], ChangeReport]] = {
    "add": lambda c: c.add(ITEMS, source="a.txt"),
    "add nothing": lambda c: c.add([]),
    "update": lambda c: c.update(ITEMS, source="a.txt"),
    "sync": lambda c: c.sync(ITEMS, source="a.txt"),
    "delete ids": lambda c: c.delete(["nobody", "nothing"]),
    "delete where": lambda c: c.delete(where="n = 7"),
    "delete both": lambda c: c.delete(["2"], where="n = 1"),
}


@pytest.mark.parametrize("name", list(NOTHING))
def test_nothing_is_committed(collection: Collection, name: str) -> None:
    before, state = dump(collection.folder), collection.committed()
    report = NOTHING[name](collection)
    assert (report.added, report.updated, report.deleted) == (0, 0, 0)
    assert report.verb == name.split()[0]
    assert report.generation == state.number == collection.committed().number
    assert report.records == 6
    assert report.skipped == (2 if name == "delete ids" else 0)
    assert report.unchanged == (6 if name in ("add", "update", "sync") else 0)
    assert dump(collection.folder) == before
    assert collection.last_change == report
    assert collection.verify(encoder=ENCODER).ok
    collection.rollback(1)
    assert collection.search(["one"])[0][0].id == "1"


SOMETHING: dict[str, Callable[[Collection], ChangeReport]] = {
    "another source": lambda c: c.add(ITEMS, source="b.txt"),
    "a rejected row": lambda c: c.add([*ITEMS, Rejected(line=9, reason="bad")], source="a.txt"),
    "an empty text": lambda c: c.add([Record(id="e", text=" ")], source="a.txt"),
    "metadata": lambda c: c.update([Record(id="2", text="two", metadata={"n": 2})]),
    "a spelling": lambda c: c.update([Record(id="2", text="two ")]),
    "a definition": lambda c: c.update([Concept(id="C", label="sea", definition="wet")]),
    "one less": lambda c: c.sync(ITEMS[1:], source="a.txt"),
    "an obsolete one less": lambda c: c.sync(ITEMS[:-1], source="a.txt"),
    "one deleted": lambda c: c.delete(["nobody", "2"]),
}


@pytest.mark.parametrize("name", list(SOMETHING))
def test_anything_is_committed(collection: Collection, name: str) -> None:
    before = collection.committed().number
    report = SOMETHING[name](collection)
    assert report.generation == collection.committed().number == before + 1
    assert collection.verify(encoder=ENCODER).ok


def test_what_an_interrupted_run_encoded_is_still_taken(collection: Collection) -> None:
    def broken() -> Iterator[SourceItem]:
        yield Record(id="7", text="seven")
        raise OSError("the cable")

    with pytest.raises(OSError, match="cable"):
        collection.add(broken())
    before = collection.committed()
    report = collection.add(ITEMS, source="a.txt")
    taken = collection.committed().vector_rows - before.vector_rows
    assert report.generation == before.number + (1 if taken else 0)
    assert collection.verify(encoder=ENCODER).ok


def test_a_reader_stays_where_it_is(collection: Collection) -> None:
    with Collection.open(collection.folder, encoder=ENCODER) as reader:
        with reader._reading() as view:
            pass
        collection.delete(["nobody"])
        collection.add(ITEMS, source="a.txt")
        with reader._reading() as again:
            assert again is view
