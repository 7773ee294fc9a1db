"""S4: a folder with spaces and letters of several scripts; build, search, move, search."""

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder


def test_s04_unicode_folder(tmp_path: Path) -> None:
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(30))
    folder = tmp_path / "índice-数据 β" / "a % b?c#d"
    spec = IndexSpec(kind="HNSW8")
    with Collection.build(folder, names(30), encoder=encoder, spec=spec) as collection:
        oracle.check(collection, ["renal failure type 3"])
    moved = tmp_path / "übersiedelt 移"
    folder.rename(moved)
    with Collection.open(moved, encoder=encoder) as collection:
        oracle.check(collection, ["renal failure type 3"])
        collection.add(names(10, start=30))
        oracle.put(names(10, start=30))
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok
        assert collection.info()["name"] == "übersiedelt 移"
