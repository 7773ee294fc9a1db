from __future__ import annotations

import csv
import io
import string
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.errors import SourceError
from mirror_index.readers.fields import split_quoted
from mirror_index.readers.source import Line
from mirror_index.records import Record, Rejected
from tests.readers.conftest import ReadBack


def _lines(text: str) -> Iterator[Line]:
    return (Line(n, line) for n, line in enumerate(io.StringIO(text, newline="\n"), 1))


def _rows(text: str, **options: int) -> list[tuple[int, tuple[str, ...] | str]]:
    rows = split_quoted(_lines(text), ",", **options)
    return [(row.line, row.problem or row.fields) for row in rows]


def test_columns_and_metadata_stay_text(read_back: ReadBack) -> None:
    items = read_back("a.csv", "ID,Name,code,n\n007,aspirin,00601,1e5\n 8 , x y ,NA,\n")
    assert items == [
        Record(id="007", text="aspirin", metadata={"code": "00601", "n": "1e5"}, line=2),
        Record(id="8", text=" x y ", metadata={"code": "NA", "n": ""}, line=3),
    ]


def test_file_and_row_number_are_the_id_when_there_is_no_id_column(read_back: ReadBack) -> None:
    items = read_back("a.tsv", "name\tx\naspirin\t1\nbroken\n\t2\nibuprofen\t3\n")
    assert [getattr(item, "id", None) for item in items] == ["a.tsv:1", None, None, "a.tsv:4"]
    assert items[1] == Rejected(
        line=3, reason="the row has 1 fields, the header has 2", content="broken"
    )
    assert items[2] == Rejected(line=4, reason="the text is empty", content="\t2", skipped=True)


