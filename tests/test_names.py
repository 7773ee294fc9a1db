"""The key of a name, against values written by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.errors import UsageError
from mirror_index.names import name_key, normalise_trace

SAME = [
    ("Aymé-Gripp syndrome", "Ayme-Gripp syndrome", "ayme gripp syndrome"),
    ("Löfgren’s syndrome", "LOFGREN'S SYNDROME", "lofgren syndrome"),
    ("Löfgren’s", "Lofgren", "lofgren"),
    ("Sjøgren", "SJOGREN", "sjogren"),
    ("α-synuclein", "alpha-synuclein", "alpha synuclein"),
    ("Α-Synuclein", "alpha synuclein", "alpha synuclein"),
    ("TNFα", "TNF-alpha", "tnf alpha"),
    ("TNF α", "TNF-α", "tnf alpha"),
    ("NF-κB", "NF-kappaB", "nf kappab"),
    ("TGFβ1", "TGF-beta1", "tgf beta1"),
    ("5 µg", "5 ug", "5 ug"),
    ("Zellweger&apos;s syndrome", "Zellweger’s  Syndrome ", "zellweger syndrome"),
    ("Graves' disease", "Graves disease", "graves disease"),
    ("O'Brien", "O’Brien", "obrien"),
    ("Löfgren´s", "Löfgren's", "lofgren"),
    ("Graves's_disease", "Graves's disease", "graves disease"),
    ("3´-UTR", "3'-UTR", "3' utr"),
    ("`quoted` name", "“quoted” name", "quoted name"),
    ("non–small cell", "non-small cell", "non small cell"),
    ("CD4⁺ T cell", "CD4+ T-cell", "cd4+ t cell"),
    ("CD4− T cell", "cd4- T cell", "cd4- t cell"),
    ("1,2‑dichloroethane", "1,2-Dichloroethane", "1,2 dichloroethane"),
    ("2′-deoxyadenosine", "2'-deoxyadenosine", "2' deoxyadenosine"),
    ("5′ end", "5' end", "5' end"),
    ("nausea & vomiting", "Nausea and vomiting", "nausea and vomiting"),
    ("hand, foot and mouth disease", "hand foot and mouth disease", "hand foot and mouth disease"),
    ("diabetes mellitus, type II", "Diabetes mellitus type 2", "diabetes mellitus type 2"),
    ("type II diabetes", "type 2 diabetes", "type 2 diabetes"),
    ("stage IV", "Stage 4", "stage 4"),
    ("type I", "type 1", "type 1"),
    ("Mucolipidosis III", "mucolipidosis 3", "mucolipidosis 3"),
    ("BMI ≥ 30", "BMI ≥30", "bmi ≥30"),
    ("BMI >= 30", "bmi >=30", "bmi >=30"),
    ("Ｆｕｌｌ ｗｉｄｔｈ", "full width", "full width"),
    ("ﬁbrosis", "fibrosis", "fibrosis"),
    ("soft\u00adhyphen", "softhyphen", "softhyphen"),
    ("zero\u200bwidth\ufeff", "zerowidth", "zerowidth"),
    ("Straße", "STRASSE", "strasse"),
    ("Aspirin™", "aspirin®", "aspirin"),
    ("B₁₂", "B12", "b12"),
    ("trailing \t\n and  double ", "trailing and double", "trailing and double"),
]


@pytest.mark.parametrize(("left", "right", "key"), SAME)
def test_spellings_of_one_name_share_a_key(left: str, right: str, key: str) -> None:
    assert name_key(left) == key
    assert name_key(right) == key


APART = [
    ("CD4+ T cell", "CD4 T cell"),
    ("CD4- T cell", "CD4 T cell"),
    ("1,2-dichloroethane", "12-dichloroethane"),
    ("2'-deoxyadenosine", "2-deoxyadenosine"),
    ("C++", "C"),
    ("C#", "C"),
    ("BMI > 30", "BMI < 30"),
    ("trisomy X", "trisomy 10"),
    ("complementation group I", "complementation group 1"),
    ("grade 1.5", "grade 15"),
    ("2:1 block", "21 block"),
    ("1½ cups", "11/2 cups"),
    ("10⁹", "109"),
    ("5% glucose", "5 glucose"),
    ("seizures", "seizure"),
    ("λόγος", "logos"),
    ("が", "か"),
    ("й", "и"),
    ("हि", "ह"),
    ("μm", "mum"),
]


@pytest.mark.parametrize(("left", "right"), APART)
def test_names_that_mean_something_else_keep_apart(left: str, right: str) -> None:
    assert name_key(left) != name_key(right)


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "!!!", "…", "&", "™", "\u200b", "\u20e3", "+-+", "́"]
)
def test_no_letter_and_no_digit_is_an_empty_key(text: str) -> None:
    assert name_key(text) == ""


ALPHABET = "aAbsSiIvVxX019 \t'’`\"-–−+.,:/%#<>=≤&;()éøßαβΣςμκ½²⁺™が\u0301\u200b_йहि"


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(ALPHABET, max_size=14), st.text(max_size=12)))
def test_a_key_is_its_own_key_and_the_trace_agrees(text: str) -> None:
    key = name_key(text)
    assert name_key(key) == key
    traced = normalise_trace(text)
    assert traced.key == key
    spelling = text
    for step in traced.steps:
        assert step.before == spelling
        assert step.before != step.after
        spelling = step.after
    assert spelling == key


@settings(max_examples=200, deadline=None)
@given(st.text(ALPHABET, max_size=14))
def test_the_key_is_empty_only_without_letters_and_digits(text: str) -> None:
    assert (name_key(text) == "") == (not any(char.isalnum() for char in text))


def test_the_trace_names_each_rule() -> None:
    traced = normalise_trace("Löfgren’s type II")
    assert traced.key == "lofgren type 2"
    assert [step.rule for step in traced.steps] == [
        "quotes and dashes",
        "case",
        "accents",
        "possessives and apostrophes",
        "roman numerals",
    ]
    assert str(traced.steps[-1]) == "roman numerals: 'lofgren type ii' -> 'lofgren type 2'"


SPANS = [
    ("Löfgren’s  type II", "lofgren", "Löfgren"),
    ("Löfgren’s  type II", "2", "II"),
    ("TNFα (x)", "tnf", "TNF"),
    ("TNFα (x)", "alpha", "α"),
    ("1½ cups", "1/2", "½"),
    ("Straße & O'Brien", "strasse", "Straße"),
    ("Straße & O'Brien", "and", "&"),
    ("Straße & O'Brien", "obrien", "O'Brien"),
    ("le\u0301sion", "le", "le\u0301"),
    ("B₁₂ »x«", "b12", "B₁₂"),
    ("CD4⁺ > 5", "cd4+", "CD4⁺"),
    ("CD4⁺ > 5", ">5", "> 5"),
    ("a &lt; 5", "<5", "&lt; 5"),
    ("soft\u00adhyphen", "softhyphen", "soft\u00adhyphen"),
    ("ﬁbrosis 각", "fi", "ﬁ"),
    ("ﬁbrosis \u1100\u1161\u11a8", "각", "\u1100\u1161\u11a8"),
    ("5 µg", "ug", "µg"),
    ("  SEIZURE ", "seizure", "SEIZURE"),
]


@pytest.mark.parametrize(("text", "part", "raw"), SPANS)
def test_a_part_of_the_key_leads_back_to_the_raw_spelling(text: str, part: str, raw: str) -> None:
    traced = normalise_trace(text)
    start = traced.key.index(part)
    assert text[slice(*traced.original_span(start, start + len(part)))] == raw


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(ALPHABET, max_size=14), st.text(max_size=12)))
def test_positions_are_in_order_and_within_the_text(text: str) -> None:
    traced = normalise_trace(text)
    for step in traced.steps:
        positions = step.positions
        assert len(positions) == len(step.after)
        assert list(positions) == sorted(positions)
        for start, end in positions:
            assert 0 <= start <= end <= len(step.before)
    if traced.key:
        start, end = traced.original_span(0, len(traced.key))
        assert name_key(text[start:end]) in (traced.key, traced.key.strip("+-'"))


@pytest.mark.parametrize("span", [(0, 0), (-1, 2), (2, 1), (0, 8)])
def test_spans_that_are_not_in_the_key_are_refused(span: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="no such span"):
        normalise_trace("seizure").original_span(*span)


def test_a_plain_name_has_no_steps() -> None:
    assert normalise_trace("seizure").steps == ()


def test_the_module_loads_nothing_heavy() -> None:
    code = (
        "import sys, mirror_index.names; "
        "print(sorted({'numpy','torch','faiss','html'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
