"""S8: a filter that matches 322 of 20,000 rows, small and large k, on every kind of index."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Record
from mirror_index.vectors import Encoded, FloatMatrix
from tests.fakes import HashEncoder

ROWS, DIM, MATCHES = 20_000, 64, 322


class ClusteredEncoder(HashEncoder):
    """Vectors by number, in clusters as real embeddings are."""

    def __init__(self) -> None:
        super().__init__(DIM, salt="clustered")
        rng = np.random.default_rng(8)
        centres = rng.normal(size=(200, DIM))
        rows = centres[rng.integers(0, 200, ROWS)] + 0.6 * rng.normal(size=(ROWS, DIM))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.rows = rows.astype(np.float32)

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        if not all(text.startswith("row ") for text in texts):
            return super().encode_audited(texts)
        count = len(texts)
        return Encoded(
            vectors=self.rows[[int(text.split()[-1]) for text in texts]],
            tokens=np.full(count, 4),
            truncated=np.zeros(count, dtype=np.bool_),
            unknown=np.zeros(count, dtype=np.bool_),
        )


def expected(rows: FloatMatrix, query: FloatMatrix, allowed: Sequence[int], k: int) -> list[str]:
    scores = (rows[allowed].astype(float) * query.astype(float)).sum(axis=1).round(6)
    order = sorted(zip(-scores, [str(row) for row in allowed], strict=True))
    return [id_ for _, id_ in order[:k]]


@pytest.fixture(scope="module")
def encoder() -> ClusteredEncoder:
    return ClusteredEncoder()


@pytest.mark.parametrize("kind", ["exact", "HNSW16", "IVF64,Flat", "IVF64,PQ16x4fs"])
def test_s08_filters_are_exact(tmp_path: Path, kind: str, encoder: ClusteredEncoder) -> None:
    step = ROWS // MATCHES
    items = (
        Record(
            id=str(row),
            text=f"row {row}",
            metadata={"hit": row % step == 0 and row < step * MATCHES, "odd": row % 2},
        )
        for row in range(ROWS)
    )
    allowed = list(range(0, step * MATCHES, step))
    stricter = [row for row in allowed if row % 2]
    queries = encoder.rows[[5, 777, 19_999]] + np.float32(0.02)
    with Collection.build(
        tmp_path / "c", items, encoder=encoder, spec=IndexSpec(kind=kind)
    ) as collection:
        for exact_rows in (20_000, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", exact_rows)
                for k, count in ((10, 10), (644, MATCHES)):
                    options = SearchOptions(k=k, where="hit = true")
                    answers = collection.search_vectors(queries, options)
                    for query, hits in zip(queries, answers, strict=True):
                        assert len(hits) == count
                        found = [hit.id for hit in hits]
                        if exact_rows or k > MATCHES or kind == "exact":
                            unit = query / np.linalg.norm(query)
                            assert found == expected(encoder.rows, unit, allowed, k)
                        assert {int(one) for one in found} <= set(allowed)
        both = SearchOptions(k=644, where="hit = true and odd = 1")
        (hits,) = collection.search_vectors(queries[:1], both)
        assert {int(hit.id) for hit in hits} == set(stricter)
        (few,) = collection.search_vectors(queries[:1], SearchOptions(k=10))
        (many,) = collection.search_vectors(queries[:1], SearchOptions(k=50))
        assert many[:10] == few
