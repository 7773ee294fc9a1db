"""S3: the disk fills up during a build and an add; the last committed state opens.

Writers killed with SIGKILL are in tests/collection/test_kill.py.
"""

import errno
import sqlite3
from pathlib import Path

import pytest

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder


def full_disk(operation: str, path: Path) -> None:
    if operation == "write":
        raise OSError(errno.ENOSPC, "No space left on device", str(path))


def test_s03_full_disk_while_vectors_are_written(tmp_path: Path) -> None:
    encoder = HashEncoder()
    folder = tmp_path / "c"
    with durable.watched(full_disk), pytest.raises(CollectionError, match="No space left"):
        Collection.build(folder, names(20), encoder=encoder)
    oracle = Oracle(encoder)
    oracle.put(names(20))
    with Collection.build(folder, names(20), encoder=encoder) as collection:
        with durable.watched(full_disk), pytest.raises(CollectionError, match="No space left"):
            collection.add(names(20, start=20))
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok
        collection.add(names(20, start=20))
        oracle.put(names(20, start=20))
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok


def test_s03_full_disk_while_the_database_grows(tmp_path: Path) -> None:
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(20))
    with Collection.build(tmp_path / "c", names(20), encoder=encoder) as collection:
        big = [
            Record(id=f"big{n}", text=f"big {n}", metadata={"blob": "x" * 20_000})
            for n in range(50)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mirror_index.store.writing.sqlite3.connect", _small_database)
            with pytest.raises(CollectionError, match="full"):
                collection.add(big)
        oracle.check(collection, ["renal failure type 3"])
        kinds = {problem.kind for problem in collection.verify(encoder=encoder).problems}
        assert kinds <= {"leftover"}
        oracle.put(big)
        collection.add(big)
        oracle.check(collection, ["renal failure type 3", "big 7"])
        assert collection.verify(encoder=encoder).ok


_connect = sqlite3.connect


def _small_database(*args: object, **kwargs: object) -> sqlite3.Connection:
    connection = _connect(*args, **kwargs)
    connection.execute("PRAGMA max_page_count = 100")
    return connection
