"""UMLS RRF, against hand-written expectations and the csv module's reading of generated rows."""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers import detect_format, read
from mirror_index.readers.rrf import read_rrf
from mirror_index.records import Concept, Name, Rejected, Scope, SourceItem
from tests.readers.conftest import ReadBack


def atom(
    cui: str,
    text: str,
    *,
    lat: str = "ENG",
    ts: str = "S",
    stt: str = "VO",
    ispref: str = "N",
    sab: str = "MSH",
    tty: str = "ET",
    code: str = "NOCODE",
    suppress: str = "N",
) -> str:
    head = f"{cui}|{lat}|{ts}|L1|{stt}|S1|{ispref}|A1||M1|D1"
    return f"{head}|{sab}|{tty}|{code}|{text}|0|{suppress}||\n"


def best(cui: str, text: str, **fields: str) -> str:
    return atom(cui, text, ts="P", stt="PF", ispref="Y", **fields)


def _rows(items: list[SourceItem]) -> list[Rejected]:
    return [item for item in items if isinstance(item, Rejected)]


def _concepts(items: list[SourceItem]) -> list[Concept]:
    return [item for item in items if isinstance(item, Concept)]


def test_a_concept_with_its_label_types_and_codes(tmp_path: Path) -> None:
    (tmp_path / "MRCONSO.RRF").write_text(
        atom("C1", "Infarct", tty="SY", code="D1")
        + best("C1", "Heart attack", tty="MH", code="D1")
        + atom("C1", "Herzinfarkt", lat="GER", sab="MSHGER", code="D1")
        + best("C3", "Fever"),
        encoding="utf-8",
    )
    (tmp_path / "MRSTY.RRF").write_text(
        "C1|T047|B2|Disease or Syndrome|AT1||\nC1|T046|B2|Pathologic Function|AT2|256|\n"
        "C2|T001|A1|Organism|AT3||\nC3|T184|A2|Sign or Symptom|AT4|256|\n"
    )
    first, second = read(tmp_path)
    assert first == Concept(
        id="C1",
        label="Heart attack",
        language="en",
        names=(
            Name(text="Infarct", scope=Scope.EXACT, name_type="SY", language="en"),
            Name(text="Herzinfarkt", scope=Scope.EXACT, name_type="ET", language="de"),
        ),
        xrefs=("MSH:D1", "MSHGER:D1"),
        semantic_types=("Disease or Syndrome", "Pathologic Function"),
        line=1,
    )
    assert isinstance(second, Concept)
    assert (second.id, second.line, second.semantic_types) == ("C3", 4, ("Sign or Symptom",))


@pytest.mark.parametrize(
    ("rows", "label"),
    [
        (atom("C1", "a") + best("C1", "b"), "b"),
        (best("C1", "a", lat="SPA") + atom("C1", "b"), "b"),  # no choice: English first
        (atom("C1", "a") + atom("C1", "b", tty="PT"), "b"),
        (atom("C1", "a", tty="PT") + best("C1", "b", tty="SY"), "b"),
        (atom("C1", "a") + atom("C1", "b", ts="P"), "b"),
        (atom("C1", "a") + atom("C1", "b"), "a"),
        (best("C1", "a", suppress="O") + atom("C1", "b"), "b"),
    ],
)
def test_which_string_is_the_label(read_back: ReadBack, rows: str, label: str) -> None:
    assert [c.label for c in _concepts(read_back("a.rrf", rows))] == [label]


def test_quotes_are_data_and_no_rows_merge(read_back: ReadBack) -> None:
    names = ['"Heart attack"', '"open', 'closed"', 'a "b" c', "'", '""', "back\\slash", "tab\there"]
    rows = "".join(best(f"C{n}", name) for n, name in enumerate(names))
    assert [c.label for c in _concepts(read_back("MRCONSO.RRF", rows))] == names


def test_choices_are_counted(read_back: ReadBack) -> None:
    rows = (
        best("C1", "a")
        + atom("C1", "b", lat="GER")
        + atom("C1", "c", sab="RXNORM")
        + atom("C1", "d", suppress="O")
        + atom("C2", "e", suppress="E")
        + best("C3", "f", lat="FRE")
        + best("C4", "g", lat="GER")
    )
    items = read_back("a.rrf", rows, languages=("ENG", "de"), vocabularies=("MSH",))
    assert [(c.id, c.label, len(c.names)) for c in _concepts(items)] == [
        ("C1", "a", 1),
        ("C4", "g", 0),
    ]
    assert all(row.skipped and row.line == 0 for row in _rows(items))
    assert [row.reason for row in _rows(items)] == [
        "2 rows are suppressed and were left out (O 1, E 1)",
        "1 rows are of vocabularies that were not chosen and were left out (RXNORM 1)",
        "2 concepts have no row that was taken",
        "1 names are not in a chosen language and were left out (fr 1)",
    ]
    with pytest.raises(SourceError, match=r"no name is in a chosen language.*fr|en"):
        read_back("b.rrf", rows, languages=("JPN",))


def test_rows_of_another_width_are_quarantined(read_back: ReadBack) -> None:
    rows = best("C1", "a") + "C1|ENG|P\n" + best("C2", "with | a bar") + "\n" + best("C3", "b")
    items = read_back("a.rrf", rows)
    assert [c.id for c in _concepts(items)] == ["C1", "C3"]
    assert [(row.line, row.reason, row.skipped) for row in _rows(items)] == [
        (2, "the row has 3 fields, not 18", False),
        (3, "the row has 19 fields, not 18", False),
        (4, "the row has 0 fields, not 18", False),
    ]


