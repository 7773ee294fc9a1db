"""What `auto` tries, what it will not try, and how large things will be."""

from __future__ import annotations

import faiss
import numpy as np
import pytest

from mirror_index.config import Dtype, IndexSpec
from mirror_index.errors import CollectionError, UsageError
from mirror_index.index.building import build_ann
from mirror_index.index.choosing import EXACT_VALUES, HNSW_ROWS, choose, lists_for
from mirror_index.index.footprint import index_bytes

DIM = 384
JUST_EXACT = EXACT_VALUES // DIM


def tried(rows: int, *, scan_ms: float = 5.0, dim: int = DIM, **wishes: object) -> tuple[str, ...]:
    spec = IndexSpec(**wishes)  # type: ignore[arg-type]
    size_of = lambda kind: index_bytes(kind, rows, dim)  # noqa: E731
    return choose(spec, rows, dim, scan_ms=lambda: scan_ms, size_of=size_of).kinds


def test_by_name() -> None:
    assert tried(10**7, kind=" Exact ") == ("exact",)
    assert tried(3, kind="IVF9,Flat") == ("IVF9,Flat",)


def test_the_number_of_values_decides_without_a_wish() -> None:
    assert tried(JUST_EXACT) == ("exact",)
    assert tried(JUST_EXACT + 1, kind="AUTO")[0] == "IVF1024,PQ96x4fs"
    assert tried(JUST_EXACT // 2 + 1, dim=2 * DIM)[0] == "IVF512,PQ192x4fs"
    assert "HNSW16" in tried(HNSW_ROWS)
    assert "HNSW16" not in tried(HNSW_ROWS + 1)
    assert tried(JUST_EXACT + 400, dim=DIM - 1)[0] == "HNSW16"  # no codes of four values


def test_a_latency_moves_the_limit_both_ways() -> None:
    assert tried(50_000, latency=4.0, scan_ms=5.0)[0] != "exact"
    assert tried(500_000, latency=60.0, scan_ms=55.0) == ("exact",)


def test_memory_leaves_out_what_does_not_fit() -> None:
    rows = 150_000
    kinds = ["IVF1024,PQ96x4fs", "HNSW16", "IVF1024,SQ8", "IVF1024,Flat"]
    assert list(tried(rows)) == kinds
    sizes = {kind: index_bytes(kind, rows, DIM) for kind in kinds}
    for budget in sizes.values():
        assert list(tried(rows, memory=budget)) == [k for k in kinds if sizes[k] <= budget]
    assert tried(rows, memory=min(sizes.values()) - 1) == ("exact",)


def test_where_nothing_fits_it_is_said() -> None:
    spec = IndexSpec(memory=1000)
    choice = choose(spec, 10**6, DIM, scan_ms=lambda: 123.4, size_of=lambda kind: 2000)
    assert choice.kinds == ("exact",)
    assert choice.note is not None
    assert "123.4 ms" in choice.note


def test_a_promise_of_everything_is_exact() -> None:
    assert tried(10**6, recall=1.0) == ("exact",)


def test_few_rows_cannot_train_lists() -> None:
    assert tried(2000, latency=0.001) == ("exact",)


def test_a_kind_by_name_that_is_too_large() -> None:
    with pytest.raises(CollectionError, match=r"100,000 are allowed.*HNSW32") as caught:
        tried(150_000, kind="HNSW32", memory=100_000)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("rows", [1, 40, 2500, 45_000, 300_000, 10**7, 10**9])
def test_lists_can_be_trained(rows: int) -> None:
    lists = lists_for(rows)
    assert lists & (lists - 1) == 0
    assert 39 * lists <= max(39, rows)


@pytest.mark.parametrize(
    "kind",
    [
        "Flat",
        "HNSW32",
        "HNSW16",
        "IVF32,Flat",
        "IVF32,SQ8",
        "IVF32,PQ16x4fs",
        "PCA32,IVF32,Flat",
        "IVF32,PQ16x4fs,RFlat",
        "HNSW32,SQ8",
        "SQfp16",
    ],
)
def test_the_estimate_is_what_is_written(kind: str) -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
    written = len(faiss.serialize_index(build_ann(rows, kind)._index))
    assert index_bytes(kind, len(rows), 64) == pytest.approx(written, rel=0.12)


def test_wishes_are_checked_and_survive_json() -> None:
    spec = IndexSpec(memory=5, latency=0.5, dtype="float16")  # type: ignore[arg-type]
    assert spec.dtype is Dtype.FLOAT16
    assert IndexSpec(**spec.to_json()) == spec
    for bad in ({"memory": 0}, {"latency": 0.0}, {"latency": np.inf}, {"dtype": "int8"}):
        with pytest.raises(UsageError):
            IndexSpec(**bad)
