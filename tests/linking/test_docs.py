"""docs/linking.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mirror_index.config import LinkOptions
from mirror_index.linking.calibration import NIL_SHARE, SAMPLE
from mirror_index.linking.candidates import DENSE_NAMES, MAPPED_NAMES, SPELT_NAMES
from mirror_index.linking.contradictions import ABSENT, AGAINST, NONE, OTHER, PREFIXES, TURNING
from mirror_index.linking.deciding import EXACT_PROBABILITY, SHORT_EXACT_PROBABILITY, SHORT_KEY
from mirror_index.linking.examples import FEWEST
from mirror_index.linking.features import FEATURES, SCOPE_PENALTY
from mirror_index.linking.projection import FEWEST_CONCEPTS, RANK, WORTH
from mirror_index.linking.space import MOST_HELD, SHARE
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
    assert f"The {MAPPED_NAMES} names nearest by vector after" in DOCS
    assert f"the {SPELT_NAMES} nearest by character trigrams" in DOCS
    assert f"it is the {DENSE_NAMES} nearest by plain cosine" in DOCS
    assert f"{1 - SHARE:.1f} of the plain cosine and {SHARE:g} of the cosine after" in DOCS
    assert f"into {RANK} dimensions" in DOCS
    assert f"by {WORTH:g} of mean" in DOCS
    assert f"needs {FEWEST_CONCEPTS} concepts with several names" in DOCS
    assert f"of more than {MOST_HELD:,} names" in DOCS
    assert f"takes up to {SAMPLE:,} stored synonyms" in DOCS
    assert f"fewer than {FEWEST} names" in DOCS
    assert f"{NIL_SHARE:.0%} of what is to be linked" in DOCS
    assert len(SCOPE_PENALTY) == len(Scope)
    assert SCOPE_PENALTY.tolist() == [0.0, 0.005, 0.01, 0.01, 0.01]
    assert "0.005 lower, a narrow, broad or related one 0.01" in DOCS
    assert len(re.findall(r"^\| .+ \| (?:help|harm) \|$", DOCS, re.MULTILINE)) == len(FEATURES)


def test_the_words_of_contradictions() -> None:
    section = DOCS.partition("## Contradictions\n")[2].partition("\n## ")[0]
    denied, absent, turning, form = section.split("\n- ")[1:5]

    def listed(text: str, start: str) -> set[str]:
        return set(
            re.findall(r"[a-z]+", text.partition(start)[2].partition(")")[0].partition(".")[0])
        )

    assert listed(denied, "denies (") == NONE | OTHER
    assert listed(absent, "among them:") == ABSENT
    assert listed(turning, "speaks of:") == TURNING
    assert tuple(re.findall(r"\b([a-z]+)-(?=,| or)", form.partition("they begin")[0])) == AGAINST
    assert tuple(re.findall(r"([a-z]+)-/([a-z]+)-", form)) == PREFIXES
