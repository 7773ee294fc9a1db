"""Readings of one mention as several, against readings written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.linking.composites import proposals

AMONG = [
    ("nausea and vomiting", ("nausea", "vomiting")),
    ("nausea, vomiting, and headache", ("nausea", "vomiting", "headache")),
    ("breast and ovarian cancer", ("breast cancer", "ovarian cancer")),
    ("breast and/or ovarian cancer", ("breast cancer", "ovarian cancer")),
    ("breast, lung or ovarian cancer", ("breast cancer", "lung cancer", "ovarian cancer")),
    ("Duchenne or Becker muscular dystrophy",
     ("Duchenne muscular dystrophy", "Becker muscular dystrophy")),
    ("type 1 and 2 diabetes", ("type 1 diabetes", "type 2 diabetes")),
    ("hepatitis A, B and C", ("hepatitis A", "hepatitis B", "hepatitis C")),
    ("cleft lip/palate", ("cleft lip", "cleft palate")),
    ("aplasia/hypoplasia of the thumb", ("aplasia of the thumb", "hypoplasia of the thumb")),
    ("hypo- and hyperthyroidism", ("hypothyroidism", "hyperthyroidism")),
    ("large- and small-cell carcinoma", ("large-cell carcinoma", "small-cell carcinoma")),
    ("nausea AND vomiting", ("nausea", "vomiting")),
    ("nausea\n& vomiting", ("nausea", "vomiting")),
    ("vomiting and loss of appetite", ("vomiting", "loss of appetite")),
    ("nausea, vomiting", ("nausea", "vomiting")),
    ("nausea; vomiting; headache", ("nausea", "vomiting", "headache")),
    ("both nausea and vomiting", ("nausea", "vomiting")),
    ("Either breast or ovarian cancer", ("breast cancer", "ovarian cancer")),
    ("nausea / vomiting", ("nausea", "vomiting")),
    ("nausea/ vomiting", ("nausea", "vomiting")),
    ("nausea + vomiting", ("nausea", "vomiting")),
]  # fmt: skip


@pytest.mark.parametrize(("mention", "parts"), AMONG)
def test_a_reading_is_among_the_proposals(mention: str, parts: tuple[str, ...]) -> None:
    assert parts in list(proposals(mention))


def test_the_common_end_comes_before_the_plain_parts() -> None:
    assert next(proposals("breast and ovarian cancer")) == ("breast cancer", "ovarian cancer")


@pytest.mark.parametrize(
    "mention",
    [
        "1,2-dichloroethane", "CD4+ T cell", "pain in arms and legs", "loss of vision and hearing",
        "sandy hand", "both", "and", "or else", "nausea and", "", "  ", "N/A",
        "km/h", "a/b/c", "fever and fever", "anemia", "a,b", "nausea,",
    ],
)  # fmt: skip
def test_nothing_to_cut(mention: str) -> None:
    assert list(proposals(mention)) == []


@given(st.text("and or,/-& abcA12\n", max_size=30))
def test_proposals_are_distinct_and_of_two_to_six_parts(mention: str) -> None:
    found = list(proposals(mention))
    assert len(found) == len(set(found))
    for parts in found:
        assert 2 <= len(parts) <= 6
        assert len(set(parts)) == len(parts)
        assert all(part == " ".join(part.split()) and part for part in parts)
