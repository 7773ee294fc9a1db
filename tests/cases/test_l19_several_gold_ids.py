"""L19: gold with several ids, and prefixes in either case."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.evaluation import canonical_id, parse_gold
from mirror_index.linking import evaluate_linking, read_gold
from mirror_index.records import Concept
from tests.fakes import HashEncoder


def test_two_ids_in_one_cell() -> None:
    assert parse_gold("D010051|D001943") == {"D010051", "D001943"}


def test_prefixes_compare_without_case() -> None:
    assert parse_gold("mesh:D010051|MESH:D001943") == parse_gold("MESH:D010051|Mesh:D001943")
    assert canonical_id("mesh:D010051") == "MESH:D010051"


@pytest.mark.parametrize("prefix", ["MESH", "mesh", "Mesh"])
def test_they_count_as_right_in_an_evaluation(tmp_path: Path, prefix: str) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text(
        "mention\tids\nbreast tumours\tmesh:D9|MESH:D001943\novarian tumours\tMeSH:D010051\n",
        encoding="utf-8",
    )
    items = [
        Concept(id=f"{prefix}:D001943", label="breast tumours"),
        Concept(id=f"{prefix}:D010051", label="ovarian tumours"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        report = evaluate_linking(collection, read_gold(gold, "mention", "ids"))
    assert report.scores.accuracy_at_1 is not None
    assert report.scores.accuracy_at_1.value == 1.0
    assert report.unknown_gold == 0
