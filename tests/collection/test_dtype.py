"""Collections that store vectors as float16: half the file, the same promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.records import Record
from tests.collection.oracle import names
from tests.fakes import HashEncoder

HALF = IndexSpec(dtype="float16")  # type: ignore[arg-type]
DIM = 64


def stored(folder: Path, name: str = "000001") -> np.ndarray:
    """The rows as they are on disk, made unit again in float64."""
    raw = np.fromfile(folder / f"vectors/{name}.f16", dtype="<f2").reshape(-1, DIM)
    wide = raw.astype(np.float64)
    return (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)


def expected(
    records: list[Record], rows: dict[str, np.ndarray], query: np.ndarray, k: int
) -> list[tuple[str, float]]:
    scored = []
    for record in records:
        score = float(np.sum(rows[record.text].astype(np.float64) * query.astype(np.float64)))
        scored.append((record.id, round(score, 6)))
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]


@pytest.mark.parametrize("kind", ["exact", "HNSW16", "IVF8,Flat"])
def test_scores_are_exact_cosines_of_what_is_stored(tmp_path: Path, kind: str) -> None:
    encoder, records = HashEncoder(DIM), names(600)
    spec = IndexSpec(kind=kind, recall=1.0, dtype="float16")  # type: ignore[arg-type]
    folder = tmp_path / "c"
    with Collection.build(folder, records, encoder=encoder, spec=spec) as made:
        order = made.vectors_of(range(600))
        assert np.array_equal(order, stored(folder))
        with made._reading() as view:
            found = view.store.connection.execute("SELECT row, text FROM texts").fetchall()
        rows = {text: order[row] for row, text in found}
        queries = [record.text for record in records[::60]]
        for query, hits in zip(queries, made.search(queries, SearchOptions(k=5)), strict=True):
            best = expected(records, rows, encoder.encode([query])[0], 5)
            assert [hit.score for hit in hits] == [score for _, score in best]
            assert [hit.id for hit in hits] == [id_ for id_, _ in best]
            assert hits[0].text == query
            assert abs(hits[0].score - 1.0) < 1e-3
        size = made.info()["bytes"]["vectors"]
        assert size == 600 * DIM * 2
        assert made.info()["dtype"] == "float16"


def test_through_its_life(tmp_path: Path) -> None:
    encoder, folder = HashEncoder(DIM), tmp_path / "c"
    with Collection.build(folder, names(100), encoder=encoder, spec=HALF) as made:
        made.add(names(50, start=100))
        made.delete([f"r{n:05d}" for n in range(0, 150, 3)])
        before = made.search(["renal failure type 35", "lesion"], SearchOptions(k=200))
        bits = np.fromfile(folder / "vectors/000001.f16", dtype="<u2").reshape(-1, DIM)
        assert made.verify(encoder=encoder).ok
        made.compact()
        assert made.verify(encoder=encoder).ok
        after = made.search(["renal failure type 35", "lesion"], SearchOptions(k=200))
        assert [[(h.id, h.score) for h in hits] for hits in after] == [
            [(h.id, h.score) for h in hits] for hits in before
        ]
        copied = np.fromfile(folder / "vectors/000002.f16", dtype="<u2").reshape(-1, DIM)
        assert {row.tobytes() for row in copied} <= {row.tobytes() for row in bits}
        assert len(copied) == 100
        made.add(names(3, start=900))
        assert made.info()["dtype"] == "float16"
    with Collection.open(folder, encoder=encoder) as again:
        assert again.info()["records"] == 103
    path = folder / "vectors/000002.f16"
    data = bytearray(path.read_bytes())
    data[7] ^= 0x40
    path.write_bytes(data)
    with Collection.open(folder, encoder=encoder) as damaged:
        assert {p.kind for p in damaged.verify(encoder=encoder).problems} == {"vectors"}


@pytest.mark.parametrize(("first", "second"), [("float32", "float16"), ("float16", "float32")])
def test_another_dtype_is_a_new_file(tmp_path: Path, first: str, second: str) -> None:
    encoder, folder = HashEncoder(DIM), tmp_path / "c"
    for dtype, overwrite in ((first, False), (second, True)):
        spec = IndexSpec(dtype=dtype)  # type: ignore[arg-type]
        with Collection.build(
            folder, names(40), encoder=encoder, spec=spec, overwrite=overwrite
        ) as made:
            assert made.last_change is not None
            assert made.last_change.texts_encoded == 40
            assert made.info()["dtype"] == dtype
            assert made.verify(encoder=encoder).ok
    assert len(list((folder / "vectors").iterdir())) == 1
