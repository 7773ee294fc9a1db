"""Opening the database: what is refused, and read-only disks."""

from __future__ import annotations

import gc
import sqlite3
from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.errors import CollectionError
from mirror_index.store import reading
from mirror_index.store.layout import DATABASE, FORMAT_VERSION
from mirror_index.store.reading import ReadStore
from mirror_index.store.schema import expected_schema, migrate
from mirror_index.store.writing import WriteStore
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder


def execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no collection here"):
        Collection.open(tmp_path / "missing")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    encoder = HashEncoder()
    Collection.build(folder, names(3), encoder=encoder).close()
    execute(folder / DATABASE, f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    newer = f"format {FORMAT_VERSION + 1}"
    with pytest.raises(CollectionError, match=f"{newer}.*Upgrade mirror-index"):
        Collection.open(folder)
    with pytest.raises(CollectionError, match=newer):
        WriteStore(folder)


def test_not_a_database(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / DATABASE).write_bytes(b"not a database at all" * 500)
    with pytest.raises(CollectionError, match="cannot be read"):
        Collection.open(folder)
    with pytest.raises(CollectionError, match="cannot be written"):
        WriteStore(folder)
    with Collection.build(folder, names(3), encoder=HashEncoder(), overwrite=True) as collection:
        assert collection.info()["records"] == 3


def test_a_database_of_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    execute(folder / DATABASE, "CREATE TABLE other (x)")
    with pytest.raises(CollectionError, match="never finished"):
        Collection.open(folder)


def test_a_read_only_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "c"
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(20))
    Collection.build(folder, names(20), encoder=encoder).close()
    connect = reading._connect

    def refuse(path: Path, mode: str) -> sqlite3.Connection:
        if mode == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, mode)

    monkeypatch.setattr(reading, "_connect", refuse)
    with Collection.open(folder, encoder=encoder) as collection:
        oracle.check(collection, ["renal failure type 3"])
    (folder / f"{DATABASE}-wal").write_bytes(b"something")
    with pytest.raises(CollectionError, match="still in the write-ahead log"):
        Collection.open(folder, encoder=encoder)


def test_other_errors_of_the_disk_are_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Collection.build(tmp_path / "c", names(2), encoder=HashEncoder()).close()

    def broken(path: Path, mode: str) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(reading, "_connect", broken)
    with pytest.raises(CollectionError, match="disk I/O error"):
        Collection.open(tmp_path / "c")


def test_migrating_twice_changes_nothing(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    migrate(connection, tmp_path)
    migrate(connection, tmp_path)
    rows = connection.execute("SELECT name FROM migrations").fetchall()
    assert rows == [("0001_first_format",), ("0002_second_format",)]
    connection.close()
    assert {"texts", "records", "records_with_text"} <= {name for name, _ in expected_schema()}


def test_the_view_joins_everything(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    Collection.build(folder, names(3), encoder=HashEncoder()).close()
    connection = sqlite3.connect(folder / DATABASE)
    rows = connection.execute("SELECT id, text, line FROM records_with_text ORDER BY id").fetchall()
    connection.close()
    assert rows == [(one.id, one.text, one.line) for one in names(3)]


def test_a_store_nobody_closed_is_closed_with_its_last_reference(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    Collection.build(folder, names(3), encoder=HashEncoder()).close()
    store = ReadStore(folder / DATABASE)
    connection = store.connection
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
