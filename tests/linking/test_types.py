"""Semantic types as a filter, and more candidates than are compared."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking import calibrate, link
from mirror_index.records import LinkStatus
from tests.dictionaries import Build, concept

ITEMS = [
    concept("T:1", "cold", "common cold", semantic_types=("Disease",)),
    concept("T:2", "cold", "coldness", semantic_types=("Sensation", "Finding")),
    concept("T:3", "cold sore", semantic_types=("Disease",)),
    concept("T:4", "warmth", semantic_types=("Sensation",)),
    concept("T:5", "untyped cold"),
]


def test_a_type_decides_between_concepts_of_one_name(build: Build) -> None:
    collection = build(ITEMS)
    assert link(collection, ["cold"])[0].status is LinkStatus.AMBIGUOUS
    for types, wanted, shown in (
        (("Disease",), "T:1", {"T:1", "T:3"}),
        (("sensation",), "T:2", {"T:2", "T:4"}),
        (("Finding",), "T:2", {"T:2"}),
    ):
        (answer,) = link(collection, ["cold"], LinkOptions(types=types))
        assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, wanted)
        assert {one.concept_id for one in answer.candidates} == shown
    (answer,) = link(collection, ["cold"], LinkOptions(types=("Finding", "Disease")))
    assert {one.concept_id for one in answer.candidates} == {"T:1", "T:2", "T:3"}


def test_a_type_holds_for_every_layer(build: Build) -> None:
    collection = build(ITEMS)
    for mention in ("cold sore", "coldnes", "common colds", "nothing of it", "warmth"):
        (answer,) = link(collection, [mention], LinkOptions(types=("Sensation",)))
        assert {one.concept_id for one in answer.candidates} <= {"T:2", "T:4"}


def test_an_unknown_type_is_refused_with_those_there(build: Build) -> None:
    with pytest.raises(UsageError, match="no concept is of this semantic type") as caught:
        link(build(ITEMS), ["cold"], LinkOptions(types=("Drug",)))
    assert "Known types: disease, finding, sensation" in str(caught.value)


def test_k_distinct_concepts_beyond_those_compared(build: Build) -> None:
    collection = build([concept(f"C:{n:03}", f"name number {n}", f"nr {n}") for n in range(150)])
    calibrate(collection, sample=60)
    (few,) = link(collection, ["number 7 of names"], LinkOptions(k=5))
    (many,) = link(collection, ["number 7 of names"], LinkOptions(k=140))
    (all_,) = link(collection, ["number 7 of names"], LinkOptions(k=1000))
    assert many.candidates[:5] == few.candidates
    assert all_.candidates[:140] == many.candidates
    assert (len(many.candidates), len(all_.candidates)) == (140, 150)
    assert len({one.concept_id for one in all_.candidates}) == 150
    probabilities = np.array([one.probability for one in all_.candidates])
    assert (np.diff(probabilities) <= 0).all()
    assert probabilities.sum() <= 1.0
    assert probabilities[-1] == 0.0
