"""Mentions in running text, against places written by hand and a search for names one by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirror_index.annotation import AnnotateOptions, Annotation, Annotator, annotate
from mirror_index.annotation.plausible import is_plausible
from mirror_index.annotation.sentences import Sentences
from mirror_index.collection import Collection
from mirror_index.curation import import_overrides
from mirror_index.errors import UsageError
from mirror_index.names import name_key
from mirror_index.records import Concept, LinkStatus, Record, Scope
from tests.dictionaries import DISEASES, Build, concept

ITEMS = (
    *DISEASES,
    concept("A:1", "All"),
    concept("A:2", "Acute lymphoblastic leukemia", "ALL"),
    concept("A:3", "Wiskott-Aldrich syndrome", "WAS"),
    concept("A:4", "b", "C"),
    concept("A:5", "α-synuclein aggregation"),
    concept("A:6", "CD4+ T cell", "CD4 T cell depletion"),
    concept("A:7", "CD4"),
    concept("A:8", "1,2-dichloroethane poisoning"),
    concept("A:9", "Nail hypoplasia", "small nail"),
    concept("A:10", "Cancer"),
    concept("A:11", "Breast cancer", parents=("A:10",)),
    concept("A:12", "Lipoma"),
    concept("A:13", "Lipomas"),
    concept("A:14", "Ménière disease"),
    concept("A:15", "Glucose-6-phosphate dehydrogenase deficiency"),
    concept("A:16", "Diabetes", "T2D"),
)


def found(annotations: list[Annotation]) -> list[tuple[str, str, str]]:
    return [(one.mention, one.concept_id, one.method) for one in annotations]


@pytest.fixture
def annotator(build: Build) -> Annotator:
    return Annotator(build(ITEMS))


TEXTS = [
    ("Seizure and headache.", [("Seizure", "D:6", "exact"), ("headache", "D:7", "exact")]),
    ("TYPE II DIABETES", [("TYPE II DIABETES", "D:1", "exact")]),
    ("type 2\r\ndiabetes", [("type 2\r\ndiabetes", "D:1", "exact")]),
    ("hand, foot and mouth disease", [("hand, foot and mouth disease", "D:2", "exact")]),
    ("epileptic seizures", [("epileptic seizures", "D:6", "variant")]),
    ("Löfgren’s syndrome", [("Löfgren’s syndrome", "D:5", "exact")]),
    ("Me\u0301nie\u0300re’s disease", [("Me\u0301nie\u0300re’s disease", "A:14", "exact")]),
    ("Löfgrenʼs syndrome Löfgren＇s syndrome", [("Löfgrenʼs syndrome", "D:5", "exact"),
                                               ("Löfgren＇s syndrome", "D:5", "exact")]),
    ("alpha synuclein aggregation", [("alpha synuclein aggregation", "A:5", "exact")]),
    ("α‐synuclein aggregation", [("α‐synuclein aggregation", "A:5", "exact")]),
    ("CD4+ T cells", [("CD4+ T cells", "A:6", "variant")]),
    ("CD4⁺ T cell, CD4", [("CD4⁺ T cell", "A:6", "exact"), ("CD4", "A:7", "exact")]),
    ("1,2-dichloroethane poisoning", [("1,2-dichloroethane poisoning", "A:8", "exact")]),
    ("12-dichloroethane poisoning", []),
    ("hypoplasia of the nails", [("hypoplasia of the nails", "A:9", "reordered")]),
    ("hypoplasia, the nail", []),
    ("lipoma or lipomas", [("lipoma", "A:12", "exact"), ("lipomas", "A:13", "exact")]),
    ("breast cancer-related", [("breast cancer", "A:11", "exact")]),
    ("breast cancer-", [("breast cancer", "A:11", "exact")]),
    ("(breast cancer)", [("breast cancer", "A:11", "exact")]),
    ("head. ache seiz\nures breast", []),
    ("breast.\nCancer", [("Cancer", "A:10", "exact")]),
    ("breast\n\ncancer", [("cancer", "A:10", "exact")]),
    ("sei\u00adzure sei\u200bzure", [("sei\u00adzure", "D:6", "exact"),
                                       ("sei\u200bzure", "D:6", "exact")]),
    ("\ufeffseizure", [("seizure", "D:6", "exact")]),
    ("😀seizure😀", [("seizure", "D:6", "exact")]),
    ("preseizure seizureless anti_seizure_x", [("seizure", "D:6", "exact")]),
    ("", []), (" \n", []), ("…!?", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_what_is_found(
    annotator: Annotator, text: str, expected: list[tuple[str, str, str]]
) -> None:
    answer = annotator.annotate(text)
    assert found(answer) == expected
    for one in answer:
        assert text[one.start : one.end] == one.mention


SHORT = [
    ("sodium butyrate b C", []),
    ("All of them was there, all can.", []),
    ("ALL is a leukemia", [("ALL", "A:2")]),
    ("It was WAS in him", [("WAS", "A:3")]),
    ("IT WAS ALL THERE", []),
    ("T2D but no t2d", [("T2D", "A:16")]),
    ("cd4 and CD4", [("CD4", "A:7")]),
]


@pytest.mark.parametrize(("text", "expected"), SHORT)
def test_short_names_and_function_words(
    annotator: Annotator, text: str, expected: list[tuple[str, str]]
) -> None:
    assert [(one.mention, one.concept_id) for one in annotator.annotate(text)] == expected


def test_the_spelling_rule_by_hand() -> None:
    assert is_plausible("an ALL case", 3, 6, "ALL")
    assert not is_plausible("an all case", 3, 6, "ALL")
    assert not is_plausible("an All case", 3, 6, "All")
    assert not is_plausible("AN ALL CASE", 3, 6, "ALL")
    assert is_plausible("an ALL case\nAN OTHER", 3, 6, "ALL")
    assert is_plausible("seizure", 0, 7, "Seizure")
    assert not is_plausible("a b", 2, 3, "b")


def test_the_longest_wins_and_nested_ones_are_an_option(build: Build) -> None:
    collection = build(ITEMS)
    text = "glucose and breast cancer, epileptic seizure"
    assert [one.mention for one in annotate(collection, text)] == [
        "breast cancer", "epileptic seizure",
    ]  # fmt: skip
    nested = annotate(collection, text, AnnotateOptions(nested=True))
    assert [one.mention for one in nested] == [
        "breast cancer", "cancer", "epileptic seizure", "seizure",
    ]  # fmt: skip


def test_crossing_mentions_are_never_both_there(build: Build) -> None:
    items = [concept("X:1", "red eye pain"), concept("X:2", "eye pain syndrome now")]
    for nested in (False, True):
        (only,) = annotate(
            build(items), "red eye pain syndrome now", AnnotateOptions(nested=nested)
        )
        assert only.concept_id == "X:2"


def test_an_abbreviation_of_the_text_is_read_as_its_long_form(annotator: Annotator) -> None:
    text = (
        "Glucose-6-phosphate dehydrogenase (G6PD) was low; G6PD deficiency is known. "
        "Wound assessment score (WAS) and Seizure (SZ), SZs."
    )
    assert found(annotator.annotate(text)) == [
        ("G6PD deficiency", "A:15", "abbreviation"),
        ("Seizure", "D:6", "exact"),
        ("SZ", "D:6", "abbreviation"),
        ("SZs", "D:6", "abbreviation"),
    ]


def test_a_name_of_several_concepts_is_ambiguous(build: Build) -> None:
    (one,) = annotate(build(DISEASES), "acute kidney failure")
    assert one.status is LinkStatus.AMBIGUOUS
    assert (one.concept_id, one.others) == ("D:4", ("D:3",))
    assert (one.label, one.scope) == ("Acute kidney failure", Scope.LABEL)
    assert one.probability == pytest.approx(0.375)


def test_what_is_told_of_a_mention(build: Build) -> None:
    (one,) = annotate(build(DISEASES), "No. She had NIDDM. Then")
    assert (one.start, one.end, one.sentence) == (12, 17, 1)
    assert (one.label, one.matched_name) == ("Diabetes mellitus type 2", "NIDDM")
    assert (one.scope, one.status, one.probability) == (Scope.EXACT, LinkStatus.LINKED, 0.75)


def test_only_a_branch(build: Build) -> None:
    collection = build(ITEMS)
    text = "breast cancer, seizure, cancer"
    kept = annotate(collection, text, AnnotateOptions(under=("A:10",)))
    assert [one.mention for one in kept] == ["breast cancer", "cancer"]
    assert annotate(collection, text, AnnotateOptions(under=("a:10",))) == kept
    with pytest.raises(UsageError, match="no such concept"):
        annotate(collection, text, AnnotateOptions(under=("A:10", "Q:1")))


def test_a_circle_of_parents_ends(build: Build) -> None:
    items = [
        concept("P:1", "first thing", parents=("P:2",)),
        concept("P:2", "second thing", parents=("P:1",)),
        concept("P:3", "third thing"),
    ]
    kept = annotate(build(items), "first thing, third thing", AnnotateOptions(under=("P:2",)))
    assert [one.mention for one in kept] == ["first thing"]


def test_less_certain_ways_can_be_left_out(build: Build) -> None:
    text = "hypoplasia of the nails; ALL; seizure"
    kept = annotate(build(ITEMS), text, AnnotateOptions(min_probability=0.6))
    assert [one.mention for one in kept] == ["seizure"]
    with pytest.raises(UsageError, match="min_probability"):
        AnnotateOptions(min_probability=2)


def test_a_persons_decisions_hold_in_texts(build: Build, tmp_path: Path) -> None:
    collection = build(ITEMS)
    table = tmp_path / "overrides.tsv"
    table.write_text(
        "mention\taction\nseizure\tnil\ncancer\tconcept A:11\nacute kidney failure\tnever D:4\n",
        encoding="utf-8",
    )
    import_overrides(collection, table)
    answer = annotate(collection, "Seizure, cancer, acute kidney failure")
    assert [(one.mention, one.concept_id, one.method) for one in answer] == [
        ("cancer", "A:11", "override"),
        ("acute kidney failure", "D:3", "exact"),
    ]


def test_an_obsolete_name_stands_for_what_replaced_it(build: Build) -> None:
    old = [
        Concept(id="O:1", label="old disease", obsolete=True, replaced_by=("O:2",)),
        Concept(id="O:2", label="elder disease", obsolete=True, replaced_by=("D:3",)),
        Concept(id="O:3", label="gone disease", obsolete=True),
        Concept(id="O:4", label="split disease", obsolete=True, consider=("D:3", "D:4")),
        Concept(id="O:5", label="lost disease", obsolete=True, replaced_by=("D:404",)),
        Concept(id="O:6", label="seizure", obsolete=True, replaced_by=("D:3",)),
    ]
    collection = build([*DISEASES, *old])
    text = "old disease, elder disease, gone disease, split disease, lost disease; seizure"
    found = annotate(collection, text)
    (live,) = annotate(collection, "seizure")
    assert [(one.mention, one.concept_id, one.matched_name) for one in found] == [
        ("old disease", "D:3", "old disease"),
        ("elder disease", "D:3", "elder disease"),
        ("seizure", live.concept_id, live.matched_name),
    ]
    assert live.concept_id != "D:3"
    other = annotate(collection, text, AnnotateOptions(under=("D:4",)))
    assert "D:3" not in {one.concept_id for one in other}


def test_a_collection_without_concepts_is_refused(build: Build) -> None:
    with pytest.raises(UsageError, match="holds no concepts"):
        Annotator(build([Record(id="1", text="seizure")]))


def test_an_empty_dictionary_finds_nothing(build: Build) -> None:
    assert annotate(build([]), "seizure") == []


PIECES = st.sampled_from(
    ["seizure", "Seizures", "type II diabetes", "ALL", "all", "CD4+", "CD4", "T cell", "breast",
     "cancer", "α", "e\u0301", "\u0301", "\r\n", "\n\n", "\ufeff", "😀", " ", " ", ". ", ", ", "(",
     ")", "-", "'s", "’", "&", "½", "２", "ﬁ", "が", "Mé", "nière disease", "of the", "nails",
     "hypoplasia", "\u200b", "\u00ad", "G6PD (glucose)", "(AKI)", "acute kidney injury", "_", "1,2"]
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Annotator:
    from tests.fakes import HashEncoder

    folder = tmp_path_factory.mktemp("annotating") / "c"
    collection = Collection.build(folder, ITEMS, encoder=HashEncoder())
    return Annotator(collection, AnnotateOptions(nested=True))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=30)))
def test_offsets_are_those_of_the_text(shared: Annotator, text: str) -> None:
    for one in shared.annotate(text):
        assert text[one.start : one.end] == one.mention
        assert one.mention == one.mention.strip()
        assert one.sentence >= 0
        if one.method == "exact":
            assert name_key(one.mention) == name_key(one.matched_name)


NAMES = sorted(
    {name_key(name) for one in ITEMS for name in (one.label, *(n.text for n in one.names))}
)
WORDS = sorted({word for name in NAMES for word in name.split() if word.isalpha()} | {"xyz", "of"})


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_every_long_name_in_plain_words_is_found(shared: Annotator, text: str) -> None:
    """The oracle looks for each name between word boundaries with a regular expression."""
    expected = {
        match.span(1)
        for name in NAMES
        if len(name) > 3 and name.replace(" ", "").isalpha()
        for match in re.finditer(rf"(?=\b({re.escape(name)})\b)", text)
    }
    answer = [
        one for one in shared.annotate(text) if one.method == "exact" and len(one.mention) > 3
    ]
    spans = {(one.start, one.end) for one in answer}
    assert spans <= expected
    for start, end in expected - spans:  # only what crosses a longer or equally long one is missing
        assert any(one.start < end and start < one.end for one in shared.annotate(text))


def test_sentences() -> None:
    text = "It is e.g. so. A. Smith et al. Found it! (Yes.) no\n\nnew? Last 2.5 mg"
    sentences = Sentences(text)
    places = [text.index(word) for word in ("It", "Smith", "(Yes", "new", "Last", "mg")]
    assert [sentences.number(place) for place in places] == [0, 1, 2, 3, 4, 4]
    assert Sentences("").number(0) == 0


@pytest.mark.parametrize("text", ["." * 200_000, "?!" * 100_000 + " a", '."' * 100_000])
def test_long_runs_of_marks_are_read_once(text: str) -> None:
    assert Sentences(text).number(len(text)) == 0
