from __future__ import annotations

from pathlib import Path

import fastobo
import pytest

from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem, normalise_text
from tests.readers.conftest import ReadBack

HEADER = "format-version: 1.4\ndefault-namespace: test\n\n"


def _term(*clauses: str, term_id: str = "X:1") -> str:
    return "[Term]\n" + "".join(f"{c}\n" for c in (f"id: {term_id}", *clauses)) + "\n"


def _one(items: list[SourceItem]) -> SourceItem:
    (item,) = items
    return item


def _concept(read_back: ReadBack, *clauses: str) -> Concept:
    item = _one(read_back("a.obo", HEADER + _term("name: x", *clauses)))
    assert isinstance(item, Concept), item
    return item


def test_a_whole_term(read_back: ReadBack) -> None:
    content = HEADER + _term(
        'name: Heart attack {source="a, b"} ! not part of it',
        "namespace: disease",
        "alt_id: X:9",
        "alt_id: X:8",
        'def: "A \\"bad\\" day:\\nthe heart stops, [partly]." [PMID:1, http\\://a.b/c "a, b"] ! c',
        "comment: anything: {goes} ! here",
        "subset: slim",
        'synonym: "Infarct, cardiac" EXACT layperson [PMID:2 "why", GOC:x]',
        'synonym: "MI" NARROW [] {level="1"}',
        'xref: UMLS:C1 {source="a"}',
        'xref: url:http\\://d.e "described"',
        'xref: Some book "described"',
        'is_a: X:2 {source="b"} ! parent',
        "relationship: part_of X:3",
        "property_value: p q xsd:string",
        "created_by: someone",
    )
    assert _one(read_back("a.obo", content)) == Concept(
        id="X:1",
        label="Heart attack",
        names=(
            Name(
                text="Infarct, cardiac",
                scope=Scope.EXACT,
                name_type="layperson",
                xrefs=("PMID:2", "GOC:x"),
            ),
            Name(text="MI", scope=Scope.NARROW),
        ),
        definition='A "bad" day:\nthe heart stops, [partly].',
        alt_ids=("X:9", "X:8"),
        xrefs=("UMLS:C1", "url:http://d.e", "Some book"),
        parents=("X:2",),
        semantic_types=("disease",),
        line=4,
    )


def test_other_frames_and_comments_are_no_terms(read_back: ReadBack) -> None:
    content = (
        "! a comment\n" + HEADER + "[Typedef]\nid: part_of\nname: part of\n\n"
        "[Term] ! the only one\nid: X:1\n! inside\nname: one\n[Instance]\nid: X:2\nname: two\n"
    )
    assert _one(read_back("a.obo", content)) == Concept(
        id="X:1", label="one", semantic_types=("test",), line=9
    )


def test_a_header_alone_is_zero_rows(read_back: ReadBack) -> None:
    assert read_back("a.obo", HEADER) == []
    (item,) = read_back("a.obo", _term("name: x"))
    assert isinstance(item, Concept)
    assert item.semantic_types == ()


@pytest.mark.parametrize("content", ["<!DOCTYPE html>\n", "id,name\n1,x\n", "\udce9\n"])
def test_not_obo(read_back: ReadBack, content: str) -> None:
    with pytest.raises(SourceError, match="not an OBO file"):
        read_back("a.obo", content.encode("utf-8", "surrogateescape"))


def test_only_blank_lines(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="empty"):
        read_back("a.obo", "\n ! comment\n\n")


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("1,2-dichloroethane", "1,2-dichloroethane"),
        (r"alpha\:beta\Wgamma", "alpha:beta gamma"),
        (r"\{x\} \! y", "{x} ! y"),
        ("2-{[(2E)-oxo]amino}acid", "2-{[(2E)-oxo]amino}acid"),
        ("Wow! signal", "Wow! signal"),
        ('5" pipe', '5" pipe'),
        ("NA", "NA"),
        ("split \\\nover lines", "split over lines"),
    ],
)
def test_names(read_back: ReadBack, spelled: str, expected: str) -> None:
    item = _one(read_back("a.obo", HEADER + _term(f"name: {spelled}")))
    assert isinstance(item, Concept)
    assert item.label == expected


