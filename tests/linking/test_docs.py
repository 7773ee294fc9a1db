"""docs/linking.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mirror_index.config import LinkOptions
from mirror_index.linking.calibration import NIL_SHARE, SAMPLE
from mirror_index.linking.candidates import DENSE_NAMES, SPELT_NAMES
from mirror_index.linking.deciding import EXACT_PROBABILITY, SHORT_EXACT_PROBABILITY, SHORT_KEY
from mirror_index.linking.examples import FEWEST
from mirror_index.linking.features import FEATURES, SCOPE_PENALTY
from mirror_index.names import name_key
from mirror_index.records import Scope

DOCS = (Path(__file__).parents[2] / "docs" / "linking.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| [^|]+ \| `(.+)` \| `(.+)` \|$", DOCS, re.MULTILINE)


@pytest.mark.parametrize(("spelling", "key"), ROWS)
def test_the_table_of_the_key(spelling: str, key: str) -> None:
    assert name_key(spelling) == key


def test_the_table_was_found_and_the_numbers_are_right() -> None:
    assert len(ROWS) == 18
    assert f"share a fixed {EXACT_PROBABILITY}" in DOCS
    assert f"or {SHORT_EXACT_PROBABILITY} when the key has three characters or fewer" in DOCS
    assert SHORT_KEY == 3
    assert f"`min_probability` ({LinkOptions().min_probability:g})" in DOCS
    assert f"`ambiguity_margin` ({LinkOptions().ambiguity_margin:g})" in DOCS
    assert f"The {DENSE_NAMES} names nearest by vector and the {SPELT_NAMES} nearest by" in DOCS
    assert f"takes up to {SAMPLE:,} stored synonyms" in DOCS
    assert f"fewer than {FEWEST} names" in DOCS
    assert f"{NIL_SHARE:.0%} of what is to be linked" in DOCS
    assert len(SCOPE_PENALTY) == len(Scope)
    assert SCOPE_PENALTY.tolist() == [0.0, 0.005, 0.01, 0.01, 0.01]
    assert "0.005 lower, a narrow, broad or related one 0.01" in DOCS
    assert len(re.findall(r"^\| .+ \| (?:help|harm) \|$", DOCS, re.MULTILINE)) == len(FEATURES)
