"""L15: a concept is deleted; k exceeds the dictionary; the database loses a row."""

import sqlite3
from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.collection.verifying import verify_collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Concept, Name, Scope
from tests.fakes import HashEncoder

CONCEPTS = [
    Concept(
        id=f"X:{number}",
        label=f"disease number {number}",
        names=(Name(text=f"illness {number}", scope=Scope.EXACT),),
    )
    for number in range(6)
]


@pytest.mark.parametrize("kind", ["exact", "HNSW8", "IVF2,Flat"])
def test_l15_deleted_concept(tmp_path: Path, kind: str) -> None:
    encoder = HashEncoder()
    spec = IndexSpec(kind=kind)
    folder = tmp_path / "c"
    with Collection.build(folder, CONCEPTS, encoder=encoder, spec=spec) as collection:
        assert collection.delete(where="concept_id = 'X:3'").deleted == 2
        assert collection.concepts(["X:3", "X:4"]).keys() == {"X:4"}
        (hits,) = collection.search(["disease number 3"], SearchOptions(k=100))
        assert len(hits) == 10
        assert {hit.concept_id for hit in hits} == {f"X:{n}" for n in (0, 1, 2, 4, 5)}
        assert collection.verify(encoder=encoder).ok
    with sqlite3.connect(folder / "collection.db") as connection:
        connection.execute("DELETE FROM texts WHERE row = (SELECT max(row) FROM texts)")
    connection.close()
    problems = verify_collection(folder, encoder=encoder).problems
    assert any("11 rows, 12 were committed" in problem.what for problem in problems)