def test_synonyms_of_older_formats(read_back: ReadBack) -> None:
    concept = _concept(
        read_back,
        'synonym: "a" []',
        'exact_synonym: "b" [X:1]',
        'broad_synonym: "c" layperson []',
    )
    assert [(n.text, n.scope, n.name_type) for n in concept.names] == [
        ("a", Scope.RELATED, None),
        ("b", Scope.EXACT, None),
        ("c", Scope.BROAD, "layperson"),
    ]


def test_double_and_trailing_spaces_in_synonyms_stay(read_back: ReadBack) -> None:
    concept = _concept(read_back, 'synonym: " two  spaces " EXACT []')
    assert concept.names[0].text == " two  spaces "


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        ('synonym: "an "inner" quote" EXACT []', "needs a backslash"),
        ('synonym: "x" EXACT', "list of references"),
        ('synonym: "x EXACT []', "needs a backslash"),
        ('synonym: "x" exact []', "the scope 'exact' is none of EXACT"),
        ('synonym: "x" EXAKT layperson []', "the scope 'EXAKT'"),
        ('synonym: " " EXACT []', "the text is empty"),
        ('def: "an "inner" quote" []', "needs a backslash"),
        ('def: "x" EXACT []', "needs a backslash"),
        ("is_obsolete: maybe", "neither true nor false"),
        ("is_a: ! parent", "no identifier"),
        ("xref: ! nothing", "no identifier"),
        ("name: y", "occurs twice"),
        ("no colon here", "no tag before a colon"),
        ("comment: NUL \x00", "NUL"),
    ],
)
def test_a_bad_clause_costs_its_term(read_back: ReadBack, clause: str, reason: str) -> None:
    content = (
        HEADER
        + _term("name: before")
        + _term("name: x", clause, 'synonym: "fine" EXACT []', term_id="X:2")
        + _term("name: after", term_id="X:3")
    )
    before, bad, after = read_back("a.obo", content)
    assert isinstance(before, Concept)
    assert isinstance(after, Concept)
    assert after.label == "after"
    assert isinstance(bad, Rejected)
    assert (bad.line, bad.skipped) == (11, False)
    assert reason in bad.reason
    assert "term X:2, which begins on line 8" in bad.reason
    assert bad.content == clause.replace("\x00", "\\x00")


def test_a_bad_byte_costs_its_term(read_back: ReadBack) -> None:
    content = (HEADER + _term("name: é") + _term("name: fine", term_id="X:2")).encode()
    bad, fine = read_back("a.obo", content.replace("é".encode(), b"\xe9"))
    assert (bad.line, isinstance(bad, Rejected), isinstance(fine, Concept)) == (6, True, True)


def test_terms_without_a_name_or_an_id(read_back: ReadBack) -> None:
    content = HEADER + _term("def: " + '"x" []') + "[Term]\nname: y\n" + _term("name:")
    nameless, idless, blank = read_back("a.obo", content)
    assert isinstance(nameless, Rejected)
    assert (nameless.line, nameless.reason) == (
        4,
        "there is no name clause (term X:1, which begins on line 4)",
    )
    assert isinstance(idless, Rejected)
    assert (idless.line, "no id clause" in idless.reason) == (8, True)
    assert isinstance(blank, Rejected)
    assert (blank.line, "no value" in blank.reason) == (12, True)


def test_a_tag_that_does_not_exist_is_reported(read_back: ReadBack) -> None:
    content = HEADER + _term("name: x", "colour: red", 'synonim: "y" EXACT []')
    unknown, lost, concept = read_back("a.obo", content)
    assert unknown == Rejected(
        line=7, reason="OBO has no such tag", content="colour: red", skipped=True
    )
    assert lost == Rejected(
        line=8, reason="unknown synonym property synonim", content='synonim: "y" EXACT []'
    )
    assert isinstance(concept, Concept)


def test_obsolete_terms_say_where_they_went(read_back: ReadBack) -> None:
    content = (
        HEADER
        + _term(
            "name: obsolete type II diabetes",
            'synonym: "T2D" EXACT []',
            "is_obsolete: true",
            "replaced_by: X:2 ! label",
            "replaced_by: X:3",
        )
        + _term("is_obsolete: TRUE ! merged", "consider: X:3", "use_term: X:4", term_id="X:2")
        + _term("name: live", "is_obsolete: false", term_id="X:3")
    )
    first, merged, live = read_back("a.obo", content)
    assert isinstance(first, Concept)
    assert (first.obsolete, first.replaced_by, first.consider) == (True, ("X:2", "X:3"), ())
    assert first.names == (Name(text="T2D", scope=Scope.EXACT),)
    assert list(first.records()) == []
    assert isinstance(merged, Concept)
    assert (merged.label, merged.obsolete, merged.consider) == ("X:2", True, ("X:3", "X:4"))
    assert isinstance(live, Concept)
    assert not live.obsolete


