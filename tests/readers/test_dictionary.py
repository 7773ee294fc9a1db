from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.readers.layout import Layout
from mirror_index.readers.rows import RowReader
from mirror_index.readers.scopes import NameKind, name_kind
from mirror_index.records import Record, Rejected, Scope, SourceItem
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


def _names(items: list[SourceItem]) -> list[tuple[str, Scope | None, str | None]]:
    return [(i.id, i.scope, i.name_type) for i in items if isinstance(i, Record)]


def test_a_further_label_is_an_exact_synonym(read_back: ReadBack) -> None:
    rows = "C,x,preferred\nC,y,preferred\nD,y,PT\nC,z,PT/old\nC,x,preferred\nC,y,exact\n"
    items = read_back("a.csv", f"concept_id,name,kind\n{rows}")
    assert _names(items) == [
        ("C", Scope.LABEL, None),
        ("C#y", Scope.EXACT, "preferred"),
        ("D", Scope.LABEL, None),
        ("C#z", Scope.EXACT, "old"),
    ]
    assert [(i.line, i.reason, i.skipped) for i in items if isinstance(i, Rejected)] == [
        (6, "the name repeats line 2", True),
        (7, "the name repeats line 3", True),
    ]


def test_a_name_that_comes_back_far_away_is_skipped(read_back: ReadBack) -> None:
    rows = "C,x,PT\nD,x,PT\nC,y,exact\nD,y,exact\nC,y,broad\nD,x,exact\n"
    items = read_back("a.csv", f"concept_id,name,kind\n{rows}")
    assert [name[0] for name in _names(items)] == ["C", "D", "C#y", "D#y"]
    assert [item.line for item in items if isinstance(item, Rejected)] == [6, 7]


def test_a_name_that_comes_back_with_a_better_scope_is_stored_again(read_back: ReadBack) -> None:
    rows = "C,x,related\nC,y,PT\nC,x,broad\nC,x,exact\nC,x,narrow\n"
    assert _names(read_back("a.csv", f"concept_id,name,kind\n{rows}")) == [
        ("C#x", Scope.RELATED, None),
        ("C", Scope.LABEL, None),
        ("C# broad#x", Scope.BROAD, None),
        ("C# exact#x", Scope.EXACT, None),
    ]


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("CD"),
            st.sampled_from(["x", "x ", "y", " exact#x", "exact#x"]),
            st.sampled_from(["preferred", "exact", "narrow", "broad", "related"]),
        ),
        max_size=14,
    )
)
def test_no_order_of_names_repeats_an_id_or_loses_a_scope(rows: list[tuple[str, str, str]]) -> None:
    reader = RowReader(Layout(text="name", concept="concept", scope="kind"), "a.csv")
    items = [
        reader.item({"concept": c, "name": n, "kind": k}, ordinal=i, line=i)
        for i, (c, n, k) in enumerate(rows, 1)
    ]
    records = [item for item in items if isinstance(item, Record)]
    assert len({record.id for record in records}) == len(records)
    labels = [record.concept_id for record in records if record.scope is Scope.LABEL]
    assert len(set(labels)) == len(labels)
    assert set(labels) == {c for c, _, k in rows if k == "preferred"}
    assert _best((r.concept_id or "", r.text, r.scope or Scope.LABEL) for r in records) == _best(
        (c, n, Scope.EXACT if k == "preferred" else Scope(k)) for c, n, k in rows
    )


def _best(names: Iterable[tuple[str, str, Scope]]) -> dict[tuple[str, str], int]:
    """Return the best rank by concept and name; a label counts as exact."""
    ranks: dict[tuple[str, str], int] = {}
    for concept, name, scope in names:
        rank = max(scope.rank, Scope.EXACT.rank)
        ranks[concept, name.strip()] = min(rank, ranks.get((concept, name.strip()), rank))
    return ranks


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
    assert item == Record(id="a.csv:1", text="x", metadata={"kind": "preferred"}, line=2)


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
