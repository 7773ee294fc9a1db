"""Evaluation of linking on gold mentions."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.config import LinkOptions
from mirror_index.errors import SourceError
from mirror_index.linking import GoldMention, evaluate_linking, read_gold
from tests.dictionaries import DISEASES, Build, concept

TABLE = (
    "mention\tgold\tkind\n"
    'the "Seizure"\tD:6\tsingle\n'
    "AKI\td:3|D:4\tsingle\n"
    "both\tD:1|D:2\tcomposite\n"
    "nothing\t\tsingle\n"
)


def gold_file(tmp_path: Path) -> Path:
    path = tmp_path / "gold.tsv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def gold(mention: str, *ids: str) -> GoldMention:
    return GoldMention(mention=mention, gold_ids=frozenset(ids))


def test_reading_gold(tmp_path: Path) -> None:
    rows = read_gold(gold_file(tmp_path), "mention", "gold", {"kind": "single"})
    assert [row.mention for row in rows] == ['the "Seizure"', "AKI", "nothing"]
    assert rows[1].gold_ids == {"D:3", "D:4"}
    assert rows[2].gold_ids == frozenset()
    assert rows[2].line == 5
    assert len(read_gold(gold_file(tmp_path), "mention", "gold")) == 4


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no mention is left"):
        read_gold(gold_file(tmp_path), "mention", "gold", {"kind": "other"})
    with pytest.raises(SourceError, match="no such column: 'type'"):
        read_gold(gold_file(tmp_path), "mention", "gold", {"type": "x"})


def test_scores_by_hand(build: Build) -> None:
    rows = [
        gold("seizure", "D:6"),  # linked, right
        gold("AKI", "D:4"),  # linked to D:3, wrong
        gold("acute kidney failure", "D:4"),  # ambiguous, label first
        gold("quantum chromodynamics"),  # nil, right
        gold("!!!"),  # empty counts as nil
    ]
    report = evaluate_linking(build(), rows, LinkOptions(k=1))
    scores = report.scores
    assert (scores.n, scores.n_nil, scores.ambiguous) == (5, 2, 1)
    assert scores.accuracy_at_1 is not None
    assert scores.accuracy_at_1.value == pytest.approx(2 / 3)
    assert scores.accuracy_at_5 is not None
    assert scores.accuracy_at_5.value == 1.0
    assert scores.coverage == pytest.approx(2 / 5)
    assert scores.linked_accuracy is not None
    assert scores.linked_accuracy.value == 0.5
    assert scores.nil_precision == scores.nil_recall == 1.0
    assert (report.unknown_gold, report.calibrated, report.k) == (0, False, 5)
    assert report.mentions_per_second > 0
    assert report.to_json()["scores"]["n"] == 5


def test_gold_ids_are_read_as_the_collection_knows_them(build: Build) -> None:
    items = [
        *DISEASES,
        concept("D:80", "old seizure", obsolete=True, replaced_by=("D:6",)),
        concept("mesh:1", "small prefix"),
    ]
    rows = [
        gold("seizure", "D:60"),  # an alternative id
        gold("seizure", "D:80"),  # replaced by D:6
        gold("small prefix", "MESH:1"),
        gold("seizure", "D:404"),
    ]
    report = evaluate_linking(build(items), rows)
    assert report.scores.accuracy_at_1 is not None
    assert report.scores.accuracy_at_1.value == pytest.approx(3 / 4)
    assert (report.unknown_gold, report.unknown_ids) == (1, ("D:404",))
