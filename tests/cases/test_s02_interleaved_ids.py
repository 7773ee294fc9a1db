"""S2: ids are deleted and others added between them; each live id finds itself first."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder


def record(number: int) -> Record:
    return Record(
        id=str(number), text=f"{'abcdefghij'[number % 10]}{number} of the set {number * 37}"
    )


@pytest.mark.parametrize("kind", ["exact", "HNSW8", "IVF2,Flat"])
def test_s02_interleaved_ids(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", 0)
    encoder = HashEncoder()
    first = [record(number) for number in (0, 10, 20, 30, 40)]
    spec = IndexSpec(kind=kind)
    with Collection.build(tmp_path / "c", first, encoder=encoder, spec=spec) as collection:
        collection.delete(["10", "30"])
        collection.add([record(number) for number in (5, 15, 25, 35, 45)])
        live = [record(number) for number in (0, 5, 15, 20, 25, 35, 40, 45)]
        answers = collection.search([one.text for one in live], SearchOptions(k=20))
        for one, hits in zip(live, answers, strict=True):
            assert hits[0].id == one.id
            assert {hit.id for hit in hits} == {other.id for other in live}
        assert collection.verify(encoder=encoder).ok
