"""S1: ids 10 and 20 are deleted and 30 is added; 10 is not found, 30 is, and verify passes."""

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder


def test_s01_deleted_ids_stay_gone(tmp_path: Path) -> None:
    encoder = HashEncoder()
    items = [Record(id="10", text="tenth name"), Record(id="20", text="twentieth name")]
    with Collection.build(tmp_path / "c", items, encoder=encoder) as collection:
        assert collection.delete(["10", "20"]).deleted == 2
        assert collection.search(["tenth name"]) == [[]]
        collection.add([Record(id="30", text="thirtieth name")])
        (hits,) = collection.search(["tenth name"], SearchOptions(k=10))
        assert [hit.id for hit in hits] == ["30"]
        assert not collection.search(["tenth name"], SearchOptions(where="id = '10'"))[0]
        assert collection.verify(encoder=encoder).ok
