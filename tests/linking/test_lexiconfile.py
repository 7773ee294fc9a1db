"""The file beside a collection saves time and changes no answer, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.errors import CollectionBusyError, CollectionError
from mirror_index.linking import calibrate, lexiconfile, link
from mirror_index.linking.lexicon import Lexicon
from mirror_index.linking.lexiconfile import keep_lexicon, lexicon_of
from mirror_index.linking.strings import Strings
from mirror_index.store.locking import writer_lock
from tests.dictionaries import DISEASES, Build, concept
from tests.fakes import HashEncoder

MENTIONS = ["acute kidney failure", "type 1 diabetes", "epileptik seizure", "fits", "zebra"]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep small lexicons too, and tell of which generations one was made from the names."""
    monkeypatch.setattr(lexiconfile, "WORTH", 1)
    found: list[int] = []
    arrange = Lexicon.of

    def of(held: object) -> Lexicon:
        lexicon = arrange(held)  # type: ignore[arg-type]
        found.append(lexicon.generation)
        return lexicon

    monkeypatch.setattr(Lexicon, "of", of)
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "lexicon").glob("*"))


def reopened(collection: Collection) -> Collection:
    return Collection.open(collection.folder, encoder=HashEncoder(256))


def test_it_is_read_instead_of_made(build: Build, made: list[int]) -> None:
    collection = build()
    before = link(collection, MENTIONS)
    calibrate(collection)
    calibrated = link(collection, MENTIONS)
    assert made == [1]
    assert files(collection.folder) == ["000001.npz"]
    with reopened(collection) as again:
        lexicon = lexicon_of(again)
        assert made == [1]
        fresh = Lexicon.of(again.keyed_names())
        assert list(lexicon.arrays) == list(fresh.arrays)
        for name, array in fresh.arrays.items():
            assert np.array_equal(lexicon.arrays[name], array), name
            assert lexicon.arrays[name].dtype == array.dtype, name
        assert lexicon.vocabulary == fresh.vocabulary
        assert link(again, MENTIONS) == calibrated
        assert [one.candidates for one in calibrated] == [one.candidates for one in before]


def test_plain_records_beside_the_names_are_remembered(build: Build, made: list[int]) -> None:
    from mirror_index.records import Record

    collection = build([*DISEASES, Record(id="plain", text="no name of anything")])
    held = lexicon_of(collection)
    keep_lexicon(collection, held)
    with reopened(collection) as again:
        read = lexicon_of(again)
        assert read is not held
        assert read.only_rows is not None
        assert held.only_rows is not None
        assert read.only_rows.tolist() == held.only_rows.tolist()


@pytest.mark.parametrize("key", [*MENTIONS, "", "niddm", "hand foot and mouth disease", "~"])
def test_the_first_name_of_a_key(build: Build, key: str) -> None:
    lexicon = lexicon_of(build())
    keys = list(lexicon.keys)
    assert lexicon.name_of(key) == (keys.index(key) if key in keys else -1)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def be_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def lose_part(path: Path) -> None:
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files if name != "keys.data"}
    np.savez(path, allow_pickle=False, **kept)


def be_pickle(path: Path) -> None:
    np.savez(path, about=np.array([{}], dtype=object))


def be_of_another_version(path: Path) -> None:
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    about = kept["about"].tobytes().replace(b'"version": 1', b'"version": 0')
    kept["about"] = np.frombuffer(about, dtype=np.uint8)
    np.savez(path, allow_pickle=False, **kept)


@pytest.mark.parametrize(
    "damage", [cut, flip, empty, be_folder, lose_part, be_pickle, be_of_another_version]
)
def test_what_is_damaged_is_passed_over(
    build: Build, made: list[int], damage: Callable[[Path], None]
) -> None:
    collection = build()
    calibrate(collection)
    expected = link(collection, MENTIONS)
    damage(collection.folder / "lexicon" / "000001.npz")
    with reopened(collection) as again:
        assert link(again, MENTIONS) == expected
        assert made == [1, 1]
        assert again.verify(encoder=HashEncoder(256)).ok


def test_a_stale_one_is_not_used_and_the_next_writer_removes_it(
    build: Build, made: list[int]
) -> None:
    collection = build()
    calibrate(collection)
    names = [name.record_id for name in collection.iter_names() if name.concept_id == "D:7"]
    collection.delete([name for name in names if name is not None])
    assert files(collection.folder) == ["000001.npz"]
    assert not collection.verify(encoder=HashEncoder(256)).problems
    with reopened(collection) as again:
        assert link(again, ["cephalgia"])[0].concept_id != "D:7"
        assert made == [1, 2]
        again.add([concept("D:8", "Nosebleed", "epistaxis")])
        assert files(again.folder) == []
        assert link(again, ["epistaxis"])[0].concept_id == "D:8"
        calibrate(again)
        assert files(again.folder) == ["000003.npz"]


def test_another_collection_of_the_same_generation_is_told_apart(
    build: Build, made: list[int]
) -> None:
    first, second = build(), build([concept("E:1", "Headache", "head pain")])
    calibrate(first)
    target = second.folder / "lexicon"
    target.mkdir()
    (target / "000001.npz").write_bytes((first.folder / "lexicon" / "000001.npz").read_bytes())
    assert link(second, ["head pain"])[0].concept_id == "E:1"
    assert made == [1, 1]


def test_one_that_the_collection_has_outgrown_is_not_kept(build: Build, made: list[int]) -> None:
    collection = build()
    lexicon = lexicon_of(collection)
    collection.add([concept("D:8", "Nosebleed")])
    assert not keep_lexicon(collection, lexicon)
    assert files(collection.folder) == []


def test_small_ones_are_not_worth_a_file(build: Build) -> None:
    collection = build()
    calibrate(collection)
    assert not (collection.folder / "lexicon").exists()


def test_a_refused_write_leaves_nothing_behind(build: Build, made: list[int]) -> None:
    collection = build()
    lexicon = lexicon_of(collection)

    def full(operation: str, path: Path) -> None:
        if path.suffix == ".part" and operation == "sync":
            raise OSError(28, "No space left on device")

    with durable.watched(full), pytest.raises(CollectionError, match="No space left"):
        keep_lexicon(collection, lexicon)
    assert files(collection.folder) == []


def test_a_killed_write_is_reported_and_swept(build: Build, made: list[int]) -> None:
    collection = build()
    calibrate(collection)
    part = collection.folder / "lexicon" / "000001.part"
    part.write_bytes(b"half")
    assert [
        (one.kind, one.where) for one in collection.verify(encoder=HashEncoder(256)).problems
    ] == [("leftover", "lexicon/000001.part")]
    collection.delete(["D:7"])
    assert not part.exists()


def test_it_waits_for_other_writers(build: Build, made: list[int]) -> None:
    collection = build()
    lexicon = lexicon_of(collection)
    with writer_lock(collection.folder), pytest.raises(CollectionBusyError):
        keep_lexicon(collection, lexicon, timeout=0.0)


@given(st.lists(st.text(st.characters(), max_size=8)))
def test_strings_are_those_packed(strings: list[str]) -> None:
    packed = Strings.of(strings)
    assert list(packed) == strings
    assert [Strings.of(strings)[place] for place in range(len(strings))] == strings
    assert [packed[place] for place in range(-len(strings), len(strings))] == strings * 2
    assert packed[1:] == strings[1:]
    with pytest.raises(IndexError):
        packed[len(strings)]
    assert list(Strings(packed.data.copy(), packed.bounds)) == strings
