"""Paths may be strings wherever a path is taken, and are no items where items are taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirror_index
from mirror_index.errors import UsageError
from tests.tiny import write_tiny_encoder


def test_paths_may_be_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tiny_encoder(tmp_path / "encoder")
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    folder: Any = "made"
    mirror_index.build_collection("a.txt", folder, encoder="encoder").close()
    with mirror_index.Collection.open(folder) as collection:
        assert collection.info()["records"] == 2
    names: dict[str, Any] = {"output": "a.jsonl", "vectors": "a.npy"}
    assert mirror_index.export_collection(folder, **names).records == 2
    vectors: Any = "b.npy"
    mirror_index.encode_source("a.txt", vectors, encoder="encoder")
    np.testing.assert_allclose(np.load("a.npy"), np.load("b.npy"), atol=1e-5)


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("verb", ["tune", "lint"])
def test_the_name_of_a_source_is_no_list_of_items(tmp_path: Path, kind: Any, verb: str) -> None:
    source = kind(tmp_path / "a_file_with_many_letters_in_its_name.txt")
    actions: dict[str, Any] = {
        "tune": lambda items: mirror_index.tune(items, tmp_path / "out"),
        "lint": mirror_index.lint,
    }
    with pytest.raises(UsageError, match="the name of a source where its items are wanted"):
        actions[verb](source)
    assert not (tmp_path / "out").exists()
