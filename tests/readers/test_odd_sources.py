"""Sources that are nearly what they should be: said to be, or read as they were meant."""

from __future__ import annotations

import bz2
import json
import lzma
import uuid
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers import read
from mirror_index.records import Concept, Record, Rejected, SourceItem

OBO = "format-version: 1.2\n\n"
TURTLE = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix x: <http://e.org/x/> .\n"


def items_of(
    folder: Path, name: str, content: str | bytes, options: ReadOptions | None = None
) -> list[SourceItem]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read(path, options or ReadOptions()))


def concepts(items: list[SourceItem]) -> list[Concept]:
    return [item for item in items if isinstance(item, Concept)]


def rejected(items: list[SourceItem]) -> list[Rejected]:
    return [item for item in items if isinstance(item, Rejected)]


@pytest.mark.parametrize("header", ["[Term]", "[term]", "[ Term ]", "[Term", "[TERM] ! comment"])
def test_the_header_of_a_term_may_be_written_otherwise(tmp_path: Path, header: str) -> None:
    text = f"{OBO}{header}\nid: X:1\nname: one\n\n[Term]\nid: X:2\nname: two\n"
    assert [one.id for one in concepts(items_of(tmp_path, "a.obo", text))] == ["X:1", "X:2"]


@pytest.mark.parametrize("header", ["[Tern]", "[a b]", "[", "[]"])
def test_a_frame_of_no_known_kind_is_told_and_spares_its_neighbours(
    tmp_path: Path, header: str
) -> None:
    text = (
        f"{OBO}[Term]\nid: X:1\nname: one\n\n{header}\nid: X:2\nname: two\n\n"
        "[Typedef]\nid: p\nname: part of\n\n[Term]\nid: X:3\nname: three\n"
    )
    items = items_of(tmp_path, "a.obo", text)
    assert [one.id for one in concepts(items)] == ["X:1", "X:3"]
    (lost,) = rejected(items)
    assert (lost.line, lost.content, lost.skipped) == (7, header, False)


def test_qualifiers_may_follow_an_identifier_at_once(tmp_path: Path) -> None:
    text = f'{OBO}[Term]\nid: X:1\nname: one\nis_a: X:2{{source="y"}} ! two\nalt_id: X:\\{{3\n'
    (one,) = concepts(items_of(tmp_path, "a.obo", text))
    assert (one.parents, one.alt_ids) == (("X:2",), ("X:{3",))


@pytest.mark.parametrize("key", ["nodes", "edges"])
def test_what_should_be_a_list_in_a_graph_is_told(tmp_path: Path, key: str) -> None:
    graph = {key: {"id": "A:1", "lbl": "lost"}, "meta": None}
    (lost,) = rejected(items_of(tmp_path, "a.json", json.dumps({"graphs": [graph]})))
    assert lost.reason == f"{key} is no list"
    assert not lost.skipped
    assert "A:1" in lost.content


def test_a_concept_without_an_iri_is_counted(tmp_path: Path) -> None:
    text = f'{TURTLE}x:1 a skos:Concept ; skos:prefLabel "one" .\n[] a skos:Concept ; '
    items = items_of(tmp_path, "a.ttl", text + 'skos:prefLabel "blank" .\n')
    assert [one.label for one in concepts(items)] == ["one"]
    (blank,) = rejected(items)
    assert (blank.content, blank.skipped) == ("blank", True)


def test_uuids_are_ids(tmp_path: Path) -> None:
    ids = [uuid.UUID(int=n) for n in (5, 6)]
    column = pa.array([one.bytes for one in ids], pa.uuid())
    pq.write_table(
        pa.table({"id": column, "text": ["a", "b"], "of": column}), tmp_path / "a.parquet"
    )
    found = list(read(tmp_path / "a.parquet"))
    assert found == [
        Record(id=str(one), text=text, metadata={"of": str(one)}, line=line)
        for line, (one, text) in enumerate(zip(ids, "ab", strict=True), 1)
    ]


def _row(cui: str, text: str, vocabulary: str) -> str:
    return f"{cui}|ENG|P|L1|PF|S1|Y|A1||||{vocabulary}|PT|D1|{text}|0|N||\n"


