"""L19: gold with several ids, and prefixes in either case."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mirror_index.annotation import AnnotateOptions, annotate
from mirror_index.collection import Collection
from mirror_index.curation import import_overrides
from mirror_index.evaluation import canonical_id, parse_gold
from mirror_index.linking import evaluate_linking, link, read_gold
from mirror_index.records import Concept
from tests.fakes import HashEncoder


def test_two_ids_in_one_cell() -> None:
    assert parse_gold("D010051|D001943") == {"D010051", "D001943"}


def test_prefixes_compare_without_case() -> None:
    assert parse_gold("mesh:D010051|MESH:D001943") == parse_gold("MESH:D010051|Mesh:D001943")
    assert canonical_id("mesh:D010051") == "MESH:D010051"
    assert canonical_id(" http://example.org/a:b ") == "http://example.org/a:b"


@pytest.mark.parametrize("prefix", ["MESH", "mesh", "Mesh", "MeSH"])
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


@pytest.mark.parametrize("prefix", ["UniProtKB", "uniprotkb", "UNIPROTKB", "Uniprotkb"])
def test_a_prefix_in_capitals_and_small_letters_is_found_in_any_case(
    tmp_path: Path, prefix: str
) -> None:
    items = [
        Concept(id="UniProtKB:P1", label="alpha protein", alt_ids=("UniProtKB:Q9",)),
        Concept(id="UniProtKB:P2", label="beta protein"),
        Concept(id="UniProtKB:P3", label="old protein", obsolete=True, replaced_by=("X:4",)),
        Concept(id="X:4", label="gamma protein"),
    ]
    gold = tmp_path / "gold.tsv"
    rows = [("alpha protein", "Q9"), ("beta protein", "P2"), ("gamma protein", "P3")]
    lines = "".join(f"{mention}\t{prefix}:{local}\n" for mention, local in rows)
    gold.write_text(f"mention\tids\n{lines}", encoding="utf-8")
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        report = evaluate_linking(collection, read_gold(gold, "mention", "ids"))
        assert report.scores.accuracy_at_1 is not None
        assert (report.scores.accuracy_at_1.value, report.unknown_gold) == (1.0, 0)
        options = AnnotateOptions(under=(f"{prefix}:Q9",))
        found = annotate(collection, "alpha protein, beta protein", options)
        assert [one.concept_id for one in found] == ["UniProtKB:P1"]
        taken = io.BytesIO(f"mention\taction\nAP\tconcept {prefix}:P1\n".encode())
        import_overrides(collection, taken)
        assert link(collection, ["AP"])[0].concept_id == "UniProtKB:P1"


def test_of_two_cases_the_one_as_spelled_comes_first(tmp_path: Path) -> None:
    items = [Concept(id="mesh:1", label="small"), Concept(id="Mesh:1", label="capital")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        for asked, label in (("mesh:1", "small"), ("Mesh:1", "capital"), ("MESH:1", "capital")):
            options = AnnotateOptions(under=(asked,))
            found = annotate(collection, "small and capital", options)
            assert [one.label for one in found] == [label]
