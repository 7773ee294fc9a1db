"""A small dictionary as a real collection, over the torch-free test encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.records import Concept, Name, Scope, SourceItem
from tests.fakes import HashEncoder

Build = Callable[..., Collection]


def concept(identifier: str, label: str, *synonyms: str, **fields: object) -> Concept:
    """A concept whose synonyms are exact."""
    names = tuple(Name(text=text, scope=Scope.EXACT) for text in synonyms)
    return Concept(id=identifier, label=label, names=names, **fields)  # type: ignore[arg-type]


DISEASES = (
    concept("D:1", "Diabetes mellitus type 2", "type 2 diabetes", "NIDDM"),
    concept("D:2", "Hand, foot and mouth disease", "HFMD"),
    concept("D:3", "Acute kidney injury", "acute kidney failure", "AKI"),
    concept("D:4", "Acute kidney failure", "sudden kidney failure"),
    concept("D:5", "Lofgren syndrome", "Löfgren's syndrome"),
    concept("D:6", "Seizure", "epileptic seizure", "fits", alt_ids=("D:60",)),
    concept("D:7", "Headache", "cephalgia", "pain in the head"),
)


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Build a collection of items; it is closed at the end of the test."""
    made: list[Collection] = []

    def make(items: Iterable[SourceItem] = DISEASES, dim: int = 256) -> Collection:
        folder = tmp_path / f"collection-{len(made)}"
        made.append(Collection.build(folder, items, encoder=HashEncoder(dim=dim)))
        return made[-1]

    yield make
    for collection in made:
        collection.close()
