"""Tables: no quoting in TSV, quoting in CSV, and every bad row named."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mirror_index.errors import SourceError
from mirror_index.evaluation.tables import Table, require_columns


def write(tmp_path: Path, content: bytes, name: str = "t.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def cells(table: Table) -> list[tuple[int, list[str]]]:
    return [(row.line, list(row.cells.values())) for row in table]


def test_tsv_quotes_are_characters_and_bom_and_crlf_are_not(tmp_path: Path) -> None:
    table = Table(write(tmp_path, b'\xef\xbb\xbfa\tb\r\n"x\ty"\r\n\x0b\t\xc2\x85\r\n\r\n'))
    assert table.columns() == ["a", "b"]
    assert cells(table) == [(2, ['"x', 'y"']), (3, ["\x0b", "\x85"])]
    assert cells(table) == cells(table)


def test_csv_honours_quotes(tmp_path: Path) -> None:
    table = Table(write(tmp_path, b'a,b\n"x, ""y""\nz",2\n', "t.csv"))
    assert cells(table) == [(3, ['x, "y"\nz', "2"])]


def test_an_empty_line_of_a_one_column_table_is_a_row(tmp_path: Path) -> None:
    assert cells(Table(write(tmp_path, b"mention\na\n\nb\n"))) == [
        (2, ["a"]),
        (3, [""]),
        (4, ["b"]),
    ]


def test_a_stream_is_a_table() -> None:
    table = Table(io.BytesIO(b"a\tb\n1\t2\n"))
    assert cells(table) == [(2, ["1", "2"])]
    assert table.name == "standard input"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "t.tsv", "no header"),
        (b"\n", "t.tsv", "no header"),
        (b"a\ta\n", "t.tsv", "named twice: 'a'"),
        (b"a\tb\n1\t2\n1\n", "t.tsv", r"1 cells, the table has 2 columns \(t.tsv, line 3\)"),
        (b"a\tb\n1\t2\t3\n", "t.tsv", r"3 cells, the table has 2 columns \(t.tsv, line 2\)"),
        (b"a\tb\n\n1\t2\n", "t.tsv", r"0 cells, the table has 2 columns \(t.tsv, line 2\)"),
        (b"a\tb\nM\xe9\t2\n", "t.tsv", r"not UTF-8.*line 2"),
        (b'a,b\n"x,2\n', "t.csv", r"malformed.*line 2"),
    ],
)
def test_bad_tables_say_where(tmp_path: Path, content: bytes, name: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        cells(Table(write(tmp_path, content, name)))


def test_a_missing_file_and_a_missing_column(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read the table"):
        Table(tmp_path / "none.tsv").columns()
    with pytest.raises(SourceError, match=r"no such column: 'c'.*The table has: a, b"):
        require_columns(Table(write(tmp_path, b"a\tb\n")), ["a", "c"])
