"""Files of vectors against numpy: types, memory orders, flaws, columns, and what is no matrix."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mirror_index.errors import SourceError
from mirror_index.readers import vectorcolumns, vectorfiles
from mirror_index.readers.vectorfiles import Flaw, VectorRows, open_vectors


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def unit(rows: Any) -> Any:
    wide = np.asarray(rows, dtype=np.longdouble)
    return (wide / np.sqrt((wide * wide).sum(axis=1, keepdims=True))).astype(np.float32)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f8", "i1", "u4", "i8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_number_type_and_order(tmp_path: Path, kind: str, order: Any) -> None:
    rows = (np.arange(60).reshape(12, 5) % 13 + 1).astype(kind, order=order)
    opened = open_vectors(saved(tmp_path / "v.npy", rows))
    assert (opened.rows, opened.dim) == (12, 5)
    found = opened.unit([3, 11, 0])
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, unit(rows[[3, 11, 0]]), atol=1e-7)
    assert not opened.flaws().any()


def test_large_and_tiny_numbers_keep_their_direction(tmp_path: Path) -> None:
    rows = np.array([[3e200, 4e200], [3e-300, 4e-300], [5e-324, 0.0], [-1e308, 1e308]])
    found = open_vectors(saved(tmp_path / "v.npy", rows)).unit(range(4))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.6, 0.8], [1, 0], [-half, half]], rtol=1e-6)


def test_flaws_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorfiles, "_BLOCK", 6)
    rows = np.ones((9, 3))
    rows[1, 2], rows[4, 0], rows[5], rows[8] = np.nan, -np.inf, 0.0, [np.inf, np.nan, 0]
    opened = open_vectors(saved(tmp_path / "v.npy", rows))
    assert opened.flaws().tolist() == [0, Flaw.NAN, 0, 0, Flaw.INFINITE, Flaw.ZEROS, 0, 0, Flaw.NAN]
    assert opened.unit([1, 4, 5]).tolist() == [[0, 0, 0]] * 3
    assert [Flaw(code).words.split()[0] for code in range(5)] == [
        "is",
        "holds",
        "holds",
        "holds",
        "has",
    ]


def test_the_digest_is_of_values_not_of_bytes(tmp_path: Path) -> None:
    rows = np.arange(1, 13).reshape(4, 3)
    digests = {
        open_vectors(saved(tmp_path / f"{place}.npy", array)).digest()
        for place, array in enumerate(
            (rows.astype("f4"), np.asfortranarray(rows.astype("f8")), rows.astype(">f2"))
        )
    }
    assert len(digests) == 1
    assert open_vectors(saved(tmp_path / "o.npy", rows[::-1])).digest() not in digests
    assert open_vectors(saved(tmp_path / "r.npy", rows.reshape(3, 4))).digest() not in digests


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a file of vectors ran code",))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(4), "two-dimensional"),
        (np.ones((2, 2, 2)), "two-dimensional"),
        (np.ones((2, 2), dtype=complex), "two-dimensional"),
        (np.array([["a"]]), "two-dimensional"),
        (np.ones((2, 2), dtype=bool), "two-dimensional"),
        (np.ones((3, 0)), "two-dimensional"),
    ],
)
def test_what_is_no_matrix_of_numbers(tmp_path: Path, array: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_vectors(saved(tmp_path / "v.npy", array))


def test_files_that_are_not_npy(tmp_path: Path) -> None:
    path = tmp_path / "v.npy"
    objects = np.empty((1, 1), dtype=object)
    objects[0, 0] = Bomb()
    np.save(path, objects, allow_pickle=True)
    zipped = io.BytesIO()
    np.savez(zipped, np.ones((2, 2)))
    whole = io.BytesIO()
    np.save(whole, np.ones((9, 9)))
    contents = [
        path.read_bytes(),
        zipped.getvalue(),
        whole.getvalue()[:200],
        b"",
        pickle.dumps(Bomb),
    ]
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(SourceError, match="cannot be read"):
            open_vectors(path)
    with pytest.raises(SourceError, match="no such file"):
        open_vectors(tmp_path / "missing.npy")
    (tmp_path / "v.csv").write_text("1,2")
    with pytest.raises(SourceError, match="no file of vectors"):
        open_vectors(tmp_path / "v.csv")


def test_no_rows(tmp_path: Path) -> None:
    opened = open_vectors(saved(tmp_path / "v.npy", np.ones((0, 5), dtype="f4")))
    assert (opened.rows, opened.dim, len(opened.flaws())) == (0, 5, 0)


LISTS = [[1.0, 2.0], None, [3.0, 4.0], [1.0], [], [None, 1.0], [5.0, 12.0]]


def table(tmp_path: Path, **columns: Any) -> Path:
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64())])
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_parquet_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, batch: int
) -> None:
    monkeypatch.setattr(vectorcolumns, "_BATCH_ROWS", batch)
    for lists in (LISTS, [None, [], *LISTS]):
        path = table(tmp_path, id=list(map(str, lists)), vec=pa.array(lists, kind))
        opened = open_vectors(f"{path}:vec")
        expected = [
            Flaw.LENGTH if one is None or len(one) != 2 else Flaw.NAN if None in one else Flaw.NONE
            for one in lists
        ]
        assert opened.flaws().tolist() == expected
        good = [place for place, flaw in enumerate(expected) if flaw is Flaw.NONE]
        np.testing.assert_allclose(opened.unit(good), unit([lists[n] for n in good]), atol=1e-7)


def test_fixed_size_lists_and_the_only_column(tmp_path: Path) -> None:
    lists = pa.array([[1, 2, 2], None, [0, 3, 4]], pa.list_(pa.int16(), 3))
    opened = open_vectors(table(tmp_path, vec=lists, words=pa.array([["a"], [], ["b"]])))
    assert opened.flaws().tolist() == [0, Flaw.LENGTH, 0]
    np.testing.assert_allclose(opened.unit([2]), [[0, 0.6, 0.8]], atol=1e-7)


def test_columns_that_do_not_serve(tmp_path: Path) -> None:
    lists = pa.array([[1.0]])
    path = table(tmp_path, a=lists, b=lists, c=["x"])
    for given in (path, f"{path}:c", f"{path}:d"):
        with pytest.raises(SourceError, match=r"column of lists.*there are: a, b"):
            open_vectors(given)
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(SourceError, match="cannot be read"):
        open_vectors(path)


def test_only_missing_lists(tmp_path: Path) -> None:
    opened = open_vectors(table(tmp_path, a=pa.array([None, []], pa.list_(pa.float32()))))
    assert isinstance(opened, VectorRows)
    assert opened.flaws().tolist() == [Flaw.LENGTH] * 2
