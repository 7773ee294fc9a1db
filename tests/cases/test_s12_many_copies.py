"""S12: 1,500 copies of one text among 1,999 distinct ones."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder


@pytest.mark.parametrize("kind", ["exact", "HNSW16"])
def test_s12_many_copies(tmp_path: Path, kind: str) -> None:
    encoder = HashEncoder(128)
    distinct = [f"text {number * 7919 % 100_003} of {number}" for number in range(1999)]
    items = [Record(id=f"d{place:04d}", text=text) for place, text in enumerate(distinct)]
    items += [Record(id=f"copy{number:04d}", text="the same text") for number in range(1500)]
    spec = IndexSpec(kind=kind, recall=1.0)
    with Collection.build(tmp_path / "c", items, encoder=encoder, spec=spec) as collection:
        assert collection.last_change.texts_encoded == 2000
        assert collection.info()["texts"] == 2000
        answers = collection.search(distinct, SearchOptions(k=1))
        found = [hits[0].id for hits in answers]
        assert found == [f"d{place:04d}" for place in range(1999)]
        (ten,) = collection.search(["the same text"], SearchOptions(k=10))
        assert [hit.id for hit in ten] == [f"copy{number:04d}" for number in range(10)]
        (all_,) = collection.search(["the same text"], SearchOptions(k=1500))
        assert [hit.id for hit in all_] == [f"copy{number:04d}" for number in range(1500)]
        assert all_[:10] == ten
