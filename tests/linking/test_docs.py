"""docs/linking.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mirror_index.config import LinkOptions
from mirror_index.linking.calibration import FEWEST, NIL_SHARE
from mirror_index.linking.deciding import EXACT_PROBABILITY, SHORT_EXACT_PROBABILITY, SHORT_KEY
from mirror_index.linking.dense import SCOPE_PENALTY
from mirror_index.linking.model import TIE
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
    assert f"lie within {TIE}" in DOCS
    assert f"fewer than {FEWEST} names" in DOCS
    assert f"{NIL_SHARE:.0%} of what is to be linked" in DOCS
    assert list(SCOPE_PENALTY) == list(Scope)
    assert list(SCOPE_PENALTY.values()) == [0.0, 0.005, 0.01, 0.01, 0.01]
    assert "0.005 lower, a narrow, broad or related one 0.01" in DOCS
