"""Nearest concepts against brute force over all names."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.linking import dense
from mirror_index.linking.dense import SCOPE_PENALTY, nearest_concepts
from mirror_index.records import Concept, Name, Record, Scope
from tests.fakes import HashEncoder
from tests.linking.conftest import Build, concept

QUERIES = ["kidney failure", "diabetes type 2", "pain in head", "zzz", "fit", "renal injury"]


def big_dictionary() -> list[Concept]:
    rng = np.random.default_rng(0)
    words = ["kidney", "failure", "acute", "pain", "head", "type", "two", "fit", "renal", "injury"]
    scopes = list(Scope)[1:]
    return [
        Concept(
            id=f"C:{number:03}",
            label=f"{' '.join(rng.choice(words, 3))} {number}",
            names=tuple(
                Name(text=f"{' '.join(rng.choice(words, 2))} {number} {n}", scope=scopes[n % 4])
                for n in range(int(rng.integers(0, 30)))
            ),
        )
        for number in range(40)
    ]


def brute_force(items: list[Concept], query: str, k: int) -> list[tuple[str, float]]:
    encoder = HashEncoder(dim=256)
    vector = encoder.encode([query])[0].astype(float)
    best: dict[str, tuple[float, int]] = {}
    for item in items:
        for record in item.records():
            assert record.scope is not None
            cosine = float(encoder.encode([record.text])[0].astype(float) @ vector)
            found = (round(SCOPE_PENALTY[record.scope] - cosine, 9), record.scope.rank)
            best[item.id] = min(best.get(item.id, (9.0, 9)), found)
    ranked = sorted(best.items(), key=lambda pair: (pair[1], pair[0]))
    return [(identifier, -found[0]) for identifier, found in ranked[:k]]


@pytest.mark.parametrize("k", [1, 3, 17, 100])
def test_they_are_those_of_brute_force(
    build: Build, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_NAMES_PER_CONCEPT", 2)
    items = big_dictionary()
    collection = build(items)
    found = nearest_concepts(collection, HashEncoder(dim=256).encode(QUERIES), k)
    for query, nearest in zip(QUERIES, found, strict=True):
        expected = brute_force(items, query, k)
        assert [c.concept_id for c in nearest.concepts] == [one for one, _ in expected]
        assert [c.score for c in nearest.concepts] == pytest.approx(
            [score for _, score in expected], abs=1e-6
        )


def test_a_larger_k_only_appends(build: Build) -> None:
    collection = build(big_dictionary())
    vectors = HashEncoder(dim=256).encode(QUERIES)
    few = nearest_concepts(collection, vectors, 3)
    many = nearest_concepts(collection, vectors, 20)
    for first, second in zip(few, many, strict=True):
        assert second.concepts[:3] == first.concepts


def test_a_concept_is_shown_by_its_best_name(build: Build) -> None:
    collection = build()
    (nearest,) = nearest_concepts(collection, HashEncoder(dim=256).encode(["cephalgia"]), 1)
    assert nearest.concepts[0].matched_name == "cephalgia"
    assert nearest.concepts[0].scope is Scope.EXACT
    assert nearest.concepts[0].cosine == pytest.approx(1.0)


def test_records_without_a_concept_are_passed_over(build: Build) -> None:
    notes = [Record(id=f"note {n}", text=f"headache note {n}") for n in range(60)]
    collection = build([*notes, concept("D:7", "headache diary"), concept("D:8", "stone")])
    (nearest,) = nearest_concepts(collection, HashEncoder(dim=256).encode(["headache note"]), 2)
    assert [one.concept_id for one in nearest.concepts] == ["D:7", "D:8"]


def test_skipped_names_make_room_for_others(build: Build) -> None:
    collection = build()
    vectors = HashEncoder(dim=256).encode(["seizure"])
    (whole,) = nearest_concepts(collection, vectors, 7)
    assert whole.concepts[0].concept_id == "D:6"
    (without,) = nearest_concepts(collection, vectors, 6, lambda _, hit: hit.concept_id == "D:6")
    assert without.concepts == whole.concepts[1:]


def test_an_empty_collection_has_none(build: Build) -> None:
    (nearest,) = nearest_concepts(build([]), HashEncoder(dim=256).encode(["x"]), 3)
    assert nearest.concepts == ()
