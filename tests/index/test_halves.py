"""Rows stored as float16, against NumPy's own conversion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.config import Dtype
from mirror_index.errors import CollectionCorruptError
from mirror_index.index.exact import exact_search
from mirror_index.index.halves import NEARNESS, HalfRows, decoded, first_rows, near_rows
from mirror_index.index.vectorfile import (
    VectorWriter,
    chunk_digest,
    dtype_of,
    map_rows,
    odd_rows,
    row_bytes,
)
from mirror_index.vectors import FloatMatrix


def unit(rows: int, dim: int, seed: int = 0) -> FloatMatrix:
    matrix = np.random.default_rng(seed).normal(size=(rows, dim))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def test_every_finite_value_is_decoded() -> None:
    every = np.arange(65_536, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert np.array_equal(decoded(finite), finite.astype(np.float32))
    assert np.signbit(decoded(np.array([-0.0], dtype=np.float16)))[0]
    assert np.all(np.abs(decoded(every[~np.isfinite(every)])) >= 65_536)


@given(st.integers(1, 300), st.integers(1, 600), st.integers(0, 9))
def test_no_rounded_row_is_farther_from_1_than_said(rows: int, dim: int, seed: int) -> None:
    near = near_rows(HalfRows(unit(rows, dim, seed).astype(np.float16)), slice(None))
    lengths = np.linalg.norm(near.astype(np.float64), axis=1)
    assert np.max(np.abs(lengths - 1.0)) <= NEARNESS


def test_the_worst_row_there_is() -> None:
    # All components equal, just below the middle between two numbers of 11 bits.
    for dim in (1, 2, 3, 7, 4096):
        rows = np.full((1, dim), dim**-0.5, dtype=np.float32)
        length = np.linalg.norm(decoded(rows.astype(np.float16)).astype(np.float64))
        assert abs(length - 1.0) <= NEARNESS


@pytest.mark.parametrize(
    "key", [3, slice(5, 40), np.array([7, 7, 2]), [1], np.arange(50) % 3 == 0, slice(0, 0)]
)
def test_what_comes_out_is_unit_float32_whatever_selects_it(key: object) -> None:
    raw = unit(50, 24).astype(np.float16)
    wide = raw.astype(np.float64)
    expected = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    found = HalfRows(raw)[key]
    assert found.dtype == np.float32
    assert found.shape == expected[key].shape  # type: ignore[index]
    assert np.allclose(found, expected[key], atol=6e-8)  # type: ignore[index]
    assert np.array_equal(np.asarray(HalfRows(raw)), HalfRows(raw)[:])
    assert len(first_rows(HalfRows(raw), 9)) == 9


def test_a_row_does_not_depend_on_its_company() -> None:
    rows = HalfRows(unit(5000, 96).astype(np.float16))
    together = rows[:]
    assert all(np.array_equal(rows[row], together[row]) for row in range(0, 5000, 97))


@pytest.mark.parametrize("k", [1, 10, 400])
@pytest.mark.parametrize("share", [None, 0.05, 0.9])
def test_search_equals_a_full_sort_of_the_stored_rows(k: int, share: float | None) -> None:
    raw = unit(3000, 48).astype(np.float16)
    raw[100:120] = raw[7]
    queries = unit(5, 48, seed=1)
    queries[0] = HalfRows(raw)[7]
    wide = raw.astype(np.float64)
    stored = (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)
    rows = np.arange(3000)
    if share is not None:
        rows = np.flatnonzero(np.random.default_rng(2).random(3000) < share)
    found = exact_search(queries, HalfRows(raw), k, None if share is None else rows)
    for query, ranked in zip(queries, found, strict=True):
        scores = (stored[rows].astype(np.float64) * query.astype(np.float64)).sum(axis=1).round(6)
        order = np.lexsort((rows, -scores))
        last = scores[order[min(k, len(order)) - 1]]
        expected = rows[order[: int(np.sum(scores >= last))]]
        assert ranked.rows.tolist() == expected.tolist()


def test_rows_that_only_their_rounding_tells_apart() -> None:
    # In three dimensions thousands of rows lie within the rounding of the tenth best.
    raw = unit(40_000, 3).astype(np.float16)
    stored = HalfRows(raw)[:].astype(np.float64)
    for query, ranked in zip(
        unit(20, 3, 1), exact_search(unit(20, 3, 1), HalfRows(raw), 10), strict=True
    ):
        scores = np.sort((stored * query.astype(np.float64)).sum(axis=1).round(6))[::-1]
        assert ranked.scores.tolist() == scores[: len(ranked.scores)].clip(-1, 1).tolist()


def test_the_file(tmp_path: Path) -> None:
    rows = unit(30, 16)
    name = "vectors/000001.f16"
    with VectorWriter(tmp_path, name, 16, 0) as writer:
        chunks = [writer.append(rows[:20]), writer.append(rows[20:])]
    path = tmp_path / name
    assert path.stat().st_size == 30 * 16 * 2
    assert np.array_equal(np.fromfile(path, dtype="<f2").reshape(30, 16), rows.astype(np.float16))
    assert dtype_of(name) is Dtype.FLOAT16
    assert row_bytes(name, 16) == 32
    for chunk in chunks:
        assert chunk_digest(path, 16, chunk.first_row, chunk.rows) == chunk.sha256
    stored = map_rows(path, 30, 16)
    assert np.max(np.abs(stored[:] - rows)) < 5e-4
    with VectorWriter(tmp_path, "vectors/000002.f16", 16, 0) as copy:
        copy.append_from(stored, [3, 1])
    again = np.fromfile(tmp_path / "vectors/000002.f16", dtype="<f2").reshape(2, 16)
    assert np.array_equal(again, rows[[3, 1]].astype(np.float16))
    with pytest.raises(CollectionCorruptError, match="31 rows of 16 float16"):
        map_rows(path, 31, 16)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 3.0])
def test_odd_rows_are_found(bad: float) -> None:
    raw = unit(10, 8).astype(np.float16)
    assert list(odd_rows(HalfRows(raw))) == []
    raw[4] = bad
    assert list(odd_rows(HalfRows(raw))) == [4]