def test_a_header_without_rows_is_zero_rows(read_back: ReadBack) -> None:
    assert read_back("a.csv", "id,name\n") == []
    assert read_back("a.tsv", "id\tname") == []


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,name,name", "occurs twice"),
        ("id,a,b", "The columns are: id, a, b"),
        ("id;name", "semicolons"),
        ("id\tname", "tabs"),
        ("\n", "header line is empty"),
        ('"id,name', "never closed"),
        ("id,na\x00me", "NUL"),
    ],
)
def test_unusable_headers(read_back: ReadBack, header: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read_back("a.csv", f"{header}\n1,2,3\n")


def test_the_text_column(read_back: ReadBack) -> None:
    cases = {
        "title,text": "b",
        "sentence,LABEL": "b",
        "id,smiles": "b",
        "note,x": None,
    }
    for header, expected in cases.items():
        if expected is None:
            with pytest.raises(SourceError, match="no column can be taken as the text"):
                read_back("a.csv", f"{header}\na,b\n")
        else:
            (item,) = read_back("a.csv", f"{header}\na,b\n")
            assert isinstance(item, Record)
            assert item.text == expected
    assert read_back("a.csv", "id\nx\n") == [Record(id="a.csv:1", text="x", line=2)]


def test_named_columns(read_back: ReadBack) -> None:
    content = "id,name,smiles\n1,aspirin,CC\n"
    (item,) = read_back("a.csv", content, text_column="smiles", id_column="name")
    assert item == Record(id="aspirin", text="CC", metadata={"id": "1"}, line=2)
    (item,) = read_back("a.csv", content, text_column="name", id_column="name")
    assert item == Record(
        id="aspirin", text="aspirin", metadata={"id": "1", "smiles": "CC"}, line=2
    )
    with pytest.raises(SourceError, match=r"'Smiles'.*id, name, smiles"):
        read_back("a.csv", content, text_column="Smiles")


def test_an_unnamed_column_gets_a_name(read_back: ReadBack) -> None:
    (item,) = read_back("a.csv", ",name\n0,aspirin\n")
    assert item == Record(id="a.csv:1", text="aspirin", metadata={"column_1": "0"}, line=2)


def test_an_empty_id_is_rejected(read_back: ReadBack) -> None:
    (item,) = read_back("a.csv", "id,name\n ,aspirin\n")
    assert item == Rejected(line=2, reason="the id is empty", content=" ,aspirin")


def test_quoting_can_be_switched_off(read_back: ReadBack) -> None:
    content = 'id,name\n1,"Heart attack"\n'
    assert [i.text for i in read_back("a.csv", content)] == ["Heart attack"]  # type: ignore[union-attr]
    assert [i.text for i in read_back("a.csv", content, quoting=False)] == ['"Heart attack"']  # type: ignore[union-attr]


def test_quoted_fields() -> None:
    assert _rows('a,"b,c","d ""e""",\n"",5" pipe,"x\r\ny"\r\n') == [
        (1, ("a", "b,c", 'd "e"', "")),
        (2, ("", '5" pipe', "x\r\ny")),
    ]
    assert _rows('"a\n""\n\nb",c\nd,e') == [(1, ('a\n"\n\nb', "c")), (5, ("d", "e"))]


def test_a_quote_that_is_never_closed_costs_one_line() -> None:
    text = "a,b\n" + 'x,"open\n' + "".join(f"n{n},m\n" for n in range(50))
    rows = _rows(text)
    assert rows[1] == (2, "the quote opened on line 2 is never closed")
    assert rows[2:] == [(n + 3, (f"n{n}", "m")) for n in range(50)]
    assert _rows(text, limit=100) == rows


def test_an_open_quote_does_not_read_the_whole_source() -> None:
    lines = _lines('x,"open\n' + "n,m\n" * 1000)
    rows = split_quoted(lines, ",", limit=100)
    assert next(rows).problem == "the quote opened on line 1 is never closed"
    assert next(lines).number < 50
    assert next(rows).fields == ("n", "m")


def test_a_quote_closed_by_a_later_row_costs_one_line() -> None:
    rows = _rows('1,"open\n2,"fine"\n3,5" pipe\n4,x\n5,5" pipe\n')
    assert rows[0][0] == 1
    assert "opened on line 1" in str(rows[0][1])
    assert rows[1:] == [
        (2, ("2", "fine")),
        (3, ("3", '5" pipe')),
        (4, ("4", "x")),
        (5, ("5", '5" pipe')),
    ]


def test_the_rest_of_a_broken_row_is_not_taken_for_a_row() -> None:
    rows = _rows('1,"an "inner" quote\nsecond, line",x\n2,y\n')
    assert [line for line, _ in rows] == [1, 2, 3]
    assert "text after the closing quote" in str(rows[0][1])
    assert "after a broken row" in str(rows[1][1])
    assert rows[2] == (3, ("2", "y"))


def test_a_ragged_row_over_several_lines_says_where_it_ends(read_back: ReadBack) -> None:
    items = read_back("a.csv", 'id,name\n1,"a\nb",c\n2,d\n')
    assert isinstance(items[0], Rejected)
    assert (items[0].line, "ends on line 3" in items[0].reason) == (2, True)
    assert isinstance(items[1], Record)
    assert items[1].line == 4


_FIELD = st.text(alphabet=string.ascii_letters + ",\"\n\t é;'", max_size=8)


@given(
    rows=st.lists(st.lists(_FIELD, min_size=2, max_size=4), min_size=1, max_size=6),
    everything=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_reads_what_the_standard_library_writes(
    rows: list[list[str]], everything: bool, end: str
) -> None:
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL
    csv.writer(out, quoting=quoting, lineterminator=end).writerows(rows)
    read = [list(row.fields) for row in split_quoted(_lines(out.getvalue()), ",")]
    assert read == rows


@given(text=st.text(alphabet='ab,"\n', max_size=40))
def test_every_line_is_accounted_for(text: str) -> None:
    rows = list(split_quoted(_lines(text), ","))
    spelled = "".join(row.content + "\n" for row in rows)
    assert spelled.rstrip("\n") == text.rstrip("\n")
    assert [row.line for row in rows] == sorted({row.line for row in rows})
