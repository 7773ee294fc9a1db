"""Linking whole tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from mirror_index.errors import SourceError, UsageError
from mirror_index.linking import link_table, tables
from tests.linking.conftest import Build, concept

SOURCE = 'doc\tmention\n1\tSEIZURE\n2\t\n3\t"odd\n4\tSEIZURE\n'


def test_every_row_and_column_comes_back_in_order(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_WINDOW", 3)
    source, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    source.write_text(SOURCE, encoding="utf-8")
    report = link_table(build(), source, output)
    lines = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == ["doc", "mention", *tables.ADDED]
    assert [line[:2] for line in lines[1:]] == [
        ["1", "SEIZURE"],
        ["2", ""],
        ["3", '"odd'],
        ["4", "SEIZURE"],
    ]
    assert lines[1][2:] == ["linked", "D:6", "Seizure", "0.9500", "Seizure"]
    assert lines[2][2:] == ["empty", "", "", "", ""]
    assert lines[3][2:] == ["nil", "", "", "", ""]
    assert report.rows == 4
    assert report.to_json()["statuses"] == {"linked": 2, "ambiguous": 0, "nil": 1, "empty": 1}
    assert list(tmp_path.glob("*.partial")) == []


def test_streams(build: Build) -> None:
    out = io.StringIO()
    link_table(build(), io.BytesIO(b"name\nseizure\n\n"), out, column="name")
    assert [line.split("\t")[:3] for line in out.getvalue().splitlines()] == [
        ["name", "status", "concept_id"],
        ["seizure", "linked", "D:6"],
        ["", "empty", ""],
    ]


def test_a_stream_without_rows_keeps_its_header(build: Build) -> None:
    out = io.StringIO()
    report = link_table(build(), io.BytesIO(b"mention\n"), out)
    assert out.getvalue() == "\t".join(["mention", *tables.ADDED]) + "\n"
    assert report.rows == 0


def test_csv_in_and_out(build: Build, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('mention,note\nseizure,"a, ""b""\nc"\n', encoding="utf-8")
    link_table(build(), source, output)
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[1][:4] == ["seizure", 'a, "b"\nc', "linked", "D:6"]
    with pytest.raises(UsageError, match=r"TSV cannot hold.*output line 2"):
        link_table(build(), source, tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


def test_columns_that_are_there_already_are_not_overwritten(build: Build) -> None:
    out = io.StringIO()
    link_table(build(), io.BytesIO(b"mention\tlabel\nseizure\tmine\n"), out)
    header, row = (line.split("\t") for line in out.getvalue().splitlines())
    assert header == ["mention", "label", *(f"link_{name}" for name in tables.ADDED)]
    assert row[:3] == ["seizure", "mine", "linked"]
    with pytest.raises(UsageError, match="already has a column of this name: 'link_status'"):
        link_table(build(), io.BytesIO(b"mention\tlabel\tlink_status\n"), io.StringIO())


def test_an_absent_column_is_named(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.tsv"
    source.write_text(SOURCE, encoding="utf-8")
    with pytest.raises(SourceError, match="no such column: 'name'"):
        link_table(build(), source, tmp_path / "out.tsv", column="name")
    assert not (tmp_path / "out.tsv").exists()


def test_a_name_with_a_line_break_stays_on_its_line(build: Build) -> None:
    out = io.StringIO()
    link_table(build([concept("A", "broken\n name")]), io.BytesIO(b"mention\nbroken name\n"), out)
    assert out.getvalue().splitlines()[1].split("\t")[1:4] == ["linked", "A", "broken name"]


def test_an_output_that_exists_is_refused(build: Build, tmp_path: Path) -> None:
    source, link = tmp_path / "in.tsv", tmp_path / "link.tsv"
    source.write_text(SOURCE, encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere.tsv")
    for output in (source, link):
        with pytest.raises(UsageError, match=rf"exists already: .*{output.name}.*new file"):
            link_table(build(), source, output)
    assert source.read_text(encoding="utf-8") == SOURCE
    assert link.is_symlink()
    assert not link.exists()
    assert list(tmp_path.glob("*.partial")) == []


def test_a_ragged_row_is_named_and_nothing_is_written(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_WINDOW", 1)  # earlier rows are linked by then
    source = tmp_path / "in.tsv"
    source.write_text("doc\tmention\n1\tseizure\n2\n3\tseizure\n", encoding="utf-8")
    with pytest.raises(SourceError, match=r"1 cells, .* 2 columns \(in.tsv, line 3\)"):
        link_table(build(), source, tmp_path / "out.tsv")
    assert list(tmp_path.glob("out.tsv*")) == []
