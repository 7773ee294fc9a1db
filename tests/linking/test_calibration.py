"""Calibration without labels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.evaluation.linking import CurvePoint
from mirror_index.linking import calibrate, link, load_calibration
from mirror_index.linking import calibration as module
from mirror_index.linking.examples import eligible, examples_of
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.model import CONFIDENCE, DEFAULT_MODEL
from mirror_index.linking.words import fold
from mirror_index.records import Concept, Name, Scope
from tests.dictionaries import Build, concept
from tests.fakes import HashEncoder


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
    found = calibrate(collection, sample=100)
    assert encoder.encoded == before  # type: ignore[attr-defined]
    assert found.calibrated
    assert found.reason is None
    assert (found.examples, found.generation) == (100, collection.info()["generation"])
    assert found.fingerprint == encoder.fingerprint
    assert found.ece is not None
    assert found.ece < 0.12
    assert found.accuracy is not None
    assert found.accuracy > 0.9
    assert load_calibration(collection) == found
    json.dumps(found.to_json())
    (answer,) = link(collection, ["x"])
    assert any("calibrated on 100 names" in step for step in answer.trace)


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
    point = np.full(len(CONFIDENCE), 0.5)
    assert many.confident(point) < few.confident(point)


def test_the_mentions_own_names_and_its_concept_are_left_out(collection: Collection) -> None:
    lexicon = lexicon_of(collection)
    names = eligible(lexicon)[:60]
    found = examples_of(collection, lexicon, names, np.random.default_rng(0))
    assert sorted(set(found.concepts.tolist())) == sorted({-1, *lexicon.concept_of[names].tolist()})
    keys = {lexicon.concept_of[name]: lexicon.keys[name] for name in names}
    for pool, number in zip(found.pools, found.concepts.tolist(), strict=True):
        if number >= 0 and (pool.concepts == number).any():
            best = pool.names[pool.concepts == number][0]
            assert best not in names or lexicon.keys[best] != keys[number]


def test_names_that_only_order_their_words_anew_teach_nothing(build: Build) -> None:
    items = [concept(f"A:{n}", f"one {n}", f"{n} one", f"uno {n}") for n in range(3)]
    lexicon = lexicon_of(build([*items, concept("B", "alone"), concept("C", "x y", "X-Y")]))
    assert {lexicon.texts[name] for name in eligible(lexicon)} == {f"uno {n}" for n in range(3)}


def test_examples_are_weighed_by_their_kind(collection: Collection) -> None:
    lexicon = lexicon_of(collection)
    found = examples_of(collection, lexicon, eligible(lexicon)[:40], np.random.default_rng(0))
    weights = found.weights(0.3)
    assert weights.mean() == pytest.approx(1.0)
    assert weights[found.concepts < 0].sum() / weights.sum() == pytest.approx(0.3)


def test_word_pairs_are_kept_where_they_teach(build: Build) -> None:
    rng = np.random.default_rng(5)
    letters = np.array(list("abcdefghijklmnoprstuvz"))
    words = ["".join(rng.choice(letters, 6)) for _ in range(20)]
    others = {word: "".join(rng.choice(letters, 6)) for word in words}
    items = []
    for number in range(190):
        first, second = words[number // 19], words[10 + number % 10]
        rest = f"{second} {number}"
        items.append(concept(f"W:{number}", f"{first} {rest}", f"{others[first]} {rest}"))
    paired = calibrate(build(items), sample=200)
    assert paired.word_pairs
    assert {tuple(sorted(pair[:2])) for pair in paired.word_pairs} <= {
        tuple(sorted(map(fold, pair))) for pair in others.items()
    }
    assert not calibrate(build(dictionary()), sample=200).word_pairs


def test_a_wished_precision_is_read_from_the_curve(collection: Collection) -> None:
    curve = tuple(
        CurvePoint(threshold=t, coverage=1 - t, precision=p)
        for t, p in ((0.0, 0.5), (0.2, 0.9), (0.4, 0.8), (0.6, 0.92), (0.8, 0.97))
    )
    found = replace(calibrate(collection, sample=60), curve=curve, examples=1000)
    assert found.threshold_for(0.4) == 0.0
    assert found.threshold_for(0.85) == 0.2
    assert found.threshold_for(0.95) == 0.8
    few = replace(found, examples=100)  # 20 examples at 0.8 prove nothing
    assert few.threshold_for(0.91) == 0.6
    with pytest.raises(UsageError, match="no threshold reaches"):
        few.threshold_for(0.95)
    with pytest.raises(UsageError, match="no threshold reaches") as caught:
        found.threshold_for(0.98)
    assert "At most 0.970" in str(caught.value)


def test_linking_for_a_precision(collection: Collection) -> None:
    with pytest.raises(UsageError, match="needs a calibration"):
        link(collection, ["x"], LinkOptions(precision=0.9))
    threshold = calibrate(collection, sample=200).threshold_for(0.99)
    wished = link(collection, ["abcdef ghijkl"], LinkOptions(precision=0.99))
    assert wished == link(collection, ["abcdef ghijkl"], LinkOptions(min_probability=threshold))


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
        ({"model": {**DEFAULT_MODEL.to_json(), "features": ["cosine"]}}, "another version"),
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
    with pytest.raises(UsageError, match="seed"):
        calibrate(collection, seed=-1)


def test_word_pairs_that_one_concept_alone_has_do_not_count(build: Build) -> None:
    """A mention must not be judged by pairs that it has taught itself."""
    rng = np.random.default_rng(7)
    letters = np.array(list("bcdfghklmnprtvwz"))

    def word() -> str:
        return "".join(rng.choice(letters, 6))

    items = []
    for number in range(120):
        shared = word()
        items.append(concept(f"U:{number}", f"{word()} {shared}", f"{word()} {shared}"))
    assert not calibrate(build(items), sample=200).word_pairs
