"""L18 in tables: whatever a mention holds, its row comes back in its place with a status."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mirror_index.collection import Collection
from mirror_index.curation import diff_links
from mirror_index.linking import link
from mirror_index.records import Concept
from mirror_index.tables import link_table
from mirror_index.tables.sources import MentionList
from tests.fakes import HashEncoder

MENTIONS = [
    "\n",
    "",
    "!!!",
    "seizure",
    "\u200b",
    " \t ",
    "\r\n",
    "\u0301",
    "\U0001f9e0",
    "seizure\x00",
    "\u202eeruzies",
    "=1+1",
    '"',
    '""',
    "'",
    "#",
    "null",
    "NA",
    "a" * 10_000,
    "seizure " * 2_000,
    "\u2028",
    "seizure",
]
EMPTY = {"\n", "", "!!!", "\u200b", " \t ", "\r\n", '"', '""', "'", "#", "\u2028", "\U0001f9e0"}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_status_each_in_order(tmp_path: Path, ending: str) -> None:
    items = [Concept(id="S:1", label="seizure"), Concept(id="S:2", label="headache")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        expected = [answer.status.value for answer in link(collection, MENTIONS)]
        output = tmp_path / f"out.{ending}"
        report = link_table(collection, MentionList(MENTIONS), output)
        again = tmp_path / f"again.{ending}"
        link_table(collection, output, again)
    if ending == "parquet":
        table = pq.read_table(output)
        found = list(
            zip(*(table.column(c).to_pylist() for c in ("mention", "status")), strict=True)
        )
    elif ending == "jsonl":
        rows = [json.loads(line) for line in output.read_text("utf-8").split("\n")[:-1]]
        found = [(row["mention"], row["status"]) for row in rows]
    else:
        with output.open(encoding="utf-8", newline="") as file:
            found = [(row["mention"], row["status"]) for row in csv.DictReader(file)]
    assert [mention for mention, _ in found] == MENTIONS
    for (mention, status), wanted in zip(found, expected, strict=True):
        assert status == wanted, mention
        assert (status == "empty") == (mention in EMPTY) or mention == "\u0301", mention
    assert (report.rows, report.errors) == (len(MENTIONS), 0)
    assert not diff_links(output, again).changed


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet"])
def test_half_of_a_surrogate_pair_in_any_cell(tmp_path: Path, ending: str) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / f"out.{ending}"
    lines = ['{"mention":"\\ud800"}', '{"mention":"seizure","x\\ud800":"y\\udfff"}']
    source.write_text("\n".join(lines) + "\n")
    items = [Concept(id="C:1", label="seizure")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        report = link_table(collection, source, output)
    assert (report.statuses["error"], report.statuses["linked"]) == (1, 1)
    if ending == "parquet":
        names = pq.read_table(output).column_names
        second = {name: str(value) for name, value in pq.read_table(output).to_pylist()[1].items()}
        assert names[:2] == ["mention", "x\\ud800"]
    else:
        text = output.read_text(encoding="utf-8")
        assert "x\\ud800" in text
        second = {"x\\ud800": "y\\udfff"} if "y\\udfff" in text else {}
    assert second["x\\ud800"] == "y\\udfff"
