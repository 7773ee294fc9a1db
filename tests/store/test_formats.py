"""Collections of the first format, and what a stopped writer leaves of a new database."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlite_utils.db import Table

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.errors import CollectionError
from mirror_index.export.records import export_collection
from mirror_index.records import Concept, Record, Scope
from mirror_index.store.layout import DATABASE, FORMAT_VERSION, checksum
from mirror_index.store.schema import expected_schema, migrate
from tests.collection.oracle import names
from tests.fakes import HashEncoder

STORED = Path(__file__).parent / "format1"
ENCODER = HashEncoder(16)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A collection that a writer of the first format made, from its dump."""
    folder = tmp_path / "old"
    (folder / "vectors").mkdir(parents=True)
    connection = sqlite3.connect(folder / DATABASE)
    connection.executescript((STORED / "collection.sql").read_text(encoding="utf-8"))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    rows = bytes.fromhex((STORED / "vectors.hex").read_text())
    (folder / "vectors/000001.f32").write_bytes(rows)
    ENCODER.save(folder / "encoder")
    return folder


def version(folder: Path) -> int:
    connection = sqlite3.connect(folder / DATABASE)
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return int(found)


def test_an_old_collection_is_read_as_it_is(old: Path, tmp_path: Path) -> None:
    before = (old / DATABASE).read_bytes()
    with Collection.open(old, encoder=ENCODER) as collection:
        assert collection.info()["records"] == 6
        assert collection.info()["format_version"] == 1
        (hits,) = collection.search(["renal failure"], SearchOptions(k=2))
        assert (hits[0].id, hits[0].score, hits[0].metadata) == ("p1", 1.0, {"year": 2001})
        (hits,) = collection.search(["ulcer"], SearchOptions(k=1, hybrid=True))
        assert hits[0].id == "p6"
        (hits,) = collection.search(["x"], SearchOptions(k=9, where="year >= 2002"))
        assert {hit.id for hit in hits} == {"p2", "p6"}
        assert collection.concepts(["T:9"])["T:9"].label == "kidney stone"
        assert [row.line for row in collection.quarantine()] == [4, 5]
        assert [state.reachable for state in collection.history()] == [True, False, False]
        assert collection.verify(encoder=ENCODER).ok
    assert export_collection(old, tmp_path / "old.jsonl").records == 6
    assert (old / DATABASE).read_bytes() == before
    assert version(old) == 1


def test_the_next_change_brings_it_to_the_present_format(old: Path) -> None:
    with Collection.open(old, encoder=ENCODER) as collection:
        encoded = ENCODER.encoded
        report = collection.add([*names(2), Record(id="p9", text="gastric ulcer")])
        assert (report.added, report.texts_encoded, report.texts_reused) == (3, 2, 1)
        assert ENCODER.encoded - encoded <= 4
        assert version(old) == FORMAT_VERSION
        assert collection.info()["format_version"] == FORMAT_VERSION
        assert collection.info()["records"] == 9
        (hits,) = collection.search(["ulcer"], SearchOptions(k=2, hybrid=True))
        assert {hit.id for hit in hits} == {"p6", "p9"}
        assert collection.verify(encoder=ENCODER).ok
        assert [state.reachable for state in collection.history()] == [True, True, False, False]
        collection.rollback(3)
        assert collection.info()["records"] == 6
        row = Record(id="z", text="gout", concept_id="Z:1", scope=Scope.LABEL)
        collection.sync([row, *names(1)], allow_quarantine=True)
        collection.compact()
        assert collection.verify(encoder=ENCODER).ok


def test_a_migration_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.store.schema._SECOND_FORMAT", ("CREATE TABLE undo (x)", "?"))
    with (
        Collection.open(old, encoder=ENCODER) as collection,
        pytest.raises(CollectionError, match="cannot be written"),
    ):
        collection.add(names(1))
    monkeypatch.undo()
    assert version(old) == 1
    with Collection.open(old, encoder=ENCODER) as collection:
        collection.add(names(1))
        assert collection.verify(encoder=ENCODER).ok


def test_a_migrated_database_is_defined_like_a_new_one(old: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(old / DATABASE, isolation_level=None)
    migrate(connection, old)
    sql = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    migrated = set(connection.execute(sql).fetchall())
    connection.close()
    new = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    migrate(new, tmp_path)
    made = set(new.execute(sql).fetchall())
    new.close()
    assert migrated == made
    assert made >= expected_schema() >= expected_schema(1)


def test_a_writer_stopped_while_it_makes_the_tables_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(Table, "create_index", killed)
    with pytest.raises(Killed):
        Collection.build(tmp_path / "c", names(3), encoder=ENCODER)
    monkeypatch.undo()
    connection = sqlite3.connect(tmp_path / "c" / DATABASE)
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    with Collection.build(tmp_path / "c", names(3), encoder=ENCODER) as collection:
        assert collection.verify(encoder=ENCODER).ok


def test_counts_that_do_not_add_up_stop_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collection.build(tmp_path / "c", names(3), encoder=ENCODER) as collection:
        monkeypatch.setattr("mirror_index.store.undo.gained", lambda *_: 7)
        with pytest.raises(CollectionError, match="would leave 10 records"):
            collection.delete(["r00000"])
        with pytest.raises(CollectionError, match="would leave 10 records"):
            collection.add(names(1, start=3))
        monkeypatch.undo()
        assert collection.info()["records"] == 3
        collection.add(names(1, start=3))
        assert collection.verify(encoder=ENCODER).ok


def test_the_next_change_keys_the_names_by_the_present_rules(tmp_path: Path) -> None:
    concepts = [
        Concept(id="T:1", label="kidney stone"),
        Concept(id="T:2", label="obsolete gout", obsolete=True, replaced_by=("T:1",)),
    ]
    with Collection.build(tmp_path / "c", concepts, encoder=ENCODER) as collection:
        connection = sqlite3.connect(tmp_path / "c" / DATABASE)
        connection.execute(
            "UPDATE meta SET value = '0', checksum = ? WHERE key = 'name_key_version'",
            (checksum(("name_key_version", "0")),),
        )
        for row, *fields in connection.execute(
            "SELECT rowid, 'old ' || key, text, concept_id, scope, name_type FROM names"
        ).fetchall():
            connection.execute(
                "UPDATE names SET key = ?, checksum = iif(obsolete, ?, NULL) WHERE rowid = ?",
                (fields[0], checksum(fields), row),
            )
        connection.commit()
        connection.close()
        assert collection.verify(encoder=ENCODER).ok
        with pytest.raises(CollectionError, match="mirror-index repair"):
            collection.names_by_key(["kidney stone"])
        collection.add([Concept(id="T:3", label="fever")])
        keys = ["kidney stone", "fever", "gout", "obsolete gout", "old gout"]
        assert sorted(collection.names_by_key(keys)) == sorted(keys[:4])
        assert collection.verify(encoder=ENCODER).ok
        collection.rollback(1)  # as it was, keys and version alike
        assert collection.verify(encoder=ENCODER).ok
        with pytest.raises(CollectionError, match="mirror-index repair"):
            collection.names_by_key(["kidney stone"])
        collection.compact()
        assert sorted(collection.names_by_key(keys)) == ["gout", "kidney stone", "obsolete gout"]
        assert collection.verify(encoder=ENCODER).ok
