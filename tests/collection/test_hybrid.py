"""Hybrid search: against fusion written out by hand, any query at all, and every k."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Hit, Record
from mirror_index.store.layout import DATABASE
from mirror_index.vectors import Encoded
from tests.collection.oracle import names
from tests.fakes import HashEncoder

HYBRID = SearchOptions(k=1000, hybrid=True)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    items = [*names(400), *(Record(id=f"copy{n}", text="renal copy") for n in range(30))]
    folder = tmp_path_factory.mktemp("hybrid") / "c"
    return Collection.build(folder, items, encoder=HashEncoder(32))


def facts(hits: list[Hit]) -> list[object]:
    return [(hit.rank, hit.id, hit.score, hit.legs, hit.path) for hit in hits]


@pytest.mark.parametrize("query", ["renal failure type 14", "renl copi", "zzz", "type", "🙂"])
@pytest.mark.parametrize("index", ["exact", "HNSW8"])
def test_every_k_is_a_prefix_of_a_larger_k(
    many: Collection, tmp_path: Path, query: str, index: str
) -> None:
    collection = many
    if index != "exact":
        spec = IndexSpec(kind=index, recall=0.5)
        items = names(400)
        collection = Collection.build(tmp_path / "c", items, encoder=HashEncoder(32), spec=spec)
    asked = {
        k: collection.search([query], SearchOptions(k=k, hybrid=True))[0]
        for k in (1, 10, 99, 100, 101, 150, 299, 500)
    }
    for small, large in zip(list(asked)[:-1], list(asked)[1:], strict=True):
        assert facts(asked[large])[:small] == facts(asked[small])
        assert len(asked[small]) == small
    assert len({hit.id for hit in asked[500]}) == len(asked[500])


def test_the_order_is_that_of_the_sum_of_reciprocal_ranks(many: Collection) -> None:
    (hits,) = many.search(["cardiac injury type 71"], HYBRID)
    weights = {"dense": 1, "words": 1, "trigrams": 2}
    fused = [
        (-sum(weights[leg] / (60 + place) for leg, place in (hit.legs or {}).items()), -hit.score)
        for hit in hits
        if set(hit.legs or ()) != {"dense"} or (hit.legs or {})["dense"] <= 100
    ]
    assert fused == sorted(fused)
    assert hits[0].legs == {"dense": 1, "words": 1, "trigrams": 1}
    dense = many.search(["cardiac injury type 71"], SearchOptions(k=1000))[0]
    rank = {hit.id: hit.rank for hit in dense}
    for hit in hits:
        if "dense" in (hit.legs or {}):
            tied = [other.rank for other in dense if other.score == hit.score]
            assert min(tied) <= rank[hit.id] <= max(tied)
    assert {hit.id for hit in hits} == {hit.id for hit in dense}


def test_a_misspelt_name_is_found_by_its_letters(tmp_path: Path) -> None:
    class Blind(HashEncoder):
        """Tells no text from another by its spelling."""

        def encode_audited(self, texts: Sequence[str]) -> Encoded:
            return super().encode_audited([str(random.Random(text).random()) for text in texts])

    texts = ["Arachnodactyly", "Epistaxis", "Macroglossia", "Nystagmus", "Ptosis"]
    items = [Record(id=text, text=text) for text in texts]
    with Collection.build(tmp_path / "c", items, encoder=Blind()) as collection:
        for query, wanted in (("arachnodactily", "Arachnodactyly"), ("Glossia", "Macroglossia")):
            (hits,) = collection.search([query], SearchOptions(k=5, hybrid=True))
            assert hits[0].id == wanted
            assert (hits[0].legs or {})["trigrams"] == 1


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    query=st.one_of(
        st.text(st.characters(), max_size=40),
        st.text("\"'()*^:-+{}\\\0 \n{}ANDORTNE,;%_", max_size=30),
        st.sampled_from(
            ["a", "ab", '"', '""', "NEAR(a b, 2)", "{text} : x", "🙂", "🙂🙂🙂🙂", "\ud800"]
        ),
    )
)
def test_no_query_raises_or_finds_too_few(many: Collection, query: str) -> None:
    for k in (3, 120):
        (hits,) = many.search([query], SearchOptions(k=k, hybrid=True))
        assert len(hits) == (k if query.split() else 0)


@pytest.mark.parametrize("unit", ["word ", "w%d ", '"', "\0", "é", "renal ", "🙂", "\udc80 "])
def test_a_query_of_100_kilobytes(many: Collection, unit: str) -> None:
    text = "".join(unit % n if "%" in unit else unit for n in range(100_000 // len(unit)))
    (hits,) = many.search([text], SearchOptions(k=5, hybrid=True))
    assert len(hits) == 5


def test_filters_and_changes_reach_every_leg(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with Collection.build(folder, names(60), encoder=HashEncoder(32)) as collection:
        collection.add(
            [Record(id="new", text="pulmonary fibrosis"), Record(id="z", text="z" * 300)]
        )
        query, options = ["pulmonry fibrosis"], SearchOptions(k=3, hybrid=True)
        assert collection.search(query, options)[0][0].id == "new"
        other = SearchOptions(k=3, hybrid=True, where="id != 'new'")
        assert "new" not in {hit.id for hit in collection.search(query, other)[0]}
        assert collection.verify(encoder=HashEncoder(32)).ok
        collection.delete(["r00003", "r00059"])
        collection.compact()
        hit = collection.search(query, options)[0][0]
        assert (hit.id, hit.legs) == ("new", {"dense": 1, "words": 1, "trigrams": 1})
        collection.delete(["new"])
        (hits,) = collection.search(query, options)
        assert all("trigrams" not in (hit.legs or {}) for hit in hits)
        assert collection.verify(encoder=HashEncoder(32)).ok
    with Collection.build(folder, names(5), encoder=HashEncoder(16), overwrite=True) as collection:
        assert collection.search(["renal failure type"], options)[0]
        assert collection.verify(encoder=HashEncoder(16)).ok


def test_verify_misses_nothing_in_the_trigrams(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with Collection.build(folder, names(20), encoder=HashEncoder(32)) as collection:
        connection = sqlite3.connect(folder / DATABASE)
        connection.execute("INSERT INTO texts_trigrams (texts_trigrams) VALUES ('delete-all')")
        connection.commit()
        connection.close()
        problems = collection.verify(encoder=HashEncoder(32)).problems
        assert any("texts_trigrams" in problem.what for problem in problems)
        collection.compact()
        assert collection.verify(encoder=HashEncoder(32)).ok


def test_a_collection_without_trigrams_is_still_searched(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    Collection.build(folder, names(20), encoder=HashEncoder(32)).close()
    connection = sqlite3.connect(folder / DATABASE)
    for kind, name in (("TABLE", "texts_trigrams_terms"), ("TABLE", "texts_trigrams")):
        connection.execute(f"DROP {kind} {name}")
    connection.commit()
    connection.close()
    with Collection.open(folder, encoder=HashEncoder(32)) as collection:
        (hits,) = collection.search(["renal failure"], SearchOptions(k=5, hybrid=True))
    assert len(hits) == 5
    assert all("trigrams" not in (hit.legs or {}) for hit in hits)
