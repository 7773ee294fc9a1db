"""CTD vocabularies, against hand-written expectations and a round trip."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.errors import SourceError
from mirror_index.readers import detect_format, read
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem
from tests.readers.conftest import ReadBack

COLUMNS = (
    "DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers"
    "\tSynonyms\tSlimMappings"
)
HEADER = f"# MDI Biological Laboratory\n#\n# Report created: today\n#\n# Fields:\n# {COLUMNS}\n#\n"
ROW = (
    "Heart attack\tMESH:D1\tDO:DOID:5844|OMIM:608446\tA bad day.\tMESH:D2|MESH:D3\tC14/1\tC14\t"
    'Infarct, cardiac|"MI"|Infarct, cardiac\tCardiovascular disease|Cancer'
)


def _concepts(items: list[SourceItem]) -> list[Concept]:
    assert [item for item in items if not isinstance(item, Concept)] == []
    return [item for item in items if isinstance(item, Concept)]


def test_a_whole_row(read_back: ReadBack) -> None:
    (concept,) = _concepts(read_back("CTD_diseases.tsv", f"{HEADER}{ROW}\n"))
    assert concept == Concept(
        id="MESH:D1",
        label="Heart attack",
        names=(
            Name(text="Infarct, cardiac", scope=Scope.EXACT),
            Name(text='"MI"', scope=Scope.EXACT),
        ),
        definition="A bad day.",
        alt_ids=("DOID:5844", "OMIM:608446"),
        parents=("MESH:D2", "MESH:D3"),
        semantic_types=("Cardiovascular disease", "Cancer"),
        line=8,
    )


def test_how_the_format_is_told(tmp_path: Path) -> None:
    path = tmp_path / "medic.tsv.gz"
    path.write_bytes(gzip.compress(f"{HEADER}{ROW}\n".encode()))
    assert detect_format(path) == "ctd"
    assert [c.id for c in _concepts(list(read(path)))] == ["MESH:D1"]
    path = tmp_path / "a.tsv"
    path.write_text("#id\tname\n1\tone\n")
    assert detect_format(path) == "tsv"
    assert isinstance(next(read(path)), Record)
    path.write_text("# a comment\n" * 3)
    assert detect_format(path) == "tsv"


def test_other_vocabularies_and_csv(read_back: ReadBack) -> None:
    chemicals = (
        "# Fields:\n# ChemicalName,ChemicalID,CasRN,Definition,ParentIDs,Synonyms\n#\n"
        '"1,2-dichloroethane",MESH:C1,107-06-2,,MESH:D9,"DCE|the ""old"" one"\n'
    )
    (concept,) = _concepts(read_back("CTD_chemicals.csv", chemicals))
    assert (concept.label, concept.parents) == ("1,2-dichloroethane", ("MESH:D9",))
    assert [name.text for name in concept.names] == ["DCE", 'the "old" one']
    pathways = "PathwayName\tPathwayID\nApoptosis\tREACT:1\n"
    (concept,) = _concepts(read_back("a.tsv", pathways, format="ctd"))
    assert (concept.id, concept.label, concept.names, concept.line) == (
        "REACT:1",
        "Apoptosis",
        (),
        2,
    )


def test_what_is_not_taken_is_said_with_its_line(read_back: ReadBack) -> None:
    fields = "\t" * 7
    rows = (
        "",
        "x\ty",
        f"{fields}\t",
        f" \tMESH:D4{fields}",
        f"a\t{fields}",
        f"b\0\tMESH:D5{fields}",
    )
    content = f"{HEADER}{ROW}\n" + "".join(f"{row}\n" for row in rows)
    found = [i for i in read_back("a.tsv", content, format="ctd") if isinstance(i, Rejected)]
    assert [(row.line, row.reason, row.skipped) for row in found] == [
        (9, "the line is empty", True),
        (10, "the row has 2 fields, there are 9 columns", False),
        (11, "the line is empty", True),
        (12, "the text is empty", True),
        (13, "the DiseaseID is empty", False),
        (14, "the text holds a NUL character", False),
    ]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the source is empty"),
        ("# only\n# comments\n", "the source is empty"),
        ("# Fields:\n# A\tB\n#\nx\ty\n", "no columns for a name and an id.*line 2"),
        ("DiseaseName\tID\nx\ty\n", "no columns for a name and an id.*line 1"),
    ],
)
def test_sources_that_are_something_else(read_back: ReadBack, content: str, complaint: str) -> None:
    with pytest.raises(SourceError, match=complaint):
        read_back("a.tsv", content, format="ctd")


def test_a_header_without_rows_is_no_error(read_back: ReadBack) -> None:
    assert read_back("CTD_diseases.tsv", HEADER) == []


_CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs"), exclude_characters="|#"),
    min_size=1,
    max_size=8,
)


@given(st.lists(st.tuples(_CELL, _CELL, st.lists(_CELL, unique=True, max_size=4)), max_size=8))
def test_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, list[str]]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "CTD_generated.tsv"
    lines = [f"{name}\t{own}\t\t\t\t\t\t{'|'.join(more)}\t\n" for name, own, more in rows]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    found = [(c.label, c.id, [n.text for n in c.names]) for c in _concepts(list(read(path)))]
    assert found == rows
