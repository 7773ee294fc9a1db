"""Linking whole tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mirror_index.collection import Collection
from mirror_index.errors import SourceError, UsageError
from mirror_index.tables import link_table
from mirror_index.tables import linking as tables
from mirror_index.tables.outcomes import ADDED, added_names, answer_columns, distinct_names
from mirror_index.tables.sources import MentionList
from tests.dictionaries import DISEASES, Build, concept
from tests.fakes import HashEncoder

SOURCE = 'doc\tmention\n1\tSEIZURE\n2\t\n3\t"odd\n4\tSEIZURE\n'


def test_every_row_and_column_comes_back_in_order(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_WINDOW", 3)
    source, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    source.write_text(SOURCE, encoding="utf-8")
    report = link_table(build(), source, output)
    lines = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == ["doc", "mention", *ADDED]
    assert [line[:2] for line in lines[1:]] == [
        ["1", "SEIZURE"],
        ["2", ""],
        ["3", '"odd'],
        ["4", "SEIZURE"],
    ]
    assert lines[1][2:5] == ["linked", "D:6", "Seizure"]
    assert lines[1][6:8] == ["Seizure", "exact"]
    assert all(len(number.partition(".")[2]) == 4 for number in (lines[1][5], lines[1][8]))
    assert lines[1][9] == ""
    assert lines[2][2:] == ["empty", "", "", "", "", "", "", ""]
    assert lines[3][2:8] == ["nil", "", "", "", "", ""]
    assert report.rows == 4
    assert report.to_json()["statuses"] == {
        "linked": 2,
        "ambiguous": 0,
        "nil": 1,
        "empty": 1,
        "composite": 0,
        "error": 0,
    }
    assert list(tmp_path.glob("*.partial")) == []


def test_streams(build: Build) -> None:
    out = io.StringIO()
    link_table(build(), io.BytesIO(b"name\nseizure\n\n"), out, column="name")
    assert [line.split("\t")[:3] for line in out.getvalue().splitlines()] == [
        ["name", "status", "concept_id"],
        ["seizure", "linked", "D:6"],
        ["", "empty", ""],
    ]


def test_a_composite_mention_has_the_answers_of_its_parts(build: Build) -> None:
    out = io.StringIO()
    link_table(build(), MentionList(["seizure and cephalgia", "seizure"]), out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue()), delimiter="\t"))
    assert rows[0]["status"] == "composite"
    assert rows[0]["concept_id"] == "D:6|D:7"
    assert rows[0]["label"] == "Seizure|Headache"
    assert rows[0]["matched_name"] == "Seizure|cephalgia"
    assert rows[0]["method"] == "exact"
    part = float(rows[1]["probability"])
    assert 0 < float(rows[0]["probability"]) < part


def test_a_stream_without_rows_keeps_its_header(build: Build) -> None:
    out = io.StringIO()
    report = link_table(build(), io.BytesIO(b"mention\n"), out)
    assert out.getvalue() == "\t".join(["mention", *ADDED]) + "\n"
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
    assert header == ["mention", "label", *(f"link_{name}" for name in ADDED)]
    assert row[:3] == ["seizure", "mine", "linked"]
    again = io.StringIO()
    link_table(build(), io.BytesIO(out.getvalue().encode()), again)
    header, row = (line.split("\t") for line in again.getvalue().splitlines())
    assert header[-len(ADDED) :] == [f"link2_{name}" for name in ADDED]
    assert row[-len(ADDED)] == "linked"


def test_names_of_added_columns() -> None:
    assert added_names(["mention", "margin"])[0] == "link_status"
    assert added_names(["label", "link_label", "link3_label"])[0] == "link2_status"
    assert answer_columns(["mention", "status"]) is None
    gap = ["mention", "label", "link_label", *(f"link2_{name}" for name in ADDED)]
    assert answer_columns(gap) == [f"link2_{name}" for name in ADDED]
    old = ["mention", "status", "concept_id", "label", "probability", "matched_name"]
    assert answer_columns(old) == list(ADDED)
    assert answer_columns([*old, *(f"link_{name}" for name in ADDED)]) == [
        f"link_{name}" for name in ADDED
    ]
    assert distinct_names(["a", "b", "a", "a_2", "a"]) == ["a", "b", "a_3", "a_2", "a_4"]


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


def test_a_bad_row_keeps_its_place(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_WINDOW", 1)
    source, output = tmp_path / "in.tsv", tmp_path / "out.tsv"
    source.write_bytes(b"doc\tmention\n1\tseizure\n2\n3\tseizure\tx\ty z\n4\ts\xe9izure\n5\tfits")
    report = link_table(build(), source, output)
    lines = [line.split(b"\t") for line in output.read_bytes().split(b"\n")]
    assert [line[2] for line in lines[1:]] == [b"linked", b"error", b"error", b"error", b"linked"]
    assert {len(line) for line in lines} == {2 + len(ADDED)}
    assert lines[2][:2] == [b"2", b""]
    assert lines[2][-1] == b"the row has 1 cells, the table has 2 columns"
    assert lines[3][:2] == [b"3", b"seizure"]
    assert lines[3][-1].endswith(b'those left over are ["x", "y z"]')
    assert lines[4][:2] == [b"4", b"s\xe9izure"]
    assert lines[4][-1] == b"the mention holds the byte 0xE9, which the encoding cannot decode"
    assert (report.rows, report.errors, [bad.line for bad in report.bad]) == (5, 3, [3, 4, 5])


def test_an_unclosed_quote_costs_one_row_and_no_byte(build: Build, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('doc,mention\n1,seizure\n"2,sei\tzure\n3,fits\n', encoding="utf-8")
    report = link_table(build(), source, output)
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[2] for row in rows[1:]] == ["linked", "error", "linked"]
    assert rows[2][:2] == ["", ""]
    assert '"\\"2,sei\\tzure"' in rows[2][-1]
    assert [bad.line for bad in report.bad] == [3]


def test_empty_lines_are_kept_but_are_no_rows(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.tsv"
    source.write_bytes(b"doc\tmention\r\n\r\n1\tseizure\r\n\r\n")
    report = link_table(build(), source, tmp_path / "out.tsv")
    lines = (tmp_path / "out.tsv").read_bytes().split(b"\r\n")
    assert [bool(line) for line in lines] == [True, False, True, False, False]
    assert (report.rows, report.blank) == (1, 2)
    link_table(build(), source, tmp_path / "out.jsonl")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1


_CELL = st.text(st.sampled_from("ab\"'é, 0\u2028\x0b"), max_size=6)
_ENDS = st.sampled_from(["\n", "\r\n"])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=st.lists(st.tuples(_CELL, _CELL, _CELL, _ENDS), max_size=6),
    bom=st.booleans(),
    last=st.booleans(),
)
def test_tsv_comes_back_byte_for_byte(
    shared: Path, rows: list[tuple[str, str, str, str]], bom: bool, last: bool
) -> None:
    head = ("\ufeff" if bom else "") + "x\tmention\tx"
    body = "".join(f"{a}\t{b}\t{c}{end}" for a, b, c, end in rows)
    text = f"{head}\r\n{body}"
    text = text if last else text.rstrip("\r\n")
    given_bytes = text.encode()
    found = _linked_bytes(shared, given_bytes, "tsv")
    # Independent of the writer: cut the added cells off each line and compare bytes.
    lines = found.split(b"\n")
    kept = []
    for line in lines:
        body_, mark, _ = line.partition(b"\r") if line.endswith(b"\r") else (line, b"", b"")
        cells = body_.split(b"\t")
        kept.append(b"\t".join(cells[: -len(ADDED)] if len(cells) > 1 else cells) + mark)
    assert b"\n".join(kept) == given_bytes or not rows


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(st.tuples(_CELL, st.text('ab"\n,\r', max_size=5)), min_size=1, max_size=5))
def test_csv_comes_back_cell_for_cell(shared: Path, rows: list[tuple[str, str]]) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(["mention", "note"])
    writer.writerows(rows)
    text = buffer.getvalue()
    found = _linked_bytes(shared, text.encode(), "csv").decode()
    read = list(csv.reader(io.StringIO(found, newline="")))
    assert [tuple(row[:2]) for row in read[1:]] == rows
    assert {len(row) for row in read} == {2 + len(ADDED)}
    assert all(row[2] in ("linked", "ambiguous", "nil", "empty") for row in read[1:])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    Collection.build(folder / "c", DISEASES[5:6], encoder=HashEncoder(dim=16)).close()
    return folder


def _linked_bytes(folder: Path, content: bytes, kind: str) -> bytes:
    source, output = folder / f"in.{kind}", folder / f"out.{kind}"
    source.write_bytes(content)
    output.unlink(missing_ok=True)
    with Collection.open(folder / "c", encoder=HashEncoder(dim=16)) as collection:
        link_table(collection, source, output)
    return output.read_bytes()


def test_json_lines_keep_their_spelling(build: Build, tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    good = '{"n": 1e2, "mention" : "seizure", "deep": {"a": [1]}, "t": "\\u00e9"} '
    source.write_text(
        "\n".join(["\ufeff" + good, "", "{}", "[1]", '{"mention": 5}', '{"mention": null}']) + "\n",
        encoding="utf-8",
    )
    report = link_table(build(), source, output)
    lines = output.read_text(encoding="utf-8").split("\n")
    assert lines[0].startswith(good.rstrip()[:-1] + ", ")
    first = json.loads(lines[0])
    assert (first["status"], first["concept_id"], first["error"]) == ("linked", "D:6", None)
    assert isinstance(first["probability"], float)
    assert lines[1] == ""
    statuses = [json.loads(line)["status"] for line in lines[2:-1]]
    assert statuses == ["empty", "error", "error", "empty"]
    assert "[1]" in json.loads(lines[3])["error"]
    assert json.loads(lines[4])["mention"] == 5
    assert "not text but int" in json.loads(lines[4])["error"]
    assert (report.rows, report.errors, report.blank) == (5, 2, 1)


def test_formats_convert(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text('id,mention,id\n007,seizure,"a,b"\n,"x\ty",\n', encoding="utf-8")
    collection = build()
    link_table(collection, source, tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["id"], row["mention"], row["id_2"]) for row in rows] == [
        ("007", "seizure", "a,b"),
        ("", "x\ty", ""),
    ]
    link_table(collection, tmp_path / "out.jsonl", tmp_path / "again.parquet")
    table = pq.read_table(tmp_path / "again.parquet")
    assert table.column("id").to_pylist() == ["007", ""]
    assert table.column("link_status").to_pylist() == ["linked", "nil"]
    assert table.schema.field("link_probability").type == pa.float64()
    link_table(collection, tmp_path / "again.parquet", tmp_path / "third.csv")
    with (tmp_path / "third.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read[1]["mention"] == "x\ty"
    assert read[0]["link2_status"] == "linked"
    with pytest.raises(UsageError, match="TSV cannot hold"):
        link_table(collection, source, tmp_path / "out.tsv")


def test_parquet_keeps_types_and_metadata(build: Build, tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table(
        {
            "n": pa.array([1, None, 3], type=pa.int8()),
            "mention": ["seizure", None, "x"],
            "when": pa.array([1, 2, 3], type=pa.timestamp("ns")),
            "list": [[1], [], None],
        }
    ).replace_schema_metadata({"mine": "kept"})
    pq.write_table(table, source)
    report = link_table(build(), source, output)
    found = pq.read_table(output)
    assert found.select(table.column_names).equals(table)
    assert found.schema.metadata[b"mine"] == b"kept"
    assert found.column("status").to_pylist() == ["linked", "empty", "nil"]
    assert report.rows == 3
    with pytest.raises(UsageError, match="Parquet cannot go to a stream"):
        link_table(build(), source, io.StringIO(), output_format="parquet")
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(SourceError, match="cannot be read"):
        link_table(build(), tmp_path / "bad.parquet", tmp_path / "x.parquet")
    pq.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    assert link_table(build(), tmp_path / "none.parquet", tmp_path / "y.parquet").rows == 0
    assert pq.read_table(tmp_path / "y.parquet").num_rows == 0


def test_a_quoted_header_after_a_byte_order_mark(build: Build, tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(b'\xef\xbb\xbf"mention, raw","x"\r\n"seizure",1\r\n')
    link_table(build(), source, output, column="mention, raw")
    lines = output.read_bytes().split(b"\r\n")
    assert lines[0].startswith(b'\xef\xbb\xbf"mention, raw","x",status,')
    assert lines[1].startswith(b'"seizure",1,linked,D:6,')


def test_gzip_and_old_line_ends_are_read(build: Build, tmp_path: Path) -> None:
    packed = tmp_path / "in.tsv.gz"
    packed.write_bytes(gzip.compress(b"mention\nseizure\n"))
    assert link_table(build(), packed, tmp_path / "a.tsv").rows == 1
    (tmp_path / "old.tsv").write_bytes(b"mention\tx\rseizure\t1\rfits\t2\r")
    assert link_table(build(), tmp_path / "old.tsv", tmp_path / "b.tsv").rows == 2
    assert (tmp_path / "b.tsv").read_bytes().count(b"\r") == 3
    packed.write_bytes(gzip.compress(b"mention\n" * 9999)[:40])
    with pytest.raises(SourceError, match="cannot be read"):
        link_table(build(), packed, tmp_path / "c.tsv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the table is empty"),
        (b"\n", "the line is empty"),
        ("mention\n".encode("utf-16"), "UTF-16"),
        (b"men\x00tion\n", "NUL"),
        (b"mention\tmention\na\tb\n", "there twice"),
    ],
)
def test_tables_that_cannot_be_read(
    build: Build, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "in.tsv").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        link_table(build(), tmp_path / "in.tsv", tmp_path / "out.tsv")
    assert not list(tmp_path.glob("out*"))


def test_names_that_tell_no_format(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.tsv"
    source.write_text(SOURCE, encoding="utf-8")
    with pytest.raises(SourceError, match=r"format of the table.*\.tsv"):
        link_table(build(), source, tmp_path / "out.xlsx")
    with pytest.raises(UsageError, match="not written compressed"):
        link_table(build(), source, tmp_path / "out.tsv.gz")
    with pytest.raises(UsageError, match="folder of the output does not exist"):
        link_table(build(), source, tmp_path / "nowhere" / "out.tsv")
    with pytest.raises(UsageError, match="unknown output format: 'xml'"):
        link_table(build(), source, tmp_path / "out", output_format="xml")
    with pytest.raises(SourceError, match="is a folder"):
        link_table(build(), tmp_path, tmp_path / "out.tsv")
    with pytest.raises(SourceError, match="no such file"):
        link_table(build(), tmp_path / "none.tsv", tmp_path / "out.tsv")
    link_table(build(), source, tmp_path / "out", output_format="csv")
    assert (tmp_path / "out").read_text().startswith("doc,mention,status")
