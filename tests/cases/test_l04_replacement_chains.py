"""L4: chains of replacements, missing targets and cycles."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, Link, LinkStatus
from tests.fakes import HashEncoder

LIVE = (
    Concept(id="L:1", label="granite"),
    Concept(id="L:2", label="basalt"),
    Concept(id="L:3", label="sandstone"),
)


def gone(identifier: str, label: str, *targets: str, consider: tuple[str, ...] = ()) -> Concept:
    return Concept(
        id=identifier, label=label, obsolete=True, replaced_by=targets, consider=consider
    )


def answer_for(tmp_path: Path, mention: str, *obsolete: Concept) -> Link:
    with Collection.build(tmp_path / "c", (*LIVE, *obsolete), encoder=HashEncoder()) as collection:
        return link(collection, [mention])[0]


def test_a_chain_ends_at_the_live_concept(tmp_path: Path) -> None:
    items = [gone("A", "old wording", "B"), gone("B", "older wording", "L:3")]
    answer = answer_for(tmp_path, "old wording", *items)
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "L:3")
    assert "redirect: A (obsolete) -> B" in answer.trace
    assert "redirect: B (obsolete) -> L:3" in answer.trace


@pytest.mark.parametrize(
    ("items", "warning"),
    [
        ([gone("A", "old wording", "Z:404")], "warning: Z:404 is not in the collection"),
        ([gone("A", "old wording", "A")], "warning: the replacements of A run in a circle"),
        (
            [gone("A", "old wording", "B"), gone("B", "other", "A")],
            "warning: the replacements of A run in a circle",
        ),
        ([gone("A", "old wording")], "warning: A is obsolete and nothing replaces it"),
    ],
)
def test_a_way_to_nowhere_is_a_warning(tmp_path: Path, items: list[Concept], warning: str) -> None:
    answer = answer_for(tmp_path, "old wording", *items)
    assert answer.status is LinkStatus.NIL
    assert warning in answer.trace


@pytest.mark.parametrize(
    ("item", "ids"),
    [
        (gone("A", "old wording", "L:2", "L:1"), ["L:2", "L:1"]),
        (gone("A", "old wording", consider=("L:1",)), ["L:1"]),
        (gone("A", "old wording", consider=("L:3", "L:1")), ["L:3", "L:1"]),
    ],
)
def test_a_choice_is_left_to_a_person(tmp_path: Path, item: Concept, ids: list[str]) -> None:
    answer = answer_for(tmp_path, "old wording", item)
    assert answer.status is LinkStatus.AMBIGUOUS
    exact = [one.concept_id for one in answer.candidates if one.method == "exact"]
    assert exact == ids
