from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.readers.scopes import NameKind, name_kind
from mirror_index.records import Record, Rejected, Scope
from tests.readers.conftest import ReadBack


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("preferred", NameKind(Scope.LABEL)),
        ("Preferred Term", NameKind(Scope.LABEL)),
        ("PT", NameKind(Scope.LABEL)),
        ("pref", NameKind(Scope.LABEL)),
        ("label", NameKind(Scope.LABEL)),
        ("exact", NameKind(Scope.EXACT)),
        ("synonym", NameKind(Scope.EXACT)),
        ("exact/layperson", NameKind(Scope.EXACT, "layperson")),
        ("narrow/ ", NameKind(Scope.NARROW)),
        (" BROAD ", NameKind(Scope.BROAD)),
        ("related/layperson", NameKind(Scope.RELATED, "layperson")),
        ("brand name", NameKind(Scope.RELATED, "brand name")),
        ("", NameKind(Scope.RELATED)),
    ],
)
def test_name_kinds(word: str, expected: NameKind) -> None:
    assert name_kind(word) == expected


def test_rows_become_names_of_concepts(read_back: ReadBack) -> None:
    content = (
        "concept_id\talt_ids\tname\tkind\n"
        "C:1\tC:9\tHeart  attack\tpreferred\n"
        "C:1\tC:9\tCardiac  infarct\texact/layperson\n"
        "C:1\tC:9\tHeart attack\tsynonym\n"
        "\t\torphan\tpreferred\n"
        "C:2\t\tHeart attack\tpreferred\n"
    )
    alt = {"alt_ids": "C:9"}
    assert read_back("a.tsv", content) == [
        Record(
            id="C:1",
            text="Heart  attack",
            metadata=alt,
            line=2,
            concept_id="C:1",
            scope=Scope.LABEL,
        ),
        Record(
            id="C:1#Cardiac infarct",
            text="Cardiac  infarct",
            metadata=alt,
            line=3,
            concept_id="C:1",
            scope=Scope.EXACT,
            name_type="layperson",
        ),
        Rejected(
            line=4,
            reason="the name repeats line 2",
            content="C:1\tC:9\tHeart attack\tsynonym",
            skipped=True,
        ),
        Rejected(line=5, reason="the concept id is empty", content="\t\torphan\tpreferred"),
        Record(
            id="C:2",
            text="Heart attack",
            metadata={"alt_ids": ""},
            line=6,
            concept_id="C:2",
            scope=Scope.LABEL,
        ),
    ]


def test_a_label_after_the_same_synonym_is_kept(read_back: ReadBack) -> None:
    items = read_back("a.csv", "concept_id,name,kind\nC,x,synonym\nC,x,label\n")
    assert [(i.id, i.scope) for i in items] == [("C#x", Scope.EXACT), ("C", Scope.LABEL)]  # type: ignore[union-attr]


def test_a_synonym_given_twice_is_skipped(read_back: ReadBack) -> None:
    items = read_back(
        "a.csv", "concept_id,name,kind\nC,x,exact\nC, x,exact\nC,x,broad\nD,x,exact\n"
    )
    assert [type(item) for item in items] == [Record, Rejected, Rejected, Record]
    assert [item.skipped for item in items if isinstance(item, Rejected)] == [True, True]


def test_an_id_column_gives_the_ids(read_back: ReadBack) -> None:
    content = "id,cui,term,scope\n1,C,x,PT\n2,C,x,SY\n"
    items = read_back("a.csv", content, concept_column="cui", text_column="term")
    assert [(i.id, i.concept_id, i.scope) for i in items] == [  # type: ignore[union-attr]
        ("1", "C", Scope.LABEL),
        ("2", "C", Scope.EXACT),
    ]


def test_without_a_scope_column_the_first_name_is_the_label(read_back: ReadBack) -> None:
    items = read_back("a.csv", "concept_id,name\nC,x\nC,y\nD,x\nC,z\n")
    assert [(i.id, i.scope) for i in items] == [  # type: ignore[union-attr]
        ("C", Scope.LABEL),
        ("C#y", Scope.EXACT),
        ("D", Scope.LABEL),
        ("C#z", Scope.EXACT),
    ]


def test_kind_is_metadata_where_there_are_no_concepts(read_back: ReadBack) -> None:
    (item,) = read_back("a.csv", "name,kind\nx,preferred\n")
    assert item == Record(id="1", text="x", metadata={"kind": "preferred"}, line=2)


def test_a_scope_column_needs_a_concept_column(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="needs a concept column"):
        read_back("a.csv", "name,kind\nx,preferred\n", scope_column="kind")


def test_scope_may_be_null_or_a_number(read_back: ReadBack) -> None:
    content = (
        '{"concept_id": 7, "name": "x", "kind": null}\n{"concept_id": 7, "name": "y", "kind": 3}\n'
    )
    items = read_back("a.jsonl", content)
    assert [(i.id, i.scope, i.name_type) for i in items] == [  # type: ignore[union-attr]
        ("7#x", Scope.RELATED, None),
        ("7#y", Scope.RELATED, "3"),
    ]


@pytest.mark.parametrize(
    ("name", "rows", "concepts"),
    [("dict_hpo2025.tsv", 42_542, 19_034), ("dict_medic2012.tsv", 76_237, 11_915)],
)
def test_real_dictionaries(shared_data: Path, name: str, rows: int, concepts: int) -> None:
    items = list(read(shared_data / "linking" / name, ReadOptions()))
    assert len(items) == rows
    records = [item for item in items if isinstance(item, Record)]
    assert all(isinstance(i, Record) or (isinstance(i, Rejected) and i.skipped) for i in items)
    assert len({record.id for record in records}) == len(records)
    assert Counter(record.scope for record in records)[Scope.LABEL] == concepts
