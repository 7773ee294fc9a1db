"""Linking end to end over a small dictionary."""

from __future__ import annotations

import pytest

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.linking import link, pipeline
from mirror_index.records import LinkStatus, Record, Scope
from tests.dictionaries import Build


def test_an_exact_name_is_linked_with_its_evidence(build: Build) -> None:
    (answer,) = link(build(), ["TYPE II diabetes"])
    assert answer.status is LinkStatus.LINKED
    assert (answer.concept_id, answer.label) == ("D:1", "Diabetes mellitus type 2")
    assert (answer.matched_name, answer.scope) == ("type 2 diabetes", Scope.EXACT)
    assert (answer.method, answer.score) == ("exact", 1.0)
    assert answer.margin is not None
    assert answer.margin > 0.8
    assert answer.candidates[0].label == answer.label
    assert len(answer.candidates) == 5
    assert len({candidate.concept_id for candidate in answer.candidates}) == 5
    assert "key: 'type 2 diabetes'" in answer.trace
    assert "roman numerals: 'type ii diabetes' -> 'type 2 diabetes'" in answer.trace
    assert "exact: exact of D:1, 'type 2 diabetes'" in answer.trace
    assert any(
        step.startswith("near: ") and "by vector (path exact)" in step for step in answer.trace
    )
    assert answer.trace[-1].startswith("decision: linked")


def test_a_near_name_is_linked_densely(build: Build) -> None:
    (answer,) = link(build(), ["hand foot mouth disease"])
    assert answer.status is LinkStatus.LINKED
    assert (answer.concept_id, answer.method) == ("D:2", "dense")
    assert answer.matched_name == "Hand, foot and mouth disease"
    assert answer.score is not None
    assert 0.8 < answer.score < 1.0
    assert "exact: no live name has this key" in answer.trace
    assert any("default coefficients (the collection was never" in step for step in answer.trace)


def test_nil_has_no_concept_but_shows_its_candidates(build: Build) -> None:
    (answer,) = link(build(), ["quantum chromodynamics"])
    assert answer.status is LinkStatus.NIL
    assert answer.concept_id is None
    assert answer.label is None
    assert answer.probability is None
    assert answer.matched_name is None
    assert len(answer.candidates) == 5
    assert answer.candidates[0].probability < 0.5


def test_one_link_per_mention_in_order_and_repeats_are_computed_once(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_WINDOW", 2)
    collection = build()
    mentions = ["Seizure", "", "AKI", "Seizure", "nothing of the kind", "AKI", "\n", "seizure "]
    encoder = collection.encoder
    before = encoder.encoded  # type: ignore[attr-defined]
    answers = link(collection, mentions)
    assert [answer.mention for answer in answers] == mentions
    assert [answer.concept_id for answer in answers] == [
        "D:6", None, "D:3", "D:6", None, "D:3", None, "D:6",
    ]  # fmt: skip
    # the vectors of mentions that are names are there already
    assert encoder.encoded - before == 1  # type: ignore[attr-defined]


def test_windows_change_nothing(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = build()
    mentions = ["seizures", "head pain", "kidney failure", "!!", "fits"]
    whole = link(collection, mentions)
    monkeypatch.setattr(pipeline, "_WINDOW", 1)
    assert link(collection, mentions) == whole


def test_k_is_what_is_shown_not_what_is_decided(build: Build) -> None:
    collection = build()
    (few,) = link(collection, ["seizures"], LinkOptions(k=1))
    (many,) = link(collection, ["seizures"], LinkOptions(k=7))
    assert len(few.candidates) == 1
    assert len(many.candidates) == 7
    assert few.candidates == many.candidates[:1]
    assert (few.status, few.margin) == (many.status, many.margin)


def test_an_empty_dictionary_answers_nil(build: Build) -> None:
    (answer,) = link(build([]), ["seizure"])
    assert (answer.status, answer.candidates, answer.margin) == (LinkStatus.NIL, (), None)
    assert answer.trace[-1] == "decision: nil, there is no candidate"


def test_a_collection_without_concepts_is_refused(build: Build) -> None:
    collection = build([Record(id="1", text="seizure")])
    with pytest.raises(UsageError, match="holds no concepts"):
        link(collection, ["seizure"])


def test_no_mentions(build: Build) -> None:
    assert link(build(), []) == []


def test_lone_surrogates_do_not_crash(build: Build) -> None:
    first, second = link(build(), ["\ud800", "seizure\ud800"])
    assert first.status is LinkStatus.EMPTY
    assert second.concept_id == "D:6"


def test_names_given_as_plain_rows_are_labelled_by_their_best_name(build: Build) -> None:
    rows = [
        Record(id="r1", text="heart attack", concept_id="H:1"),
        Record(id="r2", text="Myocardial infarction", concept_id="H:1", scope=Scope.LABEL),
    ]
    (answer,) = link(build(rows), ["Heart Attack"])
    assert (answer.concept_id, answer.label) == ("H:1", "Myocardial infarction")
    assert answer.scope is Scope.EXACT


def test_one_text_is_no_list_of_letters(build: Build) -> None:
    collection = build([Record(id="1", text="fever", concept_id="C:1", scope=Scope.LABEL)])
    for ask in (lambda text: link(collection, text), collection.search, collection.encode):
        with pytest.raises(UsageError, match="one text where several are wanted: 'fever'"):
            ask("fever")
