"""Damage that a reader or a writer comes across is an error that says so, not a crash."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pytest
from filelock import FileLock

from mirror_index.collection import Collection
from mirror_index.collection.verifying import verify_collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.errors import CollectionCorruptError, CollectionError
from mirror_index.index.building import build_ann
from mirror_index.progress import SilentReporter
from mirror_index.records import Record
from mirror_index.store.writing import WriteStore
from tests.collection.oracle import names
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)
ALL = SearchOptions(k=99)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage") / "c"
    items = [*names(20), Record(id="d", text="kidney failure", concept_id="C:1")]
    with Collection.build(folder, items, encoder=ENCODER, spec=IndexSpec(kind="HNSW8")) as built:
        built.add(names(3, start=50))
        built.save_state("note", {"a": 1})
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "c"))


def search(options: SearchOptions) -> Callable[[Collection], object]:
    return lambda collection: collection.search(["renal failure"], options)


DAMAGE: dict[str, tuple[str, Callable[[Collection], object]]] = {
    "metadata": ("UPDATE records SET metadata = '{\"year\": 19' WHERE id = 'r00003'", search(ALL)),
    "a scope": ("UPDATE records SET scope = 'exakt' WHERE id = 'd'", search(ALL)),
    "the scope of a name": (
        "UPDATE names SET scope = 'exakt'",
        lambda collection: list(collection.iter_names()),
    ),
    "details": (
        "UPDATE generations SET details = '{' WHERE number = 1",
        lambda collection: collection.history(),
    ),
    "a setting": (
        "UPDATE meta SET value = '[' WHERE key = 'sources'",
        lambda collection: collection.info(),
    ),
    "a setting that a change reads": (
        "UPDATE meta SET value = '[' WHERE key = 'index_spec'",
        lambda collection: collection.add(names(1, start=70)),
    ),
    "the newest state is gone": ("DELETE FROM generations WHERE number = 2", search(ALL)),
    "a text of no vector": (
        "UPDATE texts SET row = 999 WHERE row = 5",
        search(SearchOptions(k=9, where="year > 0")),
    ),
    "a word of no text": (
        "INSERT INTO texts_fts (rowid, text) VALUES (99, 'renal')",
        search(SearchOptions(k=9, hybrid=True)),
    ),
    "a trigram of no text": (
        "INSERT INTO texts_trigrams (rowid, text) VALUES (99, 'renal failure')",
        search(SearchOptions(k=9, hybrid=True)),
    ),
}


@pytest.mark.parametrize("name", list(DAMAGE))
def test_damage_is_an_error_and_verify_names_it(folder: Path, name: str) -> None:
    statement, act = DAMAGE[name]
    connection = sqlite3.connect(folder / "collection.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with (
        pytest.raises(CollectionCorruptError),
        Collection.open(folder, encoder=ENCODER) as collection,
    ):
        act(collection)
    assert not verify_collection(folder, encoder=ENCODER).ok


ROWS = {
    "a probe": "DELETE FROM canaries WHERE text = 'x'",
    "a setting": "DELETE FROM meta WHERE key = 'created_at'",
    "a saved document": "DELETE FROM meta WHERE key = 'state.note'",
    "the list of saved documents": "DELETE FROM meta WHERE key = 'documents'",
    "an old state": "DELETE FROM generations WHERE number = 1",
    "a migration": "DELETE FROM migrations WHERE id = 1",
}


@pytest.mark.parametrize("name", list(ROWS))
def test_a_missing_row_is_named(folder: Path, name: str) -> None:
    connection = sqlite3.connect(folder / "collection.db")
    connection.execute(ROWS[name])
    connection.commit()
    connection.close()
    (problem,) = verify_collection(folder, encoder=ENCODER).problems
    table = ROWS[name].split()[2]
    assert problem.where == f"collection.db, {table}"


def test_an_index_of_another_shape_is_refused(folder: Path) -> None:
    other = build_ann(HashEncoder(8).encode(["a", "b", "c"]), "HNSW4")
    (path,) = (folder / "ann").glob("*.faiss")
    other.save(path)
    with (
        pytest.raises(CollectionCorruptError, match="3 vectors of 8 values"),
        Collection.open(folder, encoder=ENCODER) as collection,
    ):
        collection.search(["renal failure"])


def test_rows_that_a_damaged_index_makes_up_are_no_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = ENCODER.encode([f"text {number}" for number in range(40)])
    index = build_ann(vectors, "HNSW8")
    wanted = index.candidates(vectors[:2], 5, None).found
    real = index._index.search

    def made_up(*args: object, **more: object) -> tuple[object, object]:
        scores, rows = real(*args, **more)
        rows[:, 0] = 2**40
        return scores, rows

    monkeypatch.setattr(index._index, "search", made_up)
    for allowed in (None, np.arange(40)):
        proposed = index.candidates(vectors[:2], 5, allowed)
        assert all((rows < 40).all() for rows in proposed.rows)
        assert proposed.found == [count - 1 for count in wanted]


def test_a_compact_that_cannot_shrink_the_database_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    class Noting(SilentReporter):
        def note(self, message: str) -> None:
            notes.append(message)

    monkeypatch.setattr(WriteStore, "vacuum", lambda self: "database or disk is full")
    with Collection.open(folder, encoder=ENCODER) as collection:
        report = collection.compact(Noting())
        assert collection.info()["generation"] == report.generation
        assert collection.verify(encoder=ENCODER).ok
    assert [note for note in notes if "disk is full" in note]


def test_a_vacuum_beside_another_writer_gives_its_reason(folder: Path) -> None:
    other = sqlite3.connect(folder / "collection.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with WriteStore(folder) as store:
        store.connection.execute("PRAGMA busy_timeout = 0")
        assert store.vacuum() == "database is locked"
    other.close()


def test_a_lock_that_cannot_be_written_is_stated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: FileLock, timeout: float) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with (
        Collection.open(folder, encoder=ENCODER) as collection,
        pytest.raises(CollectionError, match="Permission denied"),
    ):
        collection.delete(["d"])


def test_an_index_that_goes_while_it_is_opened_leaves_an_exact_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = (folder / "ann").glob("*.faiss")
    real = faiss.read_index

    def too_late(name: str) -> object:
        path.unlink()
        return real(name)

    monkeypatch.setattr(faiss, "read_index", too_late)
    with Collection.open(folder, encoder=ENCODER) as collection:
        (hits,) = collection.search(["renal failure"])
    assert {hit.path for hit in hits} == {"exact"}
    assert len(hits) == 10
