"""L13: two short forms in one text, none in a citation, and no crash on a leading bracket."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.annotation import annotate
from mirror_index.collection import Collection
from mirror_index.linking import definitions, link
from mirror_index.records import Concept
from tests.fakes import HashEncoder

TWO = "The thyroid receptor (TR) and the resting metabolic rate (RMR) were measured."


@pytest.mark.parametrize(
    ("text", "shorts"),
    [
        (TWO, ["TR", "RMR"]),
        ("(Spenner et al., 1995)", []),
        ("Spectral analysis (Spenner et al., 1995; Aymé and Li 2001)", []),
        ("(TR) was low", []),
        ("(", []),
        ("()", []),
        (") thyroid receptor (TR", []),
        ("thyroid receptor (TR), thyroid receptor (TR)", ["TR", "TR"]),
    ],
)
def test_short_forms(text: str, shorts: list[str]) -> None:
    assert [one.short for one in definitions(text)] == shorts


def test_both_are_linked_and_annotated(tmp_path: Path) -> None:
    items = [
        Concept(id="A:1", label="Thyroid receptor"),
        Concept(id="A:2", label="Resting metabolic rate"),
        Concept(id="A:3", label="Trisomy", names=()),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        answers = link(collection, ["TR", "RMR"], contexts=[TWO, TWO])
        assert [answer.concept_id for answer in answers] == ["A:1", "A:2"]
        found = annotate(collection, TWO + " TR fell.")
    assert [(one.mention, one.concept_id) for one in found] == [
        ("thyroid receptor", "A:1"),
        ("TR", "A:1"),
        ("resting metabolic rate", "A:2"),
        ("RMR", "A:2"),
        ("TR", "A:1"),
    ]
