"""Texts that change hands, ids that repeat, and nothing at all: through every verb."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection, intake
from mirror_index.config import IndexSpec, OnDuplicate, SearchOptions
from mirror_index.errors import CollectionError
from mirror_index.records import Concept, Record, Scope
from tests.collection.oracle import Oracle, names
from tests.collection.test_syncing import Counting
from tests.fakes import HashEncoder


def by_id(collection: Collection) -> dict[str, str]:
    (hits,) = collection.search(["anything"], SearchOptions(k=5000, exact=True))
    return {hit.id: hit.text for hit in hits}


def record(id_: str, text: str, **metadata: int) -> Record:
    return Record(id=id_, text=text, metadata=metadata)


@pytest.mark.parametrize("verb", ["update", "sync"])
def test_texts_change_hands_in_a_circle(tmp_path: Path, verb: str) -> None:
    encoder = Counting()
    first = [record("a", "one"), record("b", "two"), record("c", "three")]
    with Collection.build(tmp_path / "c", first, encoder=encoder) as collection:
        encoder.texts.clear()
        report = getattr(collection, verb)(
            [record("a", "two"), record("b", "three"), record("c", " one ")]
        )
        assert (report.updated, report.texts_encoded, encoder.texts) == (3, 0, [])
        assert by_id(collection) == {"a": "two", "b": "three", "c": " one "}
        collection.rollback(1)
        assert by_id(collection) == {"a": "one", "b": "two", "c": "three"}
        assert collection.verify(encoder=encoder).ok


def test_a_text_outlives_its_records_until_it_is_compacted(tmp_path: Path) -> None:
    encoder = Counting()
    with Collection.build(
        tmp_path / "c",
        [record("a", "one"), record("b", "one"), record("k", "kept")],
        encoder=encoder,
    ) as collection:
        encoder.texts.clear()
        collection.delete(["a", "b"])
        assert collection.add([record("c", "one")]).texts_encoded == 0
        collection.delete(["c"])
        collection.compact()
        encoder.texts.clear()
        assert collection.add([record("d", "one")]).texts_encoded == 1
        assert encoder.texts[:1] == ["one"]
        assert by_id(collection) == {"k": "kept", "d": "one"}
        assert collection.verify(encoder=encoder).ok


@pytest.mark.parametrize("kind", ["exact", "HNSW8"])
def test_upserts_after_compacting_with_ids_that_were_deleted(tmp_path: Path, kind: str) -> None:
    encoder = HashEncoder(16)
    oracle = Oracle(encoder)
    oracle.put(names(200))
    spec = IndexSpec(kind=kind)
    with Collection.build(tmp_path / "c", names(200), encoder=encoder, spec=spec) as collection:
        collection.delete([f"r{number:05d}" for number in range(50, 120)])
        collection.compact()
        collection.compact()
        changed = [
            record(f"r{number:05d}", f"changed {number // 2}", new=1) for number in range(90, 150)
        ]
        report = collection.update(changed)
        assert (report.updated, report.added, report.records) == (30, 30, 160)
        oracle.drop([f"r{number:05d}" for number in range(50, 120)])
        oracle.put(changed)
        oracle.check(collection, ["changed 50", "renal failure type 3"])
        report = collection.sync([*changed, *names(20)])
        assert (report.deleted, report.unchanged, report.texts_encoded) == (80, 80, 0)
    with Collection.open(tmp_path / "c", encoder=encoder) as collection:
        oracle.drop(list(oracle.records))
        oracle.put([*changed, *names(20)])
        oracle.check(collection, ["changed 50", "renal failure type 3"])
        assert collection.verify(encoder=encoder).ok


def test_everything_goes_and_something_comes(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    with Collection.build(tmp_path / "c", names(5), encoder=encoder) as collection:
        collection.delete(where="year >= 0")
        assert collection.search(["x"], SearchOptions(hybrid=True)) == [[]]
        collection.compact()
        assert collection.info()["texts"] == 0
        assert collection.verify(encoder=encoder).ok
        assert collection.sync([]).records == 0  # there is nothing that could be lost
        assert collection.sync([record("a", "one row")]).added == 1
        assert collection.sync([], allow_empty=True).deleted == 1
        collection.add([record("b", "another")])
        assert by_id(collection) == {"b": "another"}
        assert collection.verify(encoder=encoder).ok


VARIANTS = {
    "text": record("a", "two", n=1),
    "metadata": record("a", "one", n=2),
    "metadata type": Record(id="a", text="one", metadata={"n": "1"}),
    "a field less": record("a", "one"),
    "concept": Record(id="a", text="one", metadata={"n": 1}, concept_id="C", scope=Scope.EXACT),
}


@pytest.mark.parametrize("other", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("window", [1, 1000])
@pytest.mark.parametrize("verb", ["build", "add", "update", "sync"])
def test_an_id_twice_with_anything_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: Record, window: int, verb: str
) -> None:
    monkeypatch.setattr(intake, "WINDOW_TEXTS", window)
    encoder = HashEncoder(8)
    items = [record("a", "one", n=1), record("z", "filler"), other, record("a", "one", n=1)]
    if verb == "build":
        with pytest.raises(CollectionError, match="twice"):
            Collection.build(tmp_path / "c", items, encoder=encoder)
        return
    with Collection.build(tmp_path / "c", [record("s", "start")], encoder=encoder) as collection:
        change = getattr(collection, verb)
        with pytest.raises(CollectionError, match="twice"):
            change(items)
        assert by_id(collection) == {"s": "start"}
        report = change(items[:-1], on_duplicate=OnDuplicate.LAST)
        assert (report.duplicates, by_id(collection)["a"]) == (1, other.text)
        report = change(items[:-1], on_duplicate=OnDuplicate.FIRST)
        assert report.duplicates >= 1
        assert by_id(collection)["a"] == (other.text if verb == "add" else "one")
        assert collection.verify(encoder=encoder).ok


@pytest.mark.parametrize("verb", ["add", "update", "sync"])
def test_a_concept_and_a_record_under_one_id(tmp_path: Path, verb: str) -> None:
    encoder = HashEncoder(8)
    items = [Concept(id="a", label="a concept"), record("a", "a record")]
    with Collection.build(tmp_path / "c", names(2), encoder=encoder) as collection:
        with pytest.raises(CollectionError, match="twice"):
            getattr(collection, verb)(items)
        assert collection.info()["records"] == 2
        getattr(collection, verb)(items, on_duplicate=OnDuplicate.LAST)
        assert by_id(collection)["a"] == "a record"
        assert collection.verify(encoder=encoder).ok
