"""k means k, and the promised recall, on every kind of index, filter, tombstone and tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Hit, Record
from mirror_index.vectors import Encoded, FloatMatrix
from tests.fakes import HashEncoder

ROWS, LATER, DIM = 4000, 300, 32
KINDS = [
    "exact",
    "HNSW16",
    "IVF32,Flat",
    "IVF32,SQ8",
    "IVF32,PQ16x4fs",
    "PCA24,IVF32,Flat",
    "SQfp16",
]
SHARES = [0.0001, 0.001, 0.01, 0.1, 0.5, 1.0]
RECALL = 0.9


class GivenEncoder(HashEncoder):
    """Vectors by number in clusters, as real embeddings are; a changed text lies near its own."""

    def __init__(self) -> None:
        super().__init__(DIM, salt="given")
        rng = np.random.default_rng(5)
        centres = rng.normal(size=(60, DIM))
        rows = centres[rng.integers(0, 60, ROWS + LATER)]
        rows = rows + 0.7 * rng.normal(size=rows.shape)
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        if not all(text.startswith("row") for text in texts):
            return super().encode_audited(texts)
        vectors = np.array([self._vector(text) for text in texts])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Encoded(
            vectors=vectors.astype(np.float32),
            tokens=np.full(len(texts), 4),
            truncated=np.zeros(len(texts), dtype=np.bool_),
            unknown=np.zeros(len(texts), dtype=np.bool_),
        )

    def _vector(self, text: str) -> np.ndarray[Any, Any]:
        number = int(text.split()[1])
        if len(text.split()) == 3:
            return self.rows[number]
        noise = np.random.default_rng(number).normal(size=DIM)
        return self.rows[number] + 0.08 * noise


def record(row: int) -> Record:
    return Record(id=f"r{row}", text=f"row {row} whole", metadata={"place": place_of(row)})


def place_of(row: int) -> int:
    """A number below 10,000, spread over the rows: `place < 10000 * share` lets a share through."""
    return row * 7919 % 10_000 if row else 0


ENCODER = GivenEncoder()
LIVE = [row for row in range(ROWS + LATER) if row % 19 != 4 or row >= ROWS]


@pytest.fixture(scope="module")
def stored() -> FloatMatrix:
    return ENCODER.encode([f"row {row} whole" for row in range(ROWS + LATER)])


@pytest.fixture(scope="module", params=KINDS)
def collection(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Collection]:
    """Rows with tombstones, and a tail that the index does not hold."""
    folder = tmp_path_factory.mktemp("promise") / "c"
    spec = IndexSpec(kind=request.param, recall=RECALL)
    items = (record(row) for row in range(ROWS))
    with Collection.build(folder, items, encoder=ENCODER, spec=spec) as made:
        made.add(record(row) for row in range(ROWS, ROWS + LATER))
        made.delete(f"r{row}" for row in range(ROWS) if row % 19 == 4)
        yield made


def queries() -> FloatMatrix:
    vectors = ENCODER.rows[np.arange(7, ROWS + LATER, 431)]
    vectors = vectors + 0.1 * np.random.default_rng(9).normal(size=vectors.shape)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def truth(rows: FloatMatrix, query: FloatMatrix, allowed: Sequence[int]) -> list[tuple[str, float]]:
    scores = (rows[allowed].astype(float) * query.astype(float)).sum(axis=1).round(6)
    order = sorted(zip((-scores).tolist(), [f"r{row}" for row in allowed], strict=True))
    return [(id_, -score) for score, id_ in order]


def pairs(hits: Sequence[Hit]) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.parametrize("few_are_exact", [True, False])
@pytest.mark.parametrize("share", SHARES)
def test_k_means_k(
    collection: Collection,
    stored: FloatMatrix,
    share: float,
    few_are_exact: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not few_are_exact:
        monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", 0)
    limit = int(10_000 * share)
    allowed = [row for row in LIVE if place_of(row) < limit]
    where = None if share == 1.0 else f"place < {limit}"
    asked = queries()
    orders = [truth(stored, query, allowed) for query in asked]
    overlaps = []
    for k in (1, 10, 50, 700):
        answers = collection.search_vectors(asked, SearchOptions(k=k, where=where))
        for order, hits in zip(orders, answers, strict=True):
            best, found, scored = order[:k], pairs(hits), dict(order)
            assert len(found) == len({id_ for id_, _ in found}) == len(best)
            assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
            assert all(abs(scored[id_] - score) < 1e-9 for id_, score in found)
            if hits and hits[0].path == "exact":
                assert [id_ for id_, _ in found] == [id_ for id_, _ in best]
            if k == 10:
                overlaps.append(len({i for i, _ in found} & {i for i, _ in best}) / len(best))
    assert np.mean(overlaps) >= RECALL


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
def test_short_answers_begin_long_ones(
    collection: Collection, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", 0)
    where = None if share == 1.0 else f"place < {int(10_000 * share)}"
    asked = queries()
    long = collection.search_vectors(asked, SearchOptions(k=50, where=where))
    for k in (1, 10, 49):
        for one, longer in zip(
            collection.search_vectors(asked, SearchOptions(k=k, where=where)), long, strict=True
        ):
            assert pairs(one) == pairs(longer)[: len(one)]
    alone = [collection.search_vectors(q[None, :], SearchOptions(k=50, where=where)) for q in asked]
    assert [pairs(hits) for (hits,) in alone] == [pairs(hits) for hits in long]


def test_a_stricter_filter_never_adds(collection: Collection) -> None:
    asked = queries()[:3]
    wide = collection.search_vectors(asked, SearchOptions(k=ROWS, where="place < 1000"))
    strict = collection.search_vectors(asked, SearchOptions(k=ROWS, where="place < 500"))
    for more, fewer in zip(wide, strict, strict=True):
        assert [h for h in pairs(more) if place_of(int(h[0][1:])) < 500] == pairs(fewer)


def test_a_filter_is_kept_for_one_state_only(tmp_path: Path) -> None:
    with Collection.build(tmp_path / "c", map(record, range(50)), encoder=ENCODER) as made:
        options = SearchOptions(k=100, where="place < 5000")
        before = sum(place_of(row) < 5000 for row in range(50))
        for _ in range(2):
            assert len(made.search_vectors(queries()[:1], options)[0]) == before
        made.add(record(row) for row in range(50, 90))
        after = sum(place_of(row) < 5000 for row in range(90))
        assert len(made.search_vectors(queries()[:1], options)[0]) == after > before


def test_kept_filters_make_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.view._KEPT_FILTERS", 2)
    monkeypatch.setattr("mirror_index.collection.view._KEPT_ROWS", 40)
    items = [
        *map(record, range(60)),
        *(Record(id=f"twin {n}", text="row 7 whole", metadata={"place": n}) for n in range(3)),
    ]
    with Collection.build(tmp_path / "c", items, encoder=ENCODER) as made:
        for _ in range(2):
            for limit in (100, 2000, 5000, 10_000):
                options = SearchOptions(k=100, where=f"place < {limit}")
                (hits,) = made.search_vectors(queries()[:1], options)
                passing = {f"r{row}" for row in range(60) if place_of(row) < limit}
                assert {hit.id for hit in hits} == passing | {f"twin {n}" for n in range(3)}
                assert [h.id for h in hits if "twin" in h.id] == ["twin 0", "twin 1", "twin 2"]
                with made._reading() as view:
                    assert len(view._predicates) <= 2
                    assert len(view._allowed) <= 2


def test_what_is_promised_is_shown_and_checked(collection: Collection) -> None:
    facts = collection.info()["index"]
    low, high = facts["recall_interval"]
    assert low <= facts["recall_at_10"] <= high
    assert 0 < facts["p50_ms"] <= facts["p99_ms"]
    assert facts["threads"] >= 1
    assert facts["machine"]
    report = collection.verify(recall=True, encoder=ENCODER)
    assert report.ok, report.problems
    if facts["kind"] == "exact":
        assert facts["bytes_per_vector"] == 0
        assert report.recall is None
        return
    assert facts["recall_at_10"] >= RECALL - 0.02
    assert facts["tail_rows"] == LATER
    assert facts["queries"] >= 350
    assert report.recall is not None
    assert report.recall["recall_interval"][1] >= RECALL
