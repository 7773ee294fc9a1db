"""FAISS indexes: building, candidates, filters, calibration, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np
import pytest

from mirror_index.errors import CollectionCorruptError, UsageError
from mirror_index.index.ann import AnnIndex, Proposed
from mirror_index.index.approximate import approximate_search
from mirror_index.index.building import build_ann, check_factory
from mirror_index.index.calibration import altered, calibrate, measure
from mirror_index.index.exact import exact_search
from mirror_index.vectors import FloatMatrix
from tests.fakes import HashEncoder

KINDS = ["Flat", "HNSW16", "IVF16,Flat", "IVF16,SQ8", "IVF8,PQ8x4fs", "PCA16,IVF8,Flat"]
ENCODER = HashEncoder(32)
TEXTS = [f"{part} {number * 613 % 997}" for number in range(600) for part in ("kidney", "heart")]


@pytest.fixture(scope="module")
def vectors() -> FloatMatrix:
    return ENCODER.encode(TEXTS)


def texts_of(rows: Sequence[int]) -> list[str]:
    return [TEXTS[row] for row in rows]


@pytest.mark.parametrize("kind", [*KINDS, "IVF4,PQ8x4,RFlat"])
def test_calibrated_search_finds_what_it_says(kind: str, vectors: FloatMatrix) -> None:
    index = build_ann(vectors, kind)
    facts = calibrate(index, vectors, ENCODER, texts_of, target_recall=0.9)
    assert 350 <= facts["queries"] <= 400
    low, high = facts["recall_interval"]
    assert low <= facts["recall_at_10"] <= high
    assert facts["reached"]
    assert facts["recall_at_10"] >= 0.9
    again = measure(index, vectors, ENCODER, texts_of)
    assert again["recall_interval"][1] >= 0.9
    assert again["query_source"] == "altered texts, blended vectors"
    queries = ENCODER.encode([altered_text for altered_text in TEXTS[:40:3]])
    found = approximate_search(queries, vectors, index, 10)
    truth = exact_search(queries, vectors, 10)
    overlap = [
        len(set(one.ranked.rows[:10]) & set(true.rows)) / 10
        for one, true in zip(found, truth, strict=True)
    ]
    assert np.mean(overlap) >= 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_never_costs_hits(kind: str, vectors: FloatMatrix) -> None:
    index = build_ann(vectors[:1000], kind)
    index.parameters["value"] = index.ladder[0]
    rng = np.random.default_rng(4)
    queries = vectors[:6]
    for share in (0.01, 0.3, 0.9):
        allowed = np.flatnonzero(rng.random(len(vectors)) < share)
        for k in (5, 400):
            for one in approximate_search(queries, vectors, index, k, allowed):
                assert len(one.ranked.rows) >= min(k, len(allowed))
                assert set(one.ranked.rows) <= set(allowed)
                assert np.all(np.diff(one.ranked.scores) <= 0)


def test_an_index_that_gives_nothing_ends_exact(vectors: FloatMatrix) -> None:
    class Blind(AnnIndex):
        def candidates(self, queries: FloatMatrix, *args: object, **kwargs: object) -> Proposed:
            nothing = [np.empty(0, dtype=np.int64)] * len(queries)
            return Proposed(rows=nothing, found=[0] * len(queries))

    index = Blind(build_ann(vectors, "Flat")._index, {})
    found = approximate_search(vectors[:3], vectors, index, 10)
    truth = exact_search(vectors[:3], vectors, 10)
    for one, true in zip(found, truth, strict=True):
        assert one.path == "exact"
        assert one.ranked.rows.tolist() == true.rows.tolist()


def test_widening_is_said(vectors: FloatMatrix) -> None:
    index = build_ann(vectors, "IVF64,Flat")
    index.parameters["value"] = 1
    (one,) = approximate_search(vectors[:1], vectors, index, 300)
    assert one.path == "widened"
    assert len(one.ranked.rows) >= 300


def test_an_index_without_selectors_still_filters(vectors: FloatMatrix) -> None:
    index = build_ann(vectors, "HNSW16")
    index.parameters["selector"] = False
    allowed = np.arange(0, len(vectors), 3)
    (one,) = approximate_search(vectors[:1], vectors, index, 50, allowed)
    assert len(one.ranked.rows) >= 50
    assert set(one.ranked.rows) <= set(allowed)


@pytest.mark.parametrize("kind", ["nonsense", "LSH", "IDMap,Flat", "IVF10", "PQ7"])
def test_a_kind_that_cannot_be_made(kind: str) -> None:
    with pytest.raises(UsageError, match=kind):
        check_factory(kind, 32)


@pytest.mark.parametrize("kind", ["IVF100,Flat", "PQ8", "IVF2,PQ8"])
def test_too_few_rows_to_train(kind: str, vectors: FloatMatrix) -> None:
    with pytest.raises(UsageError, match=r"cannot be built from 20 distinct texts"):
        build_ann(vectors[:20], kind)


def test_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    path.write_bytes(b"garbage")
    with pytest.raises(CollectionCorruptError, match="cannot be read"):
        AnnIndex.load(path, {})


def test_an_empty_index() -> None:
    empty = np.empty((0, 32), dtype=np.float32)
    index = build_ann(empty, "HNSW16")
    facts = calibrate(index, empty, ENCODER, texts_of, target_recall=0.9)
    assert facts["queries"] == 0
    vectors = ENCODER.encode(TEXTS[:5])
    (one,) = approximate_search(vectors[:1], vectors, index, 3)
    assert len(one.ranked.rows) == 3


def test_altered_texts_differ() -> None:
    import random

    rng = random.Random(0)
    assert altered("one two three", rng) in ("two three", "one three", "one two")
    assert len(altered("word", rng)) == 4


@pytest.mark.parametrize("kind", ["HNSW16", "IVF16,Flat"])
def test_rows_after_the_last_of_the_index_are_found(kind: str, vectors: FloatMatrix) -> None:
    index = build_ann(vectors[:1000], kind)
    index.parameters["value"] = index.ladder[-1]
    truth = exact_search(vectors[1000:1040], vectors, 5)
    found = approximate_search(vectors[1000:1040], vectors, index, 5)
    for row, one, true in zip(range(1000, 1040), found, truth, strict=True):
        assert one.path == "candidates"
        assert row in one.ranked.rows
        assert one.ranked.scores[0] == true.scores[0] == 1.0


def test_kmeans_goes_to_the_gpus_there_are(
    vectors: FloatMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = []

    def to_gpus(index: faiss.Index) -> faiss.Index:
        moved.append(index)
        return index

    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "index_cpu_to_all_gpus", to_gpus)
    index = build_ann(vectors, "PCA16,IVF8,Flat")
    assert [flat.d for flat in moved] == [16]
    assert moved[0].ntotal == 8  # it held the centroids of the last k-means round
    assert index.rows == len(vectors)
    build_ann(vectors, "HNSW16")
    assert len(moved) == 1


@pytest.mark.gpu
def test_an_index_trained_on_a_gpu_finds_as_well(vectors: FloatMatrix) -> None:
    if not faiss.get_num_gpus():
        pytest.skip("no CUDA device")
    index = build_ann(vectors, "IVF16,Flat")
    facts = calibrate(index, vectors, ENCODER, texts_of, target_recall=0.9)
    assert facts["recall_at_10"] >= 0.9


def test_what_a_graph_is_asked(vectors: FloatMatrix) -> None:
    index = build_ann(vectors, "HNSW16")
    assert index._index.hnsw.efConstruction == 100
    assert [index.depths(k) for k in (1, 16, 17, 64, 65)] == [
        (16,),
        (16,),
        (16, 64),
        (16, 64),
        (16, 65),
    ]
    assert [index.fetch(depth) for depth in (16, 64, 100)] == [24, 80, 125]
    assert index.ladder[:6] == (24, 29, 34, 40, 48, 57)
    index.parameters["value"] = 40
    assert [index.breadth(depth) for depth in (16, 64, 100)] == [40, 96, 141]
    index.parameters["fetch"] = 80  # as it was calibrated before
    assert [index.breadth(depth) for depth in (16, 64, 100)] == [40, 40, 85]
    coded = build_ann(vectors, "HNSW16,SQ8")
    assert (coded.depths(3), coded.fetch(16)) == ((16,), 32)
    lists = build_ann(vectors, "IVF16,Flat")
    lists.parameters["value"] = 3
    assert (lists.depths(3), lists.fetch(64), lists.breadth(64)) == ((64,), 80, 3)


def test_the_order_of_proposals_is_not_taken_on_trust(vectors: FloatMatrix) -> None:
    index = build_ann(vectors, "HNSW16")
    scores = np.array([[0.1, 0.9, 0.5, 0.8]], dtype=np.float32)
    rows = np.array([[1, 2, 3, 4]])
    proposed = index._proposed(scores, rows, np.ones((1, 4), dtype=np.bool_), 2)
    assert proposed.rows[0].tolist() == [2, 4]
    good = np.array([[True, False, True, True]])
    proposed = index._proposed(scores.copy(), rows, good, 2)
    assert (proposed.rows[0].tolist(), proposed.found) == ([3, 4], [3])
