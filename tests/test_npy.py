"""The block-wise NumPy writer against `numpy.load`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index import durable
from mirror_index.errors import CollectionError, UsageError
from mirror_index.npy import NpyWriter


def test_blocks_come_back_as_one_array(tmp_path: Path) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    with NpyWriter(tmp_path / "deep" / "v.npy", 4) as writer:
        writer.append(["a", "b"], rows[:2])
        writer.append(["c\nd", "e", "f", "g"], rows[2:])
    stored = np.load(tmp_path / "deep" / "v.npy")
    assert np.array_equal(stored, rows)
    assert stored.dtype == np.float32
    names = (tmp_path / "deep" / "v.npy.ids.txt").read_text().splitlines()
    assert names == ["a", "b", "c d", "e", "f", "g"]


def test_no_rows(tmp_path: Path) -> None:
    with NpyWriter(tmp_path / "v.npy", 3):
        pass
    assert np.load(tmp_path / "v.npy").shape == (0, 3)


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError), NpyWriter(tmp_path / "v.npy", 3) as writer:
        writer.append(["a"], np.zeros((1, 4), dtype=np.float32))
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "v.npy").write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        NpyWriter(tmp_path / "v.npy", 3)
    assert (tmp_path / "v.npy").read_text() == "mine"


def test_ids_that_are_there_already_are_not_lost(tmp_path: Path) -> None:
    (tmp_path / "v.npy.ids.txt").write_text("mine\n")
    with pytest.raises(UsageError, match="there already"):
        NpyWriter(tmp_path / "v.npy", 3)
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy.ids.txt"]
    assert (tmp_path / "v.npy.ids.txt").read_text() == "mine\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("full", ["v.npy", "v.npy.ids.txt"])
@pytest.mark.parametrize("rows", [1, 40_000])
def test_a_full_disk_leaves_nothing(tmp_path: Path, full: str, rows: int) -> None:
    """One row is met by the disk only when the file is closed, many before that."""
    (tmp_path / f"{full}.part").symlink_to("/dev/full")
    with (
        pytest.raises(OSError, match="No space left"),
        NpyWriter(tmp_path / "v.npy", 3) as writer,
    ):
        writer.append(["a"] * rows, np.zeros((rows, 3), dtype=np.float32))
    assert list(tmp_path.iterdir()) == []


def test_two_files_or_none(tmp_path: Path) -> None:
    def refuse(operation: str, path: Path) -> None:
        if operation == "rename" and path.name == "v.npy":
            raise OSError("refused")

    with (
        pytest.raises(CollectionError, match="refused"),
        durable.watched(refuse),
        NpyWriter(tmp_path / "v.npy", 3) as writer,
    ):
        writer.append(["a"], np.zeros((1, 3), dtype=np.float32))
    assert list(tmp_path.iterdir()) == []
