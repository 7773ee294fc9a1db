"""What encoders are asked, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from mirror_index.config import MirrorConfig
from mirror_index.records import Record
from mirror_index.tuning.probes import Probes, answer, make_probes, ranks_of, texts_of
from mirror_index.tuning.strings import Split, collect, split
from mirror_index.vectors import FloatMatrix
from tests.fakes import HashEncoder


class FlatEncoder(HashEncoder):
    """Gives every text the same vector."""

    def encode(self, texts: list[str]) -> FloatMatrix:
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, 0] = 1.0
        return rows


@pytest.fixture(scope="module")
def parts(phrases: list[str]) -> Split:
    records = [
        Record(id=f"{i}", text=text, concept_id=f"C{i % 100}") for i, text in enumerate(phrases)
    ]
    return split(collect(records, size=2_000, seed=1), MirrorConfig(held_out=0.2))


@pytest.fixture(scope="module")
def probes(parts: Split) -> Probes:
    return make_probes(parts, seed=4)


def test_ranks_count_ties_against_the_encoder() -> None:
    scores = np.array([[0.9, 0.5, 0.9], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], dtype=np.float32)
    assert ranks_of(scores, np.array([0, 0, 0])).tolist() == [2, 3, 1]
    assert ranks_of(np.ones((1, 50), dtype=np.float32), np.array([7])).tolist() == [50]


def test_probes_are_reproducible(parts: Split, probes: Probes) -> None:
    again = make_probes(parts, seed=4)
    assert again.gallery == probes.gallery
    assert [a.texts for a in again.altered] == [a.texts for a in probes.altered]
    assert [a.texts for a in make_probes(parts, seed=5).altered] != [
        a.texts for a in probes.altered
    ]


def test_altered_copies_are_of_held_out_strings_and_in_no_gallery(
    parts: Split, probes: Probes
) -> None:
    assert probes.gallery[: probes.held] == parts.held_strings
    assert set(probes.gallery[probes.held :]) == set(parts.strings)
    assert {queries.kind for queries in probes.altered} == {"typos", "words", "gap"}
    for queries in probes.altered:
        assert max(queries.rows) < probes.held
        assert not set(queries.texts) & set(probes.gallery)


def test_ranks_equal_brute_force(probes: Probes) -> None:
    encoder = HashEncoder()
    answers = answer(encoder, probes, lambda n: None)
    gallery = encoder.encode(probes.gallery).astype(np.float64)
    for queries in probes.altered:
        for text, row, rank, distance in zip(
            queries.texts,
            queries.rows,
            answers.ranks[queries.kind],
            answers.distances[queries.kind],
            strict=True,
        ):
            vector = encoder.encode([text])[0].astype(np.float64)
            scores = gallery @ vector
            better = int((scores > scores[row] + 1e-6).sum())
            tied = int((np.abs(scores - scores[row]) <= 1e-6).sum())
            assert better < rank <= better + tied
            assert distance == pytest.approx(((vector - gallery[row]) ** 2).sum(), abs=1e-5)


def test_name_ranks_equal_brute_force_over_concepts(parts: Split, probes: Probes) -> None:
    encoder = HashEncoder()
    ranks = answer(encoder, probes, lambda n: None).name_ranks
    assert len(ranks) == len(parts.held_names) > 10
    for held, rank in zip(parts.held_names, ranks, strict=True):
        query = encoder.encode([held.text])[0]
        best = {
            concept_id: float((encoder.encode(names) @ query).max())
            for concept_id, names in parts.dictionary.items()
        }
        own = best.pop(held.concept_id)
        better = sum(score > own + 1e-6 for score in best.values())
        tied = sum(abs(score - own) <= 1e-6 for score in best.values())
        assert better < rank <= better + tied + 1


def test_an_encoder_that_maps_all_to_one_point_finds_nothing(probes: Probes) -> None:
    answers = answer(FlatEncoder(), probes, lambda n: None)
    for ranks in answers.ranks.values():
        assert (ranks == len(probes.gallery)).all()
    assert (answers.name_ranks == len(probes.dictionary.starts)).all()


def test_progress_counts_every_text(probes: Probes) -> None:
    heard: list[int] = []
    encoder = HashEncoder()
    answer(encoder, probes, heard.append)
    assert sum(heard) == texts_of(probes) == encoder.encoded


def test_large_dictionaries_are_bounded_but_hold_every_right_answer(
    parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.tuning.probes.DICTIONARY_NAMES", 70)
    dictionary = make_probes(parts, seed=1).dictionary
    wanted = sum(len(parts.dictionary[name.concept_id]) for name in parts.held_names)
    assert max(70, wanted) <= len(dictionary.names) < 75
    assert len(dictionary.gold) == len(parts.held_names)


def test_short_strings_and_no_held_out_strings_leave_little_to_ask() -> None:
    parts = Split(
        strings=("abc def",),
        concepts={},
        dictionary={},
        held_strings=("x", "ab", "abc"),
        held_names=(),
    )
    probes = make_probes(parts, seed=0)
    assert probes.altered == ()
    assert probes.dictionary is None
    empty = make_probes(
        Split(strings=(), concepts={}, dictionary={}, held_strings=(), held_names=()), seed=0
    )
    assert answer(HashEncoder(), empty, lambda n: None).vectors.shape == (0, 64)
