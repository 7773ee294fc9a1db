"""A source is read as it was the last time, unless somebody says otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import Collection
from mirror_index.config import ReadOptions
from mirror_index.errors import CollectionBusyError, MirrorIndexError
from mirror_index.pipeline import add_to_collection, build_collection, sync_collection
from mirror_index.pipeline.remembering import as_before, remember
from mirror_index.progress import SilentReporter
from tests.tiny import write_tiny_encoder

AS_BUILT = ReadOptions(text_column="title", id_column="sku")


class Told(SilentReporter):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A table whose columns are others when nobody chooses them."""
    path = tmp_path / "p.csv"
    path.write_text("sku,title,text,id\na,red ball,no,1\nb,blue box,no,2\n")
    return path


@pytest.fixture
def folder(tmp_path: Path, source: Path, encoder: Path) -> Path:
    folder = tmp_path / "c"
    build_collection(source, folder, encoder=encoder, read_options=AS_BUILT).close()
    return folder


def held(collection: Collection) -> dict[str, str]:
    with collection._reading() as view:
        rows = view.store.connection.execute("SELECT id, text FROM records_with_text")
        return dict(rows.fetchall())


def reading(folder: Path) -> dict[str, Any]:
    with Collection.open(folder) as collection:
        known: dict[str, Any] = collection.info()["reading"]
        return known


def test_a_sync_takes_the_columns_of_the_build(folder: Path, source: Path) -> None:
    source.write_text(source.read_text().replace("blue box", "green box"))
    told = Told()
    with sync_collection(source, folder, reporter=told) as changed:
        assert held(changed) == {"a": "red ball", "b": "green box"}
        assert changed.last_change is not None
        assert changed.last_change.unchanged == 1
    assert told.notes == [f"{source} is read as before: id_column sku, text_column title"]
    assert reading(folder) == {"p.csv": {"id_column": "sku", "text_column": "title"}}


def test_so_does_an_add(folder: Path, source: Path) -> None:
    source.write_text(source.read_text() + "c,tall tree,no,3\n")
    with add_to_collection(source, folder) as changed:
        assert held(changed) == {"a": "red ball", "b": "blue box", "c": "tall tree"}


def test_a_file_is_known_by_its_name(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = source.parent / "newer" / "p.csv"
    newer.parent.mkdir()
    newer.write_text("sku,title,text,id\na,red ball,no,1\n")
    monkeypatch.chdir(source.parent)
    for path in ("./p.csv", newer, Path("newer") / ".." / "p.csv"):
        with sync_collection(path, folder) as changed:
            assert held(changed)["a"] == "red ball"
    newer.write_text("number,name\n1,red ball\n")
    before = reading(folder)
    with pytest.raises(MirrorIndexError, match=r"sku|title"):
        sync_collection(newer, folder)
    assert reading(folder) == before


def test_what_is_said_counts_and_is_kept(folder: Path, source: Path) -> None:
    other = ReadOptions(text_column="sku", id_column="id")
    for options in (other, ReadOptions()):
        with sync_collection(source, folder, read_options=options) as changed:
            assert held(changed) == {"1": "a", "2": "b"}


def test_every_option_comes_back_as_it_was(folder: Path) -> None:
    options = ReadOptions(
        format="owl", languages=("en", "de"), vocabularies=("MSH",), quoting=False, sql="SELECT 1"
    )
    told = Told()
    with Collection.open(folder) as collection:
        remember(collection, "x.owl", options, told)
    assert as_before(folder, "x.owl", ReadOptions(), told) == options
    assert "languages en de" in told.notes[0]
    chosen = ReadOptions(encoding="latin-1")
    assert as_before(folder, "x.owl", chosen, told) == chosen


def test_standard_input_is_another_one_each_time(folder: Path) -> None:
    with Collection.open(folder) as collection:
        remember(collection, "-", AS_BUILT, Told())
    assert as_before(folder, "-", ReadOptions(), Told()) == ReadOptions()
    assert "-" not in reading(folder)


def test_another_source_is_another_matter(folder: Path, source: Path) -> None:
    more = source.with_name("more.csv")
    more.write_text("id,text\nz,loud horn\n")
    told = Told()
    with add_to_collection(more, folder, reporter=told) as changed:
        assert held(changed)["z"] == "loud horn"
    assert told.notes == []
    assert reading(folder) == {"p.csv": {"id_column": "sku", "text_column": "title"}}
    with sync_collection(more, folder) as changed:
        assert held(changed) == {"z": "loud horn"}
    assert reading(folder) == {}


def test_a_build_anew_forgets(folder: Path, source: Path, encoder: Path) -> None:
    with build_collection(source, folder, encoder=encoder, overwrite=True) as built:
        assert held(built) == {"1": "no", "2": "no"}
        assert built.info()["reading"] == {}


def test_what_a_later_version_knows_is_passed_over(folder: Path, source: Path) -> None:
    with Collection.open(folder) as collection:
        known = {"text_column": "title", "id_column": "sku", "unheard_of": 3}
        collection.save_state("reading", {"p.csv": known})
    with sync_collection(source, folder) as changed:
        assert held(changed) == {"a": "red ball", "b": "blue box"}


def test_a_failed_sync_keeps_what_was_known(folder: Path, source: Path) -> None:
    before = reading(folder)
    with pytest.raises(MirrorIndexError):
        sync_collection(source, folder, read_options=ReadOptions(text_column="nowhere"))
    assert reading(folder) == before


def test_a_writer_in_between_is_told_of(
    folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise CollectionBusyError("another process is writing", where=str(folder), remedy="Wait")

    monkeypatch.setattr(Collection, "save_state", busy)
    told = Told()
    options = ReadOptions(text_column="sku", id_column="id")
    with sync_collection(source, folder, read_options=options, reporter=told) as changed:
        assert held(changed) == {"1": "a", "2": "b"}
    assert told.notes == [f"another process is writing: how {source} is read was not kept"]
