"""L10: a mention whose nearest name is merely spelled a little alike is NIL."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus
from tests.fakes import HashEncoder


@pytest.mark.parametrize("others", [(), ("House sparrow", "Dotterel", "Limpet")])
def test_a_drug_is_no_bird(tmp_path: Path, others: tuple[str, ...]) -> None:
    labels = ("Starling", *others)
    items = [Concept(id=f"BIRD:{n}", label=label) for n, label in enumerate(labels)]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (answer,) = link(collection, ["Dostarlimab"])
    assert answer.status is LinkStatus.NIL
    assert answer.concept_id is None
    assert {one.concept_id for one in answer.candidates} == {item.id for item in items}
