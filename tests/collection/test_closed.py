"""A collection that was closed says so, and an open one is not carried to another process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror_index import SearchOptions, link
from mirror_index.collection import Collection
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from tests.fakes import HashEncoder

ACTIONS: dict[str, Callable[[Collection], object]] = {
    "search": lambda collection: collection.search(["alpha"]),
    "hybrid": lambda collection: collection.search(["alpha"], SearchOptions(hybrid=True)),
    "encode": lambda collection: collection.encode(["alpha"]),
    "add": lambda collection: collection.add([Record(id="b", text="beta")]),
    "info": lambda collection: collection.info(),
    "link": lambda collection: link(collection, ["alpha"]),
}


@pytest.fixture
def opened(tmp_path: Path) -> Collection:
    records = [Record(id="a", text="alpha", concept_id="A")]
    return Collection.build(tmp_path / "made", records, encoder=HashEncoder())


@pytest.mark.parametrize("action", ACTIONS)
def test_a_closed_collection_says_so(opened: Collection, action: str) -> None:
    ACTIONS[action](opened)
    opened.close()
    opened.close()
    with pytest.raises(CollectionError, match="the collection is closed"):
        ACTIONS[action](opened)


def test_an_open_collection_is_not_carried_to_another_process(opened: Collection) -> None:
    with opened, pytest.raises(TypeError, match="open its folder in each process"):
        pickle.dumps(opened)
