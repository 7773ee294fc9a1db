"""L12: accents, typographic apostrophes and Greek letters give the same hits."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.records import Concept, LinkStatus
from tests.fakes import HashEncoder

PAIRS = [
    ("Aymé", "Ayme"),
    ("Löfgren’s", "Lofgren's"),
    ("Löfgren’s", "Lofgren"),
    ("α-synuclein", "alpha-synuclein"),
    ("α‐synuclein", "ALPHA synuclein"),
]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("pair", PAIRS)
def test_either_spelling_finds_the_other(tmp_path: Path, pair: tuple[str, str], swap: bool) -> None:
    stored, mention = reversed(pair) if swap else pair
    items = [Concept(id="S:1", label=stored), Concept(id="S:2", label="something else")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        first, second = link(collection, [mention, stored])
    assert first.status is second.status is LinkStatus.LINKED
    assert first.concept_id == second.concept_id == "S:1"
    assert first.method == second.method == "exact"
    assert first.matched_name == second.matched_name == stored


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(
    "pair", [("vitamin B12", "vitamin B-12"), ("IL-6", "IL6"), ("COVID-19", "Covid19")]
)
def test_a_hyphen_before_a_number_or_none(
    tmp_path: Path, pair: tuple[str, str], swap: bool
) -> None:
    stored, mention = reversed(pair) if swap else pair
    items = [Concept(id="S:1", label=stored), Concept(id="S:2", label="vitamin B1")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        (answer,) = link(collection, [mention])
    assert (answer.status, answer.concept_id) == (LinkStatus.LINKED, "S:1")
    assert (answer.method, answer.matched_name) == ("variant", stored)
