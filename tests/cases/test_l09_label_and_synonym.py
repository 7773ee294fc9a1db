"""L9: one name, the label of one concept and a synonym of another: both, label first, ambiguous."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus, Name, Scope
from tests.fakes import HashEncoder


@pytest.mark.parametrize("scope", [Scope.EXACT, Scope.RELATED])
def test_both_are_listed_and_the_label_comes_first(tmp_path: Path, scope: Scope) -> None:
    synonym = Name(text="acute kidney failure", scope=scope)
    items = [
        Concept(id="A:1", label="acute kidney injury", names=(synonym,)),
        Concept(id="A:2", label="Acute kidney failure"),
        Concept(id="A:3", label="chronic kidney failure"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (answer,) = link(collection, ["acute kidney failure"])
    assert answer.status is LinkStatus.AMBIGUOUS
    assert (answer.concept_id, answer.scope) == ("A:2", Scope.LABEL)
    assert [one.concept_id for one in answer.candidates[:2]] == ["A:2", "A:1"]
    assert [one.method for one in answer.candidates[:2]] == ["exact", "exact"]
    assert [one.scope for one in answer.candidates[:2]] == [Scope.LABEL, scope]
