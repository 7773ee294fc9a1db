"""The learned map against the loss written out, planted structure and brute force."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.linking import calibrate, link, load_calibration, projection
from mirror_index.linking.candidates import DENSE_NAMES, MAPPED_NAMES
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.projection import RANK, Halves, Projection, learn
from mirror_index.vectors import FloatMatrix
from tests.dictionaries import Build, concept
from tests.linking.planted import DIM, PlantedEncoder, dictionary

CONCEPTS = 400


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("planted") / "c"
    with Collection.build(folder, dictionary(CONCEPTS), encoder=PlantedEncoder()) as collection:
        yield collection


def halves(collection: Collection, seed: int = 0) -> tuple[np.ndarray, Halves | None]:
    lexicon = lexicon_of(collection)
    rng = np.random.default_rng(seed)
    second = rng.integers(0, 2, len(lexicon.concept_ids)).astype(np.bool_)
    return second, learn(collection, lexicon, second, rng)


def loss(left: FloatMatrix, right: FloatMatrix, matrix: np.ndarray) -> float:
    """The contrastive loss, pair by pair."""
    one = [row / np.linalg.norm(row) for row in left @ matrix]
    other = [row / np.linalg.norm(row) for row in right @ matrix]
    total = 0.0
    for place, row in enumerate(one):
        logits = [float(row @ candidate) / projection._TEMPERATURE for candidate in other]
        total += float(np.logaddexp.reduce(logits)) - logits[place]
    return total / len(one)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 7, 6))
    matrix = rng.normal(size=(6, 4))
    found = projection._gradient(left, right, matrix)
    step = 1e-5
    for place in np.ndindex(matrix.shape):
        higher, lower = matrix.copy(), matrix.copy()
        higher[place] += step
        lower[place] -= step
        expected = (loss(left, right, higher) - loss(left, right, lower)) / (2 * step)
        assert found[place] == pytest.approx(expected, abs=1e-4)


def first_neighbours(vectors: FloatMatrix, concepts: np.ndarray, asked: np.ndarray) -> float:
    """Share of the names asked for whose nearest other name is of their concept."""
    scores = vectors[asked] @ vectors.T
    scores[np.arange(len(asked)), asked] = -np.inf
    return float((concepts[scores.argmax(axis=1)] == concepts[asked]).mean())


def test_names_of_unseen_concepts_come_nearer(planted: Collection) -> None:
    second, maps = halves(planted)
    assert maps is not None
    lexicon = lexicon_of(planted)
    vectors = planted.vectors_of(lexicon.rows)
    for learned, unseen in ((maps.first, second), (maps.second, ~second)):
        assert learned.matrix.shape == (DIM, min(RANK, DIM))
        asked = np.flatnonzero(unseen[lexicon.concept_of])
        before = first_neighbours(vectors, lexicon.concept_of, asked)
        after = first_neighbours(learned.of(vectors), lexicon.concept_of, asked)
        assert after > before + 0.3
    whole = first_neighbours(maps.whole.of(vectors), lexicon.concept_of, np.arange(len(vectors)))
    assert whole > 0.9


def test_it_is_seeded(planted: Collection) -> None:
    (_, one), (_, again), (_, other) = halves(planted), halves(planted), halves(planted, seed=1)
    assert one is not None
    assert other is not None
    assert one == again
    assert hash(one.whole) == hash(again.whole) if again else False
    assert one.whole != other.whole


def test_a_map_has_unit_rows_and_survives_json() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(6, 3)).astype(np.float16).astype(np.float32)
    learned = Projection(matrix)
    vectors = rng.normal(size=(5, 6)).astype(np.float32)
    vectors[4] = 0.0
    mapped = learned.of(vectors)
    expected = vectors @ matrix
    expected[:4] /= np.linalg.norm(expected[:4], axis=1, keepdims=True)
    assert mapped == pytest.approx(expected, abs=1e-6)
    assert (mapped.dtype, mapped.flags.c_contiguous) == (np.float32, True)
    stored = json.loads(json.dumps(learned.to_json()))
    assert Projection.from_json(stored) == learned
    assert Projection.from_json(None) is None


def test_too_few_concepts_teach_no_map(build: Build) -> None:
    few = projection.FEWEST_CONCEPTS
    items = [concept(f"C:{n}", f"name {n}", f"other {n}") for n in range(few)]
    assert halves(build(items))[1] is None


def test_a_map_that_gains_nothing_is_not_kept(tmp_path: Path) -> None:
    """Where every direction tells as much, there is nothing to learn."""
    encoder = PlantedEncoder(noise=0.05)
    with Collection.build(tmp_path / "c", dictionary(300), encoder=encoder) as collection:
        assert halves(collection)[1] is None


def test_a_large_dictionary_is_learned_from_in_part(
    planted: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "MOST_NAMES", 3 * 250)
    asked: list[int] = []
    vectors_of = planted.vectors_of

    def noted(rows: np.ndarray) -> FloatMatrix:
        asked.append(len(rows))
        return vectors_of(rows)

    monkeypatch.setattr(planted, "vectors_of", noted)
    assert halves(planted)[1] is not None
    assert asked == [750]


def test_a_concept_of_very_many_names_leaves_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "MOST_OF_ONE", 20)
    monkeypatch.setattr(projection, "MOST_NAMES", 3 * 250)
    huge = concept("H", *[f"c0 h{n}" for n in range(800)])
    items = [*dictionary(240), huge]
    with Collection.build(tmp_path / "c", items, encoder=PlantedEncoder()) as collection:
        assert all(halves(collection, seed=seed)[1] is not None for seed in range(3))


def test_linking_uses_the_map_of_the_calibration(tmp_path: Path) -> None:
    items = dictionary(CONCEPTS)
    with Collection.build(tmp_path / "c", items, encoder=PlantedEncoder()) as collection:

        def near() -> int:
            (answer,) = link(collection, ["c7 z"])
            (found,) = re.findall(r"near: (\d+) names by vector", " ".join(answer.trace))
            return int(found)

        assert near() == DENSE_NAMES
        found = calibrate(collection, sample=300)
        assert found.projection is not None
        assert found.summary()["projection"] == DIM
        assert load_calibration(collection) == found
        assert near() == MAPPED_NAMES