def test_cells_that_cannot_be_used(read_back: ReadBack) -> None:
    rows = best("C1", "a") + best("C2", " ") + best("", "b") + best("C3", "c\0")
    items = read_back("a.rrf", (rows + best("C4", "\xe9")).encode("latin-1"))
    assert [(row.line, row.reason) for row in _rows(items)] == [
        (2, "CUI or STR is empty"),
        (3, "CUI or STR is empty"),
        (4, "holds a NUL character"),
        (5, "holds the byte 0xE9, which the encoding cannot decode"),
    ]


def test_rows_without_the_last_bar(read_back: ReadBack) -> None:
    rows = best("C1", "a").replace("||\n", "|\n") + best("C2", "b").replace("||\n", "|256\r\n")
    assert [c.id for c in _concepts(read_back("a.rrf", rows))] == ["C1", "C2"]


@pytest.mark.parametrize("file", ["MRCONSO.RRF", "MRSTY.RRF"])
def test_rows_that_are_not_sorted_are_refused_by_their_line(tmp_path: Path, file: str) -> None:
    conso = [best("C1", "a"), best("C2", "b"), best("C3", "c")]
    sty = [f"C{n}|T047|B2|Disease|AT||\n" for n in (1, 2, 3)]
    for name, rows in (("MRCONSO.RRF", conso), ("MRSTY.RRF", sty)):
        order = [rows[0], rows[2], rows[1]] if name == file else rows
        (tmp_path / name).write_text("".join(order))
    with pytest.raises(
        SourceError, match=rf"not sorted by CUI: C2 comes after C3 .*{file}, line 3"
    ):
        list(read(tmp_path))


def test_bad_rows_of_the_types_are_named(tmp_path: Path) -> None:
    (tmp_path / "MRCONSO.RRF").write_text(best("C1", "a") + best("C2", "b"))
    (tmp_path / "MRSTY.RRF").write_text("C1|T047\nC2|T047|B2|Disease|AT||\n")
    items = list(read(tmp_path))
    assert [c.semantic_types for c in _concepts(items)] == [(), ("Disease",)]
    assert [(row.line, row.reason) for row in _rows(items)] == [
        (1, "MRSTY.RRF: the row has 2 fields, not 6")
    ]


@pytest.mark.parametrize("said", ["2", "3"])
def test_the_number_of_rows_is_checked(tmp_path: Path, said: str) -> None:
    (tmp_path / "MRCONSO.RRF").write_text(best("C1", "a") + best("C2", "b"))
    (tmp_path / "MRFILES.RRF").write_text(
        f"MRCONSO.RRF|Concepts|CUI,LAT|18|{said}|100|\nMRSTY.RRF|Types|CUI|6|9|9|\n"
    )
    if said == "2":
        assert len(list(read(tmp_path))) == 2
        return
    with pytest.raises(SourceError, match=r"the source has 2 rows, and MRFILES\.RRF says 3"):
        list(read(tmp_path))


def test_folders_of_a_release(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="folder, and not one of the UMLS"):
        read(tmp_path)
    meta = tmp_path / "META"
    meta.mkdir()
    (meta / "MRCONSO.RRF.gz").write_bytes(gzip.compress(best("C1", "a").encode()))
    (meta / "MRSTY.RRF.gz").write_bytes(gzip.compress(b"C1|T047|B2|Disease|AT||\n"))
    assert detect_format(tmp_path) == "rrf"
    (concept,) = _concepts(list(read(tmp_path)))
    assert concept.semantic_types == ("Disease",)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the source is empty"),
        ("C1|T047|B2|Disease|AT||\n" * 3, "this is not MRCONSO.RRF: none of 3 rows"),
        ("id,name\n" * 200, "this is not MRCONSO.RRF: none of 100 rows"),
        (gzip.compress(best("C1", "a").encode() * 50)[:60], "cannot be read"),
    ],
)
def test_sources_that_are_something_else(
    read_back: ReadBack, content: str | bytes, complaint: str
) -> None:
    with pytest.raises(SourceError, match=complaint):
        read_back("a.rrf", content)


_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="|"), min_size=1
).filter(str.strip)


@given(st.lists(st.tuples(st.integers(0, 9), _TEXT), min_size=1, max_size=20))
def test_every_string_comes_back_once(
    tmp_path_factory: pytest.TempPathFactory, atoms: list[tuple[int, str]]
) -> None:
    atoms.sort(key=lambda one: one[0])
    content = "".join(atom(f"C{cui}", text) for cui, text in atoms)
    path = tmp_path_factory.getbasetemp() / "generated.rrf"
    path.write_text(content, encoding="utf-8")
    expected: dict[str, list[str]] = {}
    for row in csv.reader(io.StringIO(content), delimiter="|", quoting=csv.QUOTE_NONE):
        expected.setdefault(row[0], []).append(row[14])
    found = {c.id: [c.label, *(n.text for n in c.names)] for c in _concepts(list(read(path)))}
    assert found == expected


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    def peak(concepts: int) -> int:
        path = tmp_path / f"{concepts}.rrf"
        path.write_text("".join(best(f"C{n:07d}", f"name {n}") for n in range(concepts)))
        tracemalloc.start()
        assert sum(1 for _ in read_rrf(path, ReadOptions())) == concepts
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    assert peak(8000) < peak(1000) + 100_000
