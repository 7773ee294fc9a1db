"""Files of queries and mentions that are packed, empty or no text."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def collection(home: Path) -> Path:
    return home / "tiny"


@pytest.mark.parametrize("verb", ["search", "link"])
def test_a_packed_file_is_unpacked(run: Run, collection: Path, tmp_path: Path, verb: str) -> None:
    file = tmp_path / "texts.gz"
    file.write_bytes(gzip.compress(b"Ptosis\r\nHeart attack\r\n"))
    plain = run(verb, collection, "Ptosis", "Heart attack", "--json")
    packed = run(verb, collection, "-f", file, "--json")
    assert (packed.status, packed.json) == (0, plain.json)


@pytest.mark.parametrize("verb", ["search", "link"])
def test_a_spreadsheet_is_no_list_of_lines(
    run: Run, collection: Path, tmp_path: Path, verb: str
) -> None:
    file = tmp_path / "texts.xlsx"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("sheet.xml", "<x/>")
    for options in ([], ["--column", "m"]) if verb == "link" else ([],):
        done = run(verb, collection, "-f", file, *options)
        assert done.status == 1
        assert "ZIP archive" in done.err or ".xlsx" in done.err
    assert run(verb, collection, "-f", tmp_path).status == 1
    assert "no such file" in run(verb, collection, "-f", tmp_path / "none").err


def test_a_table_of_no_lines_is_empty(run: Run, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    done = run("link", collection, "-f", tmp_path / "none.jsonl", "--column", "m")
    assert done.status == 1
    assert "the table is empty" in done.err


def test_standard_output_is_a_dash_where_it_can_be(
    run: Run, collection: Path, workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("Ptosis and a heart attack")
    plain = run("annotate", collection, "text.txt")
    dashed = run("annotate", collection, "text.txt", "-o", "-")
    assert dashed.status == 0
    assert (len(dashed.json), dashed.out) == (2, plain.out)
    for verb in ("encode", "tune"):
        done = run(verb, "text.txt", "--encoder", workshop / "encoder", "-o", "-")
        assert done.status == 2
        assert "not written to standard output" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_home_may_begin_with_a_tilde(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home.parent))
    plain = run("list", "--home", home, "--json")
    assert run("list", f"--home=~/{home.name}", "--json").json == plain.json != []
    monkeypatch.setenv("MIRROR_INDEX_HOME", f"~/{home.name}")
    assert run("search", "tiny", "Ptosis").status == 0
    assert run("list", "--home", "~nobody-of-this-name/x").status == 0


def test_a_path_that_begins_with_a_dot_is_no_name(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("./tiny", "../tiny"):
        done = run("search", name, "Ptosis", "--home", home)
        assert done.status == 1
        assert "no such collection" in done.err
    monkeypatch.chdir(home)
    assert run("search", "./tiny", "Ptosis", "--home", tmp_path).status == 0
