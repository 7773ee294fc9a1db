"""The public evaluation files are read whole: no row is lost to a quote."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.evaluation import load_beir
from mirror_index.evaluation.tables import Table
from mirror_index.linking import read_gold


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sts/stsb-dev.tsv", 1500),
        ("sts/stsb-test.tsv", 1379),
        ("sts/sts12.tsv", 3108),
        ("sts/sickr-test.tsv", 4927),
        ("linking/dict_hpo2025.tsv", 42_542),
        ("linking/dict_medic2012.tsv", 76_237),
    ],
)
def test_tables(shared_data: Path, name: str, rows: int) -> None:
    assert sum(1 for _ in Table(shared_data / name)) == rows


def test_lexical_files_have_no_header(shared_data: Path) -> None:
    table = Table(shared_data / "lexical/EN-SIMLEX-999.txt", header=("w1", "w2", "score"))
    assert sum(1 for _ in table) == 999


@pytest.mark.parametrize(
    ("name", "filters", "rows"),
    [
        ("hpo_gscplus.test.tsv", {"kind": "single"}, 1949),
        ("hpo_gscplus.test.tsv", {"kind": "single", "in_dict_norm": "0"}, 1024),
        ("ncbi_disease.test.tsv", {"kind": "single"}, 945),
        ("ncbi_disease.test.tsv", {"kind": "single", "in_dict_norm": "0"}, 445),
    ],
)
def test_gold(shared_data: Path, name: str, filters: dict[str, str], rows: int) -> None:
    gold = read_gold(shared_data / "linking" / name, "mention", "gold_ids_dict", filters)
    assert len(gold) == rows
    assert all(mention.gold_ids for mention in gold)


def test_beir(shared_data: Path) -> None:
    data = load_beir(shared_data / "retrieval/scifact")
    assert (len(data.documents), len(data.queries)) == (5183, 300)
