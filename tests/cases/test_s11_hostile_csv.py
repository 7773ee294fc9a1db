"""S11: a CSV with everything wrong that exports have wrong; good rows are read, bad lines named."""

from __future__ import annotations

from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.readers import read
from mirror_index.records import Record, Rejected

LONG = "x" * 200_000


def _hostile() -> bytes:
    return b"".join(
        (
            b"\xef\xbb\xbfid,name,note\r\n",  # 1: a byte order mark, and CRLF throughout
            b"a,aspirin,fine\r\n",  # 2
            b'b,"two\r\nlines",fine\r\n',  # 3 and 4
            b"c,nul\x00byte,bad\r\n",  # 5
            b"d,caf\xe9,bad\r\n",  # 6: latin-1
            b"e,too few\r\n",  # 7
            b"f,too,many,fields\r\n",  # 8
            b"g," + LONG.encode() + b",fine\r\n",  # 9
            "h,Ménière,fine\r\n".encode(),  # 10
            b"\r\n",  # 11
            b"i,,no text\r\n",  # 12
            b'j,"never closed,bad\r\n',  # 13
            b"k,ibuprofen,fine\r\n",  # 14
        )
    )


def test_good_rows_are_read_and_bad_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    path.write_bytes(_hostile())
    items = list(read(path))
    records = {item.id: item for item in items if isinstance(item, Record)}
    assert {key: record.text for key, record in records.items()} == {
        "a": "aspirin",
        "b": "two\r\nlines",
        "g": LONG,
        "h": "Ménière",
        "k": "ibuprofen",
    }
    assert [record.line for record in records.values()] == [2, 3, 9, 10, 14]
    assert {tuple(record.metadata) for record in records.values()} == {("note",)}
    bad = [item for item in items if isinstance(item, Rejected)]
    assert [(row.line, row.skipped) for row in bad] == [
        (5, False),
        (6, False),
        (7, False),
        (8, False),
        (11, True),
        (12, True),
        (13, False),
    ]
    reasons = {row.line: row.reason for row in bad}
    assert "NUL" in reasons[5]
    assert "0xE9" in reasons[6]
    assert "2 fields" in reasons[7]
    assert "4 fields" in reasons[8]
    assert "opened on line 13 is never closed" in reasons[13]


def test_the_same_lines_as_tsv(tmp_path: Path) -> None:
    path = tmp_path / "hostile.tsv"
    path.write_bytes(_hostile().replace(b",", b"\t"))
    items = list(read(path))
    # Without quoting the quoted line break makes two short rows, and the open quote is a character.
    assert [item.line for item in items if isinstance(item, Rejected)] == [3, 4, 5, 6, 7, 8, 11, 12]
    texts = [item.text for item in items if isinstance(item, Record)]
    assert texts == ["aspirin", LONG, "Ménière", '"never closed', "ibuprofen"]


def test_every_line_but_the_bad_one_survives_latin1(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_bytes(b"name\n" + b"".join(b"n%d\n" % n for n in range(100)) + b"\xe9t\xe9\n")
    assert sum(isinstance(item, Record) for item in read(path)) == 100
    items = list(read(path, ReadOptions(encoding="latin-1")))
    assert isinstance(items[-1], Record)
    assert items[-1].text == "été"
