"""S4: a folder with spaces and letters of several scripts; build, search, move, search."""

import os
import sys
from pathlib import Path

import pytest

from mirror_index.cli.options import place_collection
from mirror_index.collection import Collection
from mirror_index.config import EncoderConfig, IndexSpec
from mirror_index.encoding import load_encoder
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder
from tests.tiny import write_tiny_encoder


def test_s04_unicode_folder(tmp_path: Path) -> None:
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(30))
    folder = tmp_path / "índice-数据 β" / "a % b?c#d"
    spec = IndexSpec(kind="HNSW8")
    with Collection.build(folder, names(30), encoder=encoder, spec=spec) as collection:
        oracle.check(collection, ["renal failure type 3"])
    moved = tmp_path / "übersiedelt 移"
    folder.rename(moved)
    with Collection.open(moved, encoder=encoder) as collection:
        oracle.check(collection, ["renal failure type 3"])
        collection.add(names(10, start=30))
        oracle.put(names(10, start=30))
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok
        assert collection.info()["name"] == "übersiedelt 移"


@pytest.mark.parametrize("shape", ["bert", "distilbert"])
@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 on this system")
def test_s04_a_name_that_is_not_utf8(tmp_path: Path, shape: str) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff \xfe"))
    encoder = load_encoder(
        write_tiny_encoder(tmp_path / "encoder", shape), EncoderConfig(device="cpu")
    )
    spec = IndexSpec(kind="HNSW8")
    Collection.build(folder, names(30), encoder=encoder, spec=spec).close()
    with Collection.open(folder) as collection:
        assert collection.search([names(30)[7].text])[0][0].id == names(30)[7].id
        assert collection.verify().ok
        stored = load_encoder(collection.encoder_folder, EncoderConfig(device="cpu"))
        assert stored.fingerprint == encoder.fingerprint


def test_s04_a_word_and_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = Path("indexes")
    assert place_collection("c", home) == home / "c"
    for path in ("./c", "c/", "../c", "a/c", str(tmp_path / "c"), "."):
        assert place_collection(path, home) == Path(path)
    (tmp_path / "c").mkdir()
    assert place_collection("c", home) == Path("c")


def test_s04_a_relative_folder_and_a_process_that_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(write_tiny_encoder(tmp_path / "encoder"), EncoderConfig(device="cpu"))
    monkeypatch.chdir(tmp_path)
    Collection.build(Path("c"), names(30), encoder=encoder, spec=IndexSpec(kind="HNSW8")).close()
    (tmp_path / "elsewhere").mkdir()
    with Collection.open(Path("c")) as collection:
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert collection.search([names(30)[7].text])[0][0].id == names(30)[7].id
        collection.add(names(10, start=30))
        assert collection.search([names(40)[35].text])[0][0].id == names(40)[35].id
        assert collection.verify().ok
    assert list((tmp_path / "elsewhere").iterdir()) == []
