"""L1: a name "b" is not found inside "sodium butyrate"."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.annotation import annotate
from mirror_index.collection import Collection
from mirror_index.records import Concept
from tests.fakes import HashEncoder

NAMES = ("b", "rate", "odium", "but", "Sodium", "B-12", "ion")


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("sodium butyrate", ["sodium"]),
        ("b", []),
        ("vitamin b complex", []),
        ("a rate, rates, the separate rate-limiting", ["rate", "rates", "rate"]),
        ("but he took B-12 and B‑12 but not B-123 or AB-12", ["B-12", "B‑12"]),
        ("cation anions xion", []),
        ("rateé réate rrate\u0301", []),
        ("rate_of 2rate rate2 ratе", ["rate"]),
    ],
)
def test_only_whole_words_are_names(tmp_path: Path, text: str, mentions: list[str]) -> None:
    items = [Concept(id=f"N:{at}", label=name) for at, name in enumerate(NAMES)]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        found = annotate(collection, text)
    assert [one.mention for one in found] == mentions
