"""L11: no roman-numeral or Greek rewriting inside words or of leading letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.names import name_key, normalise_trace
from mirror_index.records import Concept, LinkStatus
from tests.fakes import HashEncoder

UNCHANGED = ["X linked", "X chromosome", "HIV", "A", "I", "IV", "trisomy X", "vitamin D", "Xiii ab"]


@pytest.mark.parametrize("name", UNCHANGED)
def test_only_the_case_changes(name: str) -> None:
    assert name_key(name) == name.lower()
    assert {step.rule for step in normalise_trace(name).steps} == {"case"}


def test_such_names_do_not_meet_numbers(tmp_path: Path) -> None:
    items = [
        Concept(id="N:1", label="10 linked"),
        Concept(id="N:2", label="trisomy 10"),
        Concept(id="N:3", label="alpha"),
        Concept(id="N:4", label="h 4"),
        Concept(id="X:1", label="X linked"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        answers = link(collection, ["X-linked", "trisomy X", "A", "HIV"])
    assert (answers[0].status, answers[0].concept_id) == (LinkStatus.LINKED, "X:1")
    assert all(one.method == "dense" for answer in answers[1:] for one in answer.candidates)
