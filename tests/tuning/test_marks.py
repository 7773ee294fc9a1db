"""Texts alone and between marks, and what the guard makes of it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from mirror_index.tuning.card import compare
from mirror_index.tuning.guard import Verdict, judge
from mirror_index.tuning.marks import MARKS, between, neighbours_kept
from mirror_index.tuning.probes import answer, make_probes
from mirror_index.tuning.strings import HeldName, Split
from mirror_index.vectors import FloatMatrix
from tests.fakes import HashEncoder

SYLLABLES = "ba ce di fo gu ha ke li mo nu".split()
WORDS = tuple("".join(letters) for letters in itertools.product(SYLLABLES, repeat=3))[::2]
SENTENCES = tuple(f"{word[:2]}, {word[2:4]} {word[4:]}" for word in WORDS)
TOPICS = {text: f"topic {place % 50}" for place, text in [*enumerate(WORDS), *enumerate(SENTENCES)]}


def parts_of(strings: Sequence[str], held: int) -> Split:
    return Split(
        strings=tuple(strings[held:]),
        concepts={},
        dictionary={},
        held_strings=tuple(strings[:held]),
        held_names=(),
    )


PARTS = parts_of(WORDS, 100)


def unit(rows: np.ndarray) -> FloatMatrix:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def direction(text: str) -> np.ndarray:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "big")).normal(size=24) / 24**0.5


class Words(HashEncoder):
    """Meaning, a direction that all words share, and noise that follows from the whole text.

    Ten texts each mean much the same; an altered one is unheard of. The noise is that of a text
    and its marks together.
    """

    def __init__(self, meaning: float, shared: float, noise: float) -> None:
        super().__init__(dim=24)
        self.weights = (meaning, shared, noise)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        meaning, shared, noise = self.weights
        rows = []
        for text in texts:
            word = text.strip('"()-.? ')
            rows.append(
                meaning * (direction(TOPICS.get(word, word)) + 0.7 * direction(word))
                + shared * direction("shared")
                + noise * direction(text)
            )
        return unit(np.array(rows))


BASE = Words(meaning=1, shared=1.5, noise=1)


def verdict_of(after: HashEncoder, strings: Sequence[str] = WORDS) -> Verdict:
    probes = make_probes(parts_of(strings, 100), seed=3)
    sides = [answer(encoder, probes, lambda n: None) for encoder in (BASE, after)]
    return judge(compare(probes, *sides, seed=3))


@pytest.mark.parametrize("strings", [WORDS, SENTENCES])
def test_less_noise_in_a_rounder_space_is_a_gain(strings: Sequence[str]) -> None:
    verdict = verdict_of(Words(meaning=1, shared=0.5, noise=0.6), strings)
    assert verdict.gain
    assert "neighbours kept between marks rose from" in verdict.reason
    assert "uniformity fell from" in verdict.reason


@pytest.mark.parametrize("strings", [WORDS, SENTENCES])
@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (BASE, "did not move beyond noise"),
        (Words(meaning=0, shared=0, noise=1), ""),  # scattered at random
        (Words(meaning=0, shared=1.5, noise=1), ""),  # meaning lost, the space as before
        (Words(meaning=1, shared=0.3, noise=1.4), ""),  # rounder, but noisier
        (Words(meaning=1, shared=3, noise=0.6), ""),  # less noise, but narrower
        (Words(meaning=1, shared=40, noise=0.6), "the vectors collapsed"),
    ],
)
def test_one_of_both_is_none(after: Words, reason: str, strings: Sequence[str]) -> None:
    verdict = verdict_of(after, strings)
    assert not verdict.gain
    assert reason in verdict.reason


def test_neighbours_against_counting() -> None:
    generator = np.random.default_rng(4)
    plain = unit(generator.normal(size=(60, 6)))
    marked = [unit(plain + generator.normal(size=plain.shape) * 0.3) for _ in range(3)]

    def nearest(vectors: FloatMatrix, row: int) -> set[int]:
        cosines = vectors @ vectors[row]
        return set(sorted(set(range(60)) - {row}, key=lambda other: -cosines[other])[:10])

    expected = [
        np.mean([len(nearest(plain, row) & nearest(one, row)) / 10 for one in marked])
        for row in range(25)
    ]
    assert neighbours_kept(plain, marked, 25) == pytest.approx(expected)
    assert 0.2 < np.mean(expected) < 0.9


def test_only_who_is_near_whom_counts() -> None:
    generator = np.random.default_rng(4)
    plain = unit(generator.normal(size=(60, 6)))
    turn, _ = np.linalg.qr(generator.normal(size=(6, 6)))
    assert neighbours_kept(plain, [unit(plain @ turn)], 60).min() >= 0.9  # rounding


def test_one_point_has_no_neighbours() -> None:
    plain = unit(np.ones((60, 6)))
    assert not neighbours_kept(plain, [plain, plain], 60).any()
    assert neighbours_kept(unit(np.eye(60)), [unit(np.eye(60))], 60).max() == 0


def test_what_is_asked_between_marks() -> None:
    probes = make_probes(PARTS, seed=3)
    assert [len(texts) for texts in probes.marked] == [400] * len(MARKS)
    for texts, marks in zip(probes.marked, MARKS, strict=True):
        assert texts[:100] == tuple(marks.format(word) for word in WORDS[:100])
    assert between(["ape"]) == [['"ape"'], ["(ape)"], ["- ape."], ["ape?"]]
    answers = answer(BASE, probes, lambda n: None)
    assert len(answers.neighbours) == 100  # the held-out words; the others are only looked among
    measures = compare(probes, answers, None, seed=3)
    (kept,) = [measure for measure in measures if measure.name == "neighbours_kept"]
    assert kept.n == 100


@pytest.mark.parametrize(
    ("strings", "held"),
    [
        (WORDS[:99], 20),  # too few to have neighbours
        (WORDS, 0),
    ],
)
def test_others_are_not_asked(strings: Sequence[str], held: int) -> None:
    probes = make_probes(parts_of(strings, held), seed=3)
    assert probes.marked == ()
    assert not len(answer(BASE, probes, lambda n: None).neighbours)


def test_held_out_synonyms_say_more() -> None:
    concepts = {str(place): (word,) for place, word in enumerate(WORDS)}
    held = HeldName(concept_id="7", text="another")
    parts = replace(PARTS, dictionary=concepts, held_names=(held,))
    assert make_probes(parts, seed=3).marked == ()
