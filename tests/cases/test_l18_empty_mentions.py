"""L18: mentions without a letter or digit get a status row each, in order."""

from __future__ import annotations

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus
from tests.fakes import HashEncoder


def test_a_status_each_in_order(tmp_path: Path) -> None:
    items = [Concept(id="S:1", label="seizure"), Concept(id="S:2", label="headache")]
    mentions = ["\n", "seizure", "", "!!!", "\u200b", "headache", "\n"]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        answers = link(collection, mentions)
        only_empty = link(collection, ["", "\n", "!!!"])
    assert [answer.mention for answer in answers] == mentions
    assert [answer.status.value for answer in answers] == [
        "empty",
        "linked",
        "empty",
        "empty",
        "empty",
        "linked",
        "empty",
    ]
    assert all(answer.status is LinkStatus.EMPTY for answer in only_empty)
    assert all(answer.concept_id is None and answer.candidates == () for answer in only_empty)
