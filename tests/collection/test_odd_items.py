"""What a program hands over that is not quite a list of records is told, not taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mirror_index import link
from mirror_index.collection import Collection
from mirror_index.errors import MirrorIndexError, UsageError
from mirror_index.records import Record, Scope
from tests.fakes import HashEncoder


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    records = [
        Record(id=id_, text=text, concept_id="C") for id_, text in zip("abc", "xyz", strict=True)
    ]
    with Collection.build(tmp_path / "made", records, encoder=HashEncoder()) as made:
        yield made


def _stored(collection: Collection, texts: int) -> list[Record]:
    return [one for records in collection.records(range(texts)).values() for one in records]


def test_one_id_is_no_list_of_ids(collection: Collection) -> None:
    with pytest.raises(UsageError, match="one id where several are wanted: 'ab'"):
        collection.delete("ab")
    assert collection.info()["records"] == 3
    assert collection.delete(iter(["a"])).deleted == 1


@pytest.mark.parametrize("items", ["words.txt", ["a text"], [{"id": "d", "text": "t"}], [None]])
def test_what_is_no_record_is_refused(collection: Collection, items: Any) -> None:
    with pytest.raises(UsageError, match="neither a record nor a concept"):
        collection.add(items)
    assert collection.info()["records"] == 3


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"id": 5}, "the id is no string but 5"),
        ({"text": None}, "the text is no string but None"),
        ({"text": b"bytes"}, "the text is no string but b'bytes'"),
        ({"concept_id": 7}, "the concept_id is no string but 7"),
        ({"name_type": ["x"]}, "the name_type is no string but ['x']"),
        ({"scope": "exakt"}, "the scope 'exakt' is none of label, exact, narrow, broad, related"),
    ],
)
def test_a_record_of_other_types_is_quarantined_alone(
    collection: Collection, values: dict[str, Any], reason: str
) -> None:
    odd = Record(**{"id": "d", "text": "odd", "line": 8, **values})
    report = collection.add([odd, Record(id="e", text="good")])
    assert (report.added, report.quarantined) == (1, 1)
    (rejected,) = collection.quarantine()
    assert rejected.line == 8
    assert rejected.reason == reason
    assert {one.id for one in _stored(collection, 4)} == {"a", "b", "c", "e"}


def test_the_scope_of_a_record_may_be_spelled(collection: Collection) -> None:
    collection.add([Record(id="d", text="w", concept_id="C", scope="narrow")])  # type: ignore[arg-type]
    (record,) = [one for one in _stored(collection, 4) if one.id == "d"]
    assert record.scope is Scope.NARROW


@pytest.mark.parametrize("texts", [[None], [5], [b"x"], (text for text in ["x"])])
@pytest.mark.parametrize("verb", ["search", "encode", "link"])
def test_what_are_no_texts_is_told(
    collection: Collection,
    verb: str,
    texts: Any,
) -> None:
    actions: dict[str, Any] = {
        "search": collection.search,
        "encode": collection.encode,
        "link": lambda mentions: link(collection, mentions),
    }
    with pytest.raises(MirrorIndexError, match=r"not a text|wanted in a list"):
        actions[verb](texts)