def test_a_vocabulary_may_be_named_in_any_case(tmp_path: Path) -> None:
    rows = _row("C1", "one", "MSH") + _row("C2", "two", "SNOMEDCT_US")
    items = items_of(tmp_path, "MRCONSO.RRF", rows, ReadOptions(vocabularies=("msh",)))
    assert [one.label for one in concepts(items)] == ["one"]
    assert all(item.skipped for item in rejected(items))


def test_a_vocabulary_that_no_row_is_of_is_refused(tmp_path: Path) -> None:
    rows = _row("C1", "one", "MSH") + _row("C2", "two", "SNOMEDCT_US")
    with pytest.raises(SourceError, match=r"no row .*'MHS'.* MSH 1, SNOMEDCT_US 1"):
        items_of(tmp_path, "MRCONSO.RRF", rows, ReadOptions(vocabularies=("MHS",)))


def test_the_separator_that_excel_notes_is_no_header(tmp_path: Path) -> None:
    (record,) = items_of(tmp_path, "a.csv", "sep=,\r\nid,text\r\n1,a\r\n")
    assert record == Record(id="1", text="a", line=3)


def _zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", "<Types/>")


@pytest.mark.parametrize(
    "name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.obo", "a.owl", "a.json", "a.rrf", "a.xlsx"]
)
def test_a_spreadsheet_is_no_text_whatever_its_name(tmp_path: Path, name: str) -> None:
    _zipped(tmp_path / name)
    with pytest.raises(SourceError, match=r"not text but a ZIP archive, as \.xlsx"):
        list(read(tmp_path / name))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n", "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(80), "Office"),
        (b"SQLite format 3\0" + bytes(80), "SQLite"),
        (bz2.compress(b"a\nb\n"), "bzip2"),
        (lzma.compress(b"a\nb\n"), "xz"),
        (b"\x28\xb5\x2f\xfd\x04\x10a", "zstd"),
    ],
)
def test_other_files_that_are_no_text_are_told(tmp_path: Path, content: bytes, kind: str) -> None:
    with pytest.raises(SourceError, match=f"not text but .*{kind}"):
        items_of(tmp_path, "a.txt", content)


def test_arrays_and_parquet_files_are_no_text(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    for name in ("a.npy", "a.parquet"):
        with pytest.raises(SourceError, match="not text but"):
            list(read(tmp_path / name, ReadOptions(format="txt")))


@pytest.mark.parametrize("text", ["PK", "PAR1", "PAR1 gene", "BZh91 road", "%PDF", "[x] is a text"])
def test_texts_that_begin_alike_are_texts(tmp_path: Path, text: str) -> None:
    (record,) = items_of(tmp_path, "a.txt", f"{text}\n")
    assert isinstance(record, Record)
    assert record.text == text


@pytest.mark.parametrize(
    ("name", "values", "flag"),
    [
        ("a.txt", {"text_column": "x"}, "--text-column"),
        ("a.txt", {"languages": ("en",)}, "--lang"),
        ("a.csv", {"vocabularies": ("MSH",)}, "--sab"),
        ("a.tsv", {"quoting": False}, "--no-quoting"),
        ("a.csv", {"sql": "select 1"}, "--sql"),
    ],
)
def test_an_option_without_a_meaning_is_named_as_it_was_given(
    tmp_path: Path, name: str, values: dict[str, Any], flag: str
) -> None:
    with pytest.raises(UsageError, match=rf"\({flag}\) means nothing for {name[2:]}"):
        items_of(tmp_path, name, "text\na\n", ReadOptions(**values))


@pytest.mark.parametrize(
    ("value", "identifier"),
    [
        ("X:1", "X:1"),
        ('X:1{a="b"} ! one', "X:1"),
        ('X:1 {a="b", c="d"}', "X:1"),
        ("X:1 ! one two", "X:1"),
        (r"X:\W1", "X: 1"),
        ("http://x.org/A 10", None),
        ("X:1 X:2", None),
        ("X:1 {a", None),
    ],
)
def test_an_identifier_is_one_word(tmp_path: Path, value: str, identifier: str | None) -> None:
    items = items_of(tmp_path, "a.obo", f"{OBO}[Term]\nid: {value}\nname: one\n")
    assert [one.id for one in concepts(items)] == ([] if identifier is None else [identifier])
    assert [row.skipped for row in rejected(items)] == ([False] if identifier is None else [])
