"""L14: "nausea and vomiting" splits into two; names that only look composite stay whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import link
from mirror_index.linking.composites import proposals
from mirror_index.records import Concept, LinkStatus
from mirror_index.tables import link_table
from tests.fakes import HashEncoder

LABELS = (
    "Nausea", "Vomiting", "Hand, foot and mouth disease", "Foot disease", "Mouth disease",
    "1,2-dichloroethane", "CD4+ T cell", "Limb pain", "Legs", "Pain in arms", "Breast cancer",
    "Ovarian cancer",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    items = [Concept(id=f"C:{at}", label=label) for at, label in enumerate(LABELS)]
    Collection.build(tmp_path / "c", items, encoder=HashEncoder()).close()
    return tmp_path / "c"


def opened(folder: Path) -> Collection:
    return Collection.open(folder, encoder=HashEncoder())


def test_two_names_in_one_mention(folder: Path) -> None:
    with opened(folder) as collection:
        first, second = link(collection, ["nausea and vomiting", "Breast and ovarian cancer"])
    assert first.status is second.status is LinkStatus.COMPOSITE
    assert [part.label for part in first.parts] == ["Nausea", "Vomiting"]
    assert [part.label for part in second.parts] == ["Breast cancer", "Ovarian cancer"]


@pytest.mark.parametrize(
    "mention",
    ["hand, foot and mouth disease", "hand foot & mouth disease", "1,2-dichloroethane",
     "CD4+ T cell", "pain in arms and legs", "nausea and xyzzy"],
)  # fmt: skip
def test_what_stays_whole(folder: Path, mention: str) -> None:
    with opened(folder) as collection:
        (answer,) = link(collection, [mention])
    assert answer.parts == ()
    assert answer.status is not LinkStatus.COMPOSITE


def test_one_row_in_one_row_out(folder: Path, tmp_path: Path) -> None:
    source, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    source.write_text("mention\nnausea and vomiting\nnausea\n", encoding="utf-8")
    with opened(folder) as collection:
        link_table(collection, source, output)
    _, first, second = output.read_text(encoding="utf-8").splitlines()
    assert first.split("\t")[:3] == ["nausea and vomiting", "composite", "C:0|C:1"]
    assert second.split("\t")[1:3] == ["linked", "C:0"]


@pytest.mark.parametrize("piece", ["a", "a and ", "a- ", "nausea and ", "/", " ", "x, "])
def test_a_very_long_mention_stays_whole_and_takes_no_time(piece: str) -> None:
    assert list(proposals(piece * 30_000)) == []
    assert len(list(proposals("nausea and vomiting"))) > 0
