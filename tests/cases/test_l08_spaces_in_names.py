"""L8: names with trailing and double spaces match a trimmed query; the raw spelling is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus, Name, Scope
from tests.fakes import HashEncoder


@pytest.mark.parametrize("mention", ["lithium ion battery", " Lithium  ion battery\t"])
def test_spaces_do_not_matter_and_the_raw_spelling_is_shown(tmp_path: Path, mention: str) -> None:
    items = [
        Concept(
            id="B:1",
            label="battery",
            names=(Name(text="lithium  ion battery ", scope=Scope.EXACT),),
        ),
        Concept(id="B:2", label="lead acid accumulator"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (answer,) = link(collection, [mention])
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "B:1")
    assert answer.method == "exact"
    assert answer.matched_name == "lithium  ion battery "
    assert answer.mention == mention
