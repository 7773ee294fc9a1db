"""S13: 500 rows; compact; upsert 128 of them by id."""

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record
from tests.collection.oracle import names
from tests.fakes import HashEncoder


def test_s13_upsert_after_compact(tmp_path: Path) -> None:
    encoder = HashEncoder()
    items = names(500)
    with Collection.build(tmp_path / "c", items, encoder=encoder) as collection:
        collection.compact()
        changed = [
            Record(id=one.id, text=f"{one.text} changed", metadata={"new": 1})
            for one in items[:128]
        ]
        report = collection.update(changed)
        assert (report.updated, report.added, report.records) == (128, 0, 500)
    with Collection.open(tmp_path / "c", encoder=encoder) as collection:
        (hits,) = collection.search(["x"], SearchOptions(k=1000, where="new = 1"))
        assert {hit.id: hit.text for hit in hits} == {one.id: one.text for one in changed}
        assert collection.info()["records"] == 500
        assert collection.verify(encoder=encoder).ok
