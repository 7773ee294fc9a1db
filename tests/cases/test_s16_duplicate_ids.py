"""S16: an id that occurs twice, with the same text and with another one."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import OnDuplicate
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from tests.fakes import HashEncoder

SAME = [Record(id="a", text="aspirin", line=2), Record(id="a", text="aspirin", line=3)]
OTHER = [Record(id="a", text="aspirin", line=2), Record(id="a", text="ibuprofen", line=3)]


def texts(collection: Collection) -> list[str]:
    return [hit.text for hit in collection.search(["x"])[0]]


@pytest.mark.parametrize("policy", list(OnDuplicate))
def test_s16_the_same_text_is_a_counted_duplicate(tmp_path: Path, policy: OnDuplicate) -> None:
    with Collection.build(
        tmp_path / "c", SAME, encoder=HashEncoder(), on_duplicate=policy
    ) as collection:
        assert collection.last_change.duplicates == 1
        assert collection.last_change.added == 1
        assert texts(collection) == ["aspirin"]


def test_s16_another_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"twice.*'a'.*lines 2 and 3"):
        Collection.build(tmp_path / "c", OTHER, encoder=HashEncoder())


@pytest.mark.parametrize(
    ("policy", "kept"), [(OnDuplicate.FIRST, "aspirin"), (OnDuplicate.LAST, "ibuprofen")]
)
def test_s16_the_policy_decides(tmp_path: Path, policy: OnDuplicate, kept: str) -> None:
    encoder = HashEncoder()
    with Collection.build(
        tmp_path / "c", OTHER, encoder=encoder, on_duplicate=policy
    ) as collection:
        assert collection.last_change.duplicates == 1
        assert texts(collection) == [kept]
        assert collection.verify(encoder=encoder).ok


def test_s16_against_what_is_stored(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", OTHER[:1], encoder=encoder) as collection:
        assert collection.add(SAME[:1]).unchanged == 1
        with pytest.raises(CollectionError, match="in the collection with other content"):
            collection.add(OTHER[1:])
        first = collection.add(OTHER[1:], on_duplicate=OnDuplicate.FIRST)
        assert (first.duplicates, first.updated) == (1, 0)
        assert texts(collection) == ["aspirin"]
        last = collection.add(OTHER[1:], on_duplicate=OnDuplicate.LAST)
        assert (last.duplicates, last.updated) == (0, 1)
        assert texts(collection) == ["ibuprofen"]
        with pytest.raises(CollectionError, match="twice"):
            collection.update(OTHER)
        assert collection.verify(encoder=encoder).ok
