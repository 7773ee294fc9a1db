"""S5: a source with no rows; reopen; search; then one row is added."""

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder


def test_s05_empty_source(tmp_path: Path) -> None:
    encoder = HashEncoder()
    Collection.build(tmp_path / "c", [], encoder=encoder).close()
    with Collection.open(tmp_path / "c", encoder=encoder) as collection:
        for options in (SearchOptions(), SearchOptions(hybrid=True), SearchOptions(where="x = 1")):
            assert collection.search(["anything"], options) == [[]]
        assert collection.verify(encoder=encoder).ok
        assert collection.compact().records == 0
        collection.add([Record(id="a", text="one row")])
        (hits,) = collection.search(["anything"])
        assert [hit.id for hit in hits] == ["a"]
        assert collection.verify(encoder=encoder).ok
