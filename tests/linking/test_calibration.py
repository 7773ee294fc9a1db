"""Calibration without labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.errors import UsageError
from mirror_index.linking import calibrate, link, load_calibration
from mirror_index.linking import calibration as module
from mirror_index.linking.model import DEFAULT_MODEL
from mirror_index.records import Concept, Name, Scope
from tests.fakes import HashEncoder
from tests.linking.conftest import Build, concept


def dictionary(concepts: int = 120, seed: int = 1) -> list[Concept]:
    """Concepts of three made-up words, whose synonyms re-order or drop one."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnoprstuvz"))
    items = []
    for number in range(concepts):
        words = ["".join(rng.choice(letters, 6)) for _ in range(3)]
        names = (f"{words[1]} {words[0]} {words[2]}", f"{words[0]} {words[1]}")
        items.append(
            Concept(
                id=f"C:{number:03}",
                label=" ".join(words),
                names=tuple(Name(text=text, scope=Scope.EXACT) for text in names),
            )
        )
    return items


@pytest.fixture
def collection(build: Build) -> Collection:
    return build(dictionary())


def test_it_encodes_nothing_and_is_stored_for_link(collection: Collection) -> None:
    encoder = collection.encoder
    before = encoder.encoded  # type: ignore[attr-defined]
    found = calibrate(collection, sample=200)
    assert encoder.encoded == before  # type: ignore[attr-defined]
    assert found.calibrated
    assert found.reason is None
    assert (found.examples, found.generation) == (200, collection.info()["generation"])
    assert found.fingerprint == encoder.fingerprint
    assert found.ece is not None
    assert found.ece < 0.12
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    assert load_calibration(collection) == found
    json.dumps(found.to_json())
    (answer,) = link(collection, ["x"])
    assert any("calibrated on 200 names" in step for step in answer.trace)


def test_it_is_seeded(collection: Collection) -> None:
    first = calibrate(collection, sample=100, seed=1)
    assert calibrate(collection, sample=100, seed=1) == first
    assert calibrate(collection, sample=100, seed=2).model != first.model


def test_held_out_synonyms_are_likely_and_removed_concepts_are_not(build: Build) -> None:
    """The probabilities agree with the outcomes on concepts that calibration never saw."""
    items = dictionary(concepts=240, seed=3)
    known = [Concept(id=item.id, label=item.label, names=item.names[:1]) for item in items[:160]]
    collection = build(known)
    calibrate(collection)
    mentions = [item.names[1].text for item in items]
    answers = link(collection, mentions)
    p = np.array([answer.candidates[0].probability for answer in answers])
    right = np.array(
        [
            answer.candidates[0].concept_id == item.id
            for answer, item in zip(answers, items, strict=True)
        ]
    )
    assert right[:160].mean() > 0.9
    assert p[:160][right[:160]].mean() > 0.6
    assert p[160:].mean() < 0.2


def test_a_larger_share_of_nil_lowers_the_probabilities(collection: Collection) -> None:
    few = calibrate(collection, sample=200, nil_share=0.05).model
    many = calibrate(collection, sample=200, nil_share=0.8).model
    point = (0.7, 0.4, 0.4)
    assert many.probability(point) < few.probability(point)


def test_the_mentions_own_names_and_its_concept_are_left_out(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def spy(*arguments):  # noqa: ANN002, ANN202
        answers = held_out(*arguments)
        seen.append((arguments[2], arguments[3], arguments[5], answers))
        return answers

    held_out = module._held_out
    monkeypatch.setattr(module, "_held_out", spy)
    calibrate(collection, sample=60)
    assert {without for _, _, without, _ in seen} == {False, True}
    for names, keys, without_concept, answers in seen:
        for name, key, answer in zip(names, keys, answers, strict=True):
            for one in answer.concepts:
                assert module.name_key(one.matched_name) != key
                assert not (without_concept and one.concept_id == name.concept_id)


def test_too_few_synonyms_mean_the_defaults_with_a_reason(build: Build) -> None:
    collection = build([concept("A", "one", "uno"), concept("B", "two"), concept("C", "x", "X")])
    found = calibrate(collection)
    assert not found.calibrated
    assert found.model == DEFAULT_MODEL
    assert found.reason == "only 2 names have another one beside them, 50 are needed"
    assert load_calibration(collection).reason == found.reason
    (answer,) = link(collection, ["one"])
    assert any("default coefficients (only 2 names" in step for step in answer.trace)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 99}, "another version"),
        ({"name_key_version": 0}, "another version"),
        ({"features": ["cosine"]}, "another version"),
        ({"fingerprint": HashEncoder(salt="other").fingerprint}, "another encoder"),
    ],
)
def test_a_calibration_that_does_not_fit_is_not_used(
    collection: Collection, change: dict[str, object], reason: str
) -> None:
    found = calibrate(collection, sample=60)
    collection.save_state(module.STATE_KEY, {**found.to_json(), **change})
    loaded = load_calibration(collection)
    assert not loaded.calibrated
    assert loaded.reason is not None
    assert reason in loaded.reason


def test_without_one_the_reason_is_given(collection: Collection) -> None:
    assert load_calibration(collection).reason == "the collection was never calibrated"


def test_bad_arguments_are_refused(collection: Collection) -> None:
    with pytest.raises(UsageError, match="nil_share"):
        calibrate(collection, nil_share=1.0)
    with pytest.raises(UsageError, match="sample"):
        calibrate(collection, sample=0)


def test_the_draw_is_even() -> None:
    counts = np.zeros(20)
    for seed in range(400):
        for value in module._sampled(iter(range(20)), 5, seed):  # type: ignore[arg-type]
            counts[value] += 1  # type: ignore[index]
    assert counts.sum() == 2000
    assert counts.min() > 60
    assert counts.max() < 140