def test_twice_obsolete_is_refused(read_back: ReadBack) -> None:
    content = HEADER + _term("name: x", "is_obsolete: true", "is_obsolete: false")
    assert isinstance(_one(read_back("a.obo", content)), Rejected)


def test_the_phenotype_ontology_against_fastobo(hp_obo: Path) -> None:
    concepts = [item for item in read(hp_obo) if isinstance(item, Concept)]
    expected = [_of_fastobo(frame) for frame in fastobo.load(str(hp_obo)) if _is_term(frame)]
    assert [_plain(concept) for concept in concepts] == expected
    assert sum(concept.obsolete for concept in concepts) == 450
    assert len(concepts) - 450 == 19_034


def test_the_phenotype_ontology_against_its_table(hp_obo: Path, shared_data: Path) -> None:
    items = list(read(hp_obo))
    names = {
        (record.concept_id, normalise_text(record.text)): record
        for item in items
        if isinstance(item, Concept)
        for record in item.records()
    }
    table = {
        (record.concept_id, normalise_text(record.text)): record
        for record in read(shared_data / "linking" / "dict_hpo2025.tsv")
        if isinstance(record, Record)
    }
    assert table.keys() <= names.keys()
    # The table leaves out what the ontology itself calls discarded.
    extra = [names[key] for key in names.keys() - table.keys()]
    assert [record.name_type for record in extra] == ["obsolete_synonym"] * 4
    for key, record in table.items():
        assert (names[key].id, names[key].text) == (record.id, record.text)
        assert names[key].scope is record.scope


def _is_term(frame: object) -> bool:
    return isinstance(frame, fastobo.term.TermFrame)


def _plain(concept: Concept) -> dict[str, object]:
    return {
        "id": concept.id,
        "name": concept.label,
        "def": concept.definition,
        "synonym": [(n.text, n.scope.value.upper(), n.name_type, n.xrefs) for n in concept.names],
        "alt_id": list(concept.alt_ids),
        "xref": list(concept.xrefs),
        "is_a": list(concept.parents),
        "is_obsolete": concept.obsolete,
        "replaced_by": list(concept.replaced_by),
        "consider": list(concept.consider),
    }


def _of_fastobo(frame: fastobo.term.TermFrame) -> dict[str, object]:
    found: dict[str, object] = {
        "id": str(frame.id),
        "def": None,
        "is_obsolete": False,
        **{tag: [] for tag in ("synonym", "alt_id", "xref", "is_a", "replaced_by", "consider")},
    }
    for clause in frame:
        tag = clause.raw_tag()
        if tag == "name":
            found[tag] = clause.name
        elif tag == "def":
            found[tag] = str(clause.definition)
        elif tag == "is_obsolete":
            found[tag] = clause.obsolete
        elif tag == "synonym":
            one = clause.synonym
            kind = None if one.type is None else str(one.type)
            xrefs = tuple(str(xref.id) for xref in one.xrefs)
            found[tag].append((one.desc, one.scope, kind, xrefs))  # type: ignore[attr-defined]
        elif tag == "xref":
            found[tag].append(str(clause.xref.id))  # type: ignore[attr-defined]
        elif tag in found:
            found[tag].append(str(getattr(clause, "term", None) or clause.alt_id))  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    "tail",
    [
        '[] {a="b", c="d } e"}',
        '[] {x="y"} {z="w"} ! c',
        '[PMID:1 "desc, with ] bracket", X:2] {source="a\\"b"}',
        "[]! comment",
        '[http\\://x.y/z "q"] ! "quoted" comment [x]',
    ],
)
def test_what_may_follow_a_synonym(read_back: ReadBack, tail: str) -> None:
    (name,) = _concept(read_back, f'synonym: "a ! [b] {{c}}" EXACT {tail}').names
    assert (name.text, name.scope) == ("a ! [b] {c}", Scope.EXACT)
