"""S9: hybrid search over four fruit pairs, with and without a keyword hit."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder

TEXTS = ["apple orange", "banana grape", "cherry melon", "date fig"]


@pytest.fixture
def fruit(tmp_path: Path) -> Collection:
    items = [Record(id=str(place), text=text) for place, text in enumerate(TEXTS)]
    return Collection.build(tmp_path / "c", items, encoder=HashEncoder())


def test_s09_the_exact_text_comes_first(fruit: Collection) -> None:
    (hits,) = fruit.search(["apple orange"], SearchOptions(k=4, hybrid=True))
    assert hits[0].text == "apple orange"
    assert hits[0].legs == {"dense": 1, "words": 1, "trigrams": 1}
    assert hits[0].score == 1.0
    assert len(hits) == 4


def test_s09_without_a_keyword_hit_the_dense_order_stays(fruit: Collection) -> None:
    (hybrid,) = fruit.search(["zzz"], SearchOptions(k=4, hybrid=True))
    (dense,) = fruit.search(["zzz"], SearchOptions(k=4))
    assert [(hit.id, hit.score, hit.rank) for hit in hybrid] == [
        (hit.id, hit.score, hit.rank) for hit in dense
    ]
    assert [set(hit.legs or ()) for hit in hybrid] == [{"dense"}] * 4


@pytest.mark.parametrize(
    "query",
    ['"', "a AND", "NOT", "(", "text:apple", "a*", "^b", "NEAR(a b)", "''", "\0", "\ud800 x"],
)
def test_s09_no_query_raises(fruit: Collection, query: str) -> None:
    (hits,) = fruit.search([query], SearchOptions(k=4, hybrid=True))
    assert len(hits) == 4
