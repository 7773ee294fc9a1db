from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers import read
from mirror_index.records import Record, Rejected
from tests.readers.conftest import ReadBack


def _texts(items: list[object]) -> list[str]:
    return [item.text for item in items if isinstance(item, Record)]


def test_text_lines_are_numbered(read_back: ReadBack) -> None:
    assert read_back("a.txt", "aspirin\r\n\n  \nibuprofen") == [
        Record(id="a.txt:1", text="aspirin", line=1),
        Rejected(line=2, reason="the text is empty", content="", skipped=True),
        Rejected(line=3, reason="the text is empty", content="  ", skipped=True),
        Record(id="a.txt:4", text="ibuprofen", line=4),
    ]


def test_an_empty_text_file_is_zero_rows(read_back: ReadBack) -> None:
    assert read_back("a.txt", "") == []
    assert read_back("b.txt", "\ufeff") == []


def test_only_line_ends_end_a_line(read_back: ReadBack) -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f"
    assert _texts(read_back("a.txt", f"{text}\nnext\n")) == [text, "next"]
    assert _texts(read_back("b.txt", "a\rb\r\nc\n")) == ["a\rb", "c"]


def test_old_mac_line_ends(read_back: ReadBack) -> None:
    assert _texts(read_back("a.csv", "name\raspirin\ribuprofen\r")) == ["aspirin", "ibuprofen"]


def test_a_bad_byte_costs_its_line(read_back: ReadBack) -> None:
    items = read_back("a.txt", b"one\ncaf\xe9 au lait\nNUL\x00\nM\xc3\xa9ni\xc3\xa8re\n")
    assert _texts(items) == ["one", "Ménière"]
    assert [(i.line, i.content, i.skipped) for i in items if isinstance(i, Rejected)] == [
        (2, "caf\\xe9 au lait", False),
        (3, "NUL\\x00", False),
    ]
    assert "0xE9" in items[1].reason  # type: ignore[union-attr]


def test_encodings(read_back: ReadBack) -> None:
    text = "Ménière\nnaïve\n"
    for encoding in ("latin-1", "utf-16", "utf-8-sig", "cp1252"):
        items = read_back("a.txt", text.encode(encoding), encoding=encoding)
        assert _texts(items) == ["Ménière", "naïve"]
    with pytest.raises(UsageError, match="utf-99"):
        read_back("a.txt", text, encoding="utf-99")
    with pytest.raises(UsageError, match="rot13"):
        read_back("a.txt", text, encoding="rot13")


def test_utf16_is_not_taken_for_utf8(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="encoding utf-16"):
        read_back("a.txt", "Ménière".encode("utf-16"))


def test_a_lone_utf16_surrogate_costs_its_line(read_back: ReadBack) -> None:
    content = "one\n".encode("utf-16-le") + b"\x41\xdc" + "\ntwo\n".encode("utf-16-le")
    items = read_back("a.txt", content, encoding="utf-16-le")
    assert _texts(items) == ["one", "two"]
    assert items[1].line == 2


def test_gzip_is_recognised_by_content(read_back: ReadBack) -> None:
    packed = gzip.compress(b"name\naspirin\n")
    assert _texts(read_back("a.csv.gz", packed)) == ["aspirin"]
    assert _texts(read_back("a.csv", packed)) == ["aspirin"]
    assert _texts(read_back("plain.csv.gz", "name\naspirin\n")) == ["aspirin"]
    assert read_back("empty.txt.gz", gzip.compress(b"")) == []


@pytest.mark.parametrize("keep", [5, 40_000])
def test_a_broken_gzip_is_an_error_not_an_end(read_back: ReadBack, keep: int) -> None:
    content = b"".join(b"%d %s\n" % (n, os.urandom(9).hex().encode()) for n in range(8000))
    with pytest.raises(SourceError, match="cannot be read"):
        read_back("a.txt.gz", gzip.compress(content)[:keep])


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO(b"id,name\nx,aspirin\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(raw)))  # type: ignore[arg-type]
    items = list(read("-", ReadOptions(format="csv")))
    assert items == [Record(id="x", text="aspirin", line=2)]
    assert not raw.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n")))
    assert [item.id for item in read("-")] == ["stdin:1"]  # type: ignore[union-attr]


def test_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "names.txt"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("aspirin\n",))
    writer.start()
    assert list(read(pipe)) == [Record(id="names.txt:1", text="aspirin", line=1)]
    writer.join()


def test_a_file_name_that_is_not_utf8_makes_storable_ids(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9 1.txt")
    path.write_text("aspirin\n")
    assert list(read(path)) == [Record(id="caf\\xe9 1.txt:1", text="aspirin", line=1)]


def test_an_unreadable_file_is_an_error(
    read_back: ReadBack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(io, "FileIO", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        read_back("a.txt", "aspirin\n")
