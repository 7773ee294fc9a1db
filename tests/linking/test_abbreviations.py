"""Abbreviations defined in a text, against pairs written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.linking import definitions
from mirror_index.linking.abbreviations import expansions

DEFINED = [
    ("The thyroid hormone receptor (TR) binds.", [("TR", "thyroid hormone receptor")]),
    ("TR (thyroid receptor) binds.", [("TR", "thyroid receptor")]),
    ("low density lipoprotein receptors (LDLRs)", [("LDLRs", "low density lipoprotein receptors")]),
    ("human immunodeficiency virus [HIV]", [("HIV", "human immunodeficiency virus")]),
    ("von Hippel-Lindau (“VHL”) disease", [("VHL", "von Hippel-Lindau")]),
    ("polymerase chain reaction (PCR, n = 5)", [("PCR", "polymerase chain reaction")]),
    ("polymerase chain reaction (also called PCR)", [("PCR", "polymerase chain reaction")]),
    ("some base pairs (bp)", [("bp", "base pairs")]),
    (
        "glucose-6-phosphate dehydrogenase (G6PD)",
        [("G6PD", "glucose-6-phosphate dehydrogenase")],
    ),
    ("amyloid-β protein (Aβ)", [("Aβ", "amyloid-β protein")]),
    ("tumour necrosis factor alpha (TNF-α)", [("TNF-α", "tumour necrosis factor alpha")]),
    ("a (nested polymerase chain reaction (PCR)) thing", [("PCR", "polymerase chain reaction")]),
    ("a test [thyroid receptor (TR)]", [("TR", "thyroid receptor")]),
    ("Atrial fibrillation (AF).\nAcute failure (AF).",
     [("AF", "Atrial fibrillation"), ("AF", "Acute failure")]),
    ("It ended. Receptor (TR)", []),
    ("(Spenner et al., 1995)", []),
    ("as Smith (Smith 1995) said", []),
    ("patients (n = 12) and (P < 0.01)", []),
    ("see it (Fig. 2) there (e.g., here)", []),
    ("Type (A) and group (1)", []),
    ("the Receptor (RECEPTOR)", []),
    ("a thing (of no use at all)", []),
    ("(TR) starts it", []),
    ("( starts", []),
    ("ends (", []),
    (")( () ( ) [] ((((", []),
    ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pairs"), DEFINED)
def test_what_a_text_defines(text: str, pairs: list[tuple[str, str]]) -> None:
    found = definitions(text)
    assert [(one.short, one.long) for one in found] == pairs
    for one in found:
        assert text[one.short_start : one.short_end] == one.short
        assert text[one.long_start : one.long_end] == one.long


@settings(max_examples=400, deadline=None)
@given(st.text("()[] aATtRr,;.\n-β́2ﬁ", max_size=40))
def test_any_text_is_read_and_offsets_hold(text: str) -> None:
    for one in definitions(text):
        assert text[one.short_start : one.short_end] == one.short
        assert text[one.long_start : one.long_end] == one.long
        assert len(one.long) > len(one.short)


def test_a_long_text_of_brackets_takes_no_time() -> None:
    assert definitions("(" * 20_000 + "a b " * 20_000 + ")" * 20_000) == ()


G6PD = definitions("glucose-6-phosphate dehydrogenase (G6PD), a receptor (RC; RCs)")


@pytest.mark.parametrize(
    ("mention", "expanded"),
    [
        ("G6PD", "glucose-6-phosphate dehydrogenase"),
        ("G6PDs", "glucose-6-phosphate dehydrogenase"),
        ("severe G6PD-deficiency", "severe glucose-6-phosphate dehydrogenase-deficiency"),
        ("g6pd", None),
        ("XG6PD", None),
        ("G6PD2", None),
        ("anything", None),
        ("", None),
    ],
)
def test_short_forms_are_written_out_as_whole_words(mention: str, expanded: str | None) -> None:
    assert expansions(mention, G6PD) == expanded


def test_a_mention_loses_the_definition_it_holds() -> None:
    mention = "glucose-6-phosphate dehydrogenase (G6PD) deficiency"
    assert expansions(mention, ()) == "glucose-6-phosphate dehydrogenase deficiency"


def test_the_last_definition_counts() -> None:
    found = definitions("Atrial fibrillation (AF). Acute failure (AF).")
    assert expansions("AF", found) == "Acute failure"
