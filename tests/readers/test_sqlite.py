from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers import read
from mirror_index.records import Record, Rejected, SourceItem
from tests.readers.conftest import ReadBack


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "drugs #1?.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE drugs (id INTEGER, name TEXT, n REAL, b BLOB)")
        connection.executemany(
            "INSERT INTO drugs VALUES (?, ?, ?, ?)",
            [(7, "00601", 1.5, b"\x01"), (8, None, None, None), (9, "NA", 2.0, None)],
        )
        connection.execute("INSERT INTO drugs VALUES (10, CAST(x'636166e9' AS TEXT), 0, NULL)")
    return path


def _read(path: Path, sql: str | None) -> list[SourceItem]:
    return list(read(path, ReadOptions(sql=sql)))


def test_rows_of_a_query(database: Path) -> None:
    items = _read(database, "SELECT * FROM drugs ORDER BY id")
    assert items[0] == Record(id="7", text="00601", metadata={"n": 1.5, "b": "01"}, line=1)
    assert isinstance(items[1], Rejected)
    assert items[1].skipped
    assert items[2] == Record(id="9", text="NA", metadata={"n": 2.0, "b": None}, line=3)
    assert isinstance(items[3], Rejected)
    assert (items[3].line, "0xE9" in items[3].reason) == (4, True)


def test_text_is_never_converted(database: Path) -> None:
    (item,) = _read(database, "SELECT 601 AS name")
    assert isinstance(item, Rejected)
    (item,) = _read(database, "SELECT CAST(601 AS TEXT) AS name")
    assert item == Record(id=f"{database.name}:1", text="601", line=1)


@pytest.mark.parametrize(
    "sql",
    [
        None,
        "SELEKT",
        "SELECT * FROM absent",
        "DELETE FROM drugs",
        "ATTACH 'evil.db' AS evil",
        "PRAGMA user_version",
        "SELECT 1; SELECT 2",
        "",
        "SELECT 1 AS name\x00",
    ],
)
def test_anything_but_one_select_is_refused(
    database: Path, sql: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(database.parent)
    before = database.read_bytes()
    with pytest.raises(UsageError, match="The tables are: drugs"):
        _read(database, sql)
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_columns(database: Path) -> None:
    with pytest.raises(SourceError, match="occurs twice"):
        _read(database, "SELECT name, name FROM drugs")
    with pytest.raises(SourceError, match="n, b"):
        _read(database, "SELECT n, b FROM drugs")


def test_a_query_that_fails_midway(database: Path) -> None:
    sql = "SELECT name, json(name) FROM (SELECT '1' AS name UNION ALL SELECT '{')"
    with pytest.raises(SourceError, match="malformed JSON"):
        _read(database, sql)


def test_not_a_database(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="not a database"):
        read_back("a.db", "this is a text, and long enough for a header", sql="SELECT 1")
