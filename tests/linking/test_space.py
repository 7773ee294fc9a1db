"""Near names and cosines, with and without a map, against brute force."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.linking import space
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.projection import Projection
from mirror_index.linking.space import SHARE, Space, StaleLexiconError, space_of
from tests.dictionaries import Build, concept
from tests.linking.planted import DIM, PlantedEncoder, dictionary

RANK = 6


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("space") / "c"
    with Collection.build(folder, dictionary(60), encoder=PlantedEncoder()) as opened:
        yield opened


@pytest.fixture
def learned() -> Projection:
    matrix = np.random.default_rng(3).normal(size=(DIM, RANK))
    return Projection(matrix.astype(np.float16).astype(np.float32))


def mapped(vectors: np.ndarray, learned: Projection) -> np.ndarray:
    rows = vectors.astype(np.float64) @ learned.matrix.astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_near_names_are_the_best_after_the_map(collection: Collection, learned: Projection) -> None:
    lexicon = lexicon_of(collection)
    names = mapped(collection.vectors_of(lexicon.rows), learned)
    vectors = collection.encode(["c1 x", "c7 y", "c40 z"])
    allowed = np.arange(len(names)) % 3 != 0
    for mask in (None, allowed):
        found, path = Space.of(collection, lexicon, learned).near(vectors, 9, mask)
        scores = mapped(vectors, learned) @ names.T
        if mask is not None:
            scores[:, ~mask] = -np.inf
        assert path == "exact"
        for near, row in zip(found, scores, strict=True):
            order = np.argsort(-row, kind="stable")[:9]
            assert near.names.tolist()[:9] == order.tolist()  # ties with the last may follow
            assert near.scores[:9] == pytest.approx(row[order], abs=1e-5)
            assert (near.scores[9:] == near.scores[8]).all()


def test_a_large_dictionary_is_mapped_as_it_is_needed(
    collection: Collection, learned: Projection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times as many names are proposed by plain cosine, then ranked after the map."""
    lexicon = lexicon_of(collection)
    plain = collection.vectors_of(lexicon.rows)
    names = mapped(plain, learned)
    vectors = collection.encode(["c1 x", "c7 y"])
    monkeypatch.setattr(space, "MOST_HELD", 10)
    lazy = Space.of(collection, lexicon, learned)
    assert lazy.held is None
    found, _ = lazy.near(vectors, 4, None)
    for near, vector, after in zip(found, vectors, mapped(vectors, learned), strict=True):
        proposed = np.argsort(-(plain @ vector), kind="stable")[:12]
        best = proposed[np.argsort(-(names[proposed] @ after), kind="stable")][:4]
        assert near.names.tolist() == best.tolist()
        assert near.scores == pytest.approx(names[best] @ after, abs=1e-5)
    owners, pairs = np.array([0, 0, 1]), np.array([5, 9, 2])
    held = Space(collection=collection, lexicon=lexicon, projection=learned, held=None)
    assert lazy.cosines(vectors, owners, pairs).nearness == pytest.approx(
        held.cosines(vectors, owners, pairs).nearness
    )


def test_nearness_is_the_mean_of_both_cosines(collection: Collection, learned: Projection) -> None:
    lexicon = lexicon_of(collection)
    vectors = collection.encode(["c1 x", "c7 y", "c9 z"])
    owners, names = np.array([0, 0, 2]), np.array([4, 100, 30])
    rows = collection.vectors_of(lexicon.rows[names])
    plain = np.sum(vectors[owners] * rows, axis=1)
    after = np.sum(mapped(vectors[owners], learned) * mapped(rows, learned), axis=1)
    without = Space.of(collection, lexicon, None).cosines(vectors, owners, names)
    assert without.plain == pytest.approx(plain, abs=1e-5)
    assert without.nearness.tolist() == without.plain.tolist()
    found = Space.of(collection, lexicon, learned).cosines(vectors, owners, names)
    assert found.plain.tolist() == without.plain.tolist()
    assert found.nearness == pytest.approx((1 - SHARE) * plain + SHARE * after, abs=1e-5)
    nothing = Space.of(collection, lexicon, None).cosines(vectors[:0], owners[:0], names[:0])
    assert nothing.plain.tolist() == []


def test_names_are_mapped_once(collection: Collection, learned: Projection) -> None:
    lexicon = lexicon_of(collection)
    one = space_of(collection, lexicon, learned)
    again = space_of(collection, lexicon, Projection(learned.matrix.copy()))
    assert again.held is one.held
    other = space_of(collection, lexicon, Projection(learned.matrix * np.float32(-2)))
    assert other.held is not one.held
    assert space_of(collection, lexicon, None).held is None


def test_a_change_of_the_collection_is_noticed(build: Build) -> None:
    items = [concept(f"C:{n}", f"name {n}") for n in range(5)]
    changed = build(items)
    matrix = np.random.default_rng(3).normal(size=(256, RANK)).astype(np.float32)
    learned = Projection(matrix)
    held = Space.of(changed, lexicon_of(changed), learned)
    vectors = changed.encode(["name 3"])
    assert len(held.near(vectors, 2, None)[0][0].names) == 2
    changed.add([concept("C:9", "another")])
    with pytest.raises(StaleLexiconError):
        held.near(vectors, 2, None)
