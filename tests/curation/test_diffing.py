"""Comparing two linkings: every pairing is checked against a count by hand."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from mirror_index.curation import diff_links, read_links
from mirror_index.curation.diffing import KINDS
from mirror_index.errors import SourceError, UsageError

HEADER = "mention\tstatus\tconcept_id\tlabel\tprobability\tmatched_name\n"


def table(path: Path, *rows: str, header: str = HEADER) -> Path:
    path.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_every_kind(tmp_path: Path) -> None:
    old = table(
        tmp_path / "old.tsv",
        "same\tlinked\tA\ta\t0.9000\ta",
        "close\tlinked\tA\ta\t0.9000\ta",
        "moved\tlinked\tA\ta\t0.9000\ta",
        "concept\tlinked\tA\ta\t0.9000\ta",
        "gained\tnil\t\t\t\t",
        "lost\tlinked\tA\ta\t0.9000\ta",
        "lost too\tlinked\tA\ta\t0.9000\ta",
        "status\tambiguous\tA\ta\t0.5000\ta",
        "other\tambiguous\tA\ta\t0.5000\ta",
        "gone\tlinked\tA\ta\t0.9000\ta",
    )
    new = table(
        tmp_path / "new.tsv",
        "came\tnil\t\t\t\t",
        "other\tambiguous\tB\tb\t0.5000\tb",
        "status\tnil\t\t\t\t",
        "lost too\tambiguous\tA\ta\t0.5000\ta",
        "lost\tnil\t\t\t\t",
        "gained\tlinked\tA\ta\t0.9000\ta",
        "concept\tlinked\tB\tb\t0.9000\tb",
        "moved\tlinked\tA\ta\t0.8000\ta",
        "close\tlinked\tA\ta\t0.9010\ta",
        "same\tlinked\tA\ta\t0.9000\ta",
    )
    diff = diff_links(old, new)
    assert diff.counts == {
        "same": 2,
        "moved": 1,
        "concept": 2,
        "gained": 1,
        "lost": 2,
        "status": 1,
        "only_old": 1,
        "only_new": 1,
    }
    assert [one.mention for one in diff.changes] == [
        *("came", "other", "status", "lost too", "lost", "gained", "concept", "moved", "gone"),
    ]
    assert diff.changes[-1].to_json() == {
        "kind": "only_old",
        "key": "gone",
        "mention": "gone",
        "old": {"line": 11, "status": "linked", "concept_id": "A", "probability": 0.9},
        "new": None,
    }
    assert diff_links(old, new, tolerance=0.0).counts["moved"] == 2
    same = diff_links(new, new)
    assert not same.changed
    assert same.counts["same"] == 10


def test_repeated_mentions_are_paired_by_answer_then_by_order(tmp_path: Path) -> None:
    old = table(
        tmp_path / "old.tsv",
        "x\tlinked\tA\t\t0.9\t",
        "x\tlinked\tB\t\t0.9\t",
        "x\tnil\t\t\t\t",
        "x\tlinked\tE\t\t0.9\t",
    )
    new = table(
        tmp_path / "new.tsv",
        "x\tlinked\tC\t\t0.9\t",
        "x\tlinked\tB\t\t0.9\t",
        "x\tlinked\tA\t\t0.9\t",
    )
    diff = diff_links(old, new)
    assert Counter(diff.counts) == Counter({"same": 2, "gained": 1, "only_old": 1})
    assert diff.repeated == 1
    assert [(c.old and c.old.line, c.new and c.new.line) for c in diff.changes] == [
        (4, 2),
        (5, None),
    ]


def test_an_order_is_never_a_change(tmp_path: Path) -> None:
    rows = [
        f"m{n % 40}\t{status}\t{'C' + str(n % 3) if status == 'linked' else ''}\t\t0.5\t"
        for n, status in enumerate(["linked", "nil", "linked"] * 50)
    ]
    shuffled = list(rows)
    random.Random(5).shuffle(shuffled)
    diff = diff_links(table(tmp_path / "a.tsv", *rows), table(tmp_path / "b.tsv", *shuffled))
    assert diff.counts["same"] == len(rows)
    assert sum(diff.counts.values()) == len(rows)


def test_a_key_column_tells_rows_apart(tmp_path: Path) -> None:
    header = "id\tnote\t" + HEADER
    old = table(
        tmp_path / "old.tsv", "1\t\tx\tlinked\tA\t\t.9\t", "2\t\tx\tnil\t\t\t\t", header=header
    )
    new = table(
        tmp_path / "new.csv",
        "2,nil,,x",
        "1,nil,,x",
        header="id,status,concept_id,mention,probability\n",
    )
    with pytest.raises(SourceError, match=r"4 cells.*new.csv, line 2"):
        diff_links(old, new)
    table(
        tmp_path / "new.csv",
        "2,nil,,x,",
        "1,nil,,x,",
        header="id,status,concept_id,mention,probability\n",
    )
    assert diff_links(old, new, key="id").counts["lost"] == 1
    with pytest.raises(SourceError, match=r"'id' is not there.*mention, status"):
        diff_links(old, table(tmp_path / "x.tsv"), key="id")


def test_the_newest_answers_of_a_table_count(tmp_path: Path) -> None:
    path = table(
        tmp_path / "twice.tsv",
        "m\tnil\t\t\tlinked\tB\t0.7",
        header="mention\tstatus\tconcept_id\tprobability\tlink_status\tlink_concept_id\tlink_probability\n",
    )
    (row,) = read_links(path)
    assert (row.status, row.concept_id, row.probability) == ("linked", "B", 0.7)


def test_what_link_prints_as_json_is_read(tmp_path: Path) -> None:
    path = tmp_path / "links.jsonl"
    part = {"mention": "p", "status": "linked", "concept_id": "P"}
    rows = [
        {"mention": "m", "status": "nil", "concept_id": None, "probability": None, "parts": []},
        {"mention": "p and q", "status": "composite", "concept_id": None, "probability": None,
         "parts": [part, {**part, "concept_id": "Q"}]},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row.concept_id for row in read_links(path)] == [None, "P|Q"]
    written = table(tmp_path / "t.tsv", "p and q\tcomposite\tP|Q\t\t\t", "m\tnil\t\t\t\t")
    assert not diff_links(path, written).changed


def test_the_case_of_a_prefix_is_no_change(tmp_path: Path) -> None:
    old = table(tmp_path / "a.tsv", "m\tlinked\tMESH:D1\t\t.9\t", "n\tcomposite\tA:1|b:2\t\t.9\t")
    new = table(tmp_path / "b.tsv", "m\tlinked\tmesh:D1\t\t.9\t", "n\tcomposite\ta:1|B:2\t\t.9\t")
    assert not diff_links(old, new).changed
    other = table(tmp_path / "c.tsv", "m\tlinked\tmesh:d1\t\t.9\t", "n\tcomposite\ta:1\t\t.9\t")
    assert diff_links(old, other).counts["concept"] == 2


def test_tables_that_are_no_linkings(tmp_path: Path) -> None:
    good = table(tmp_path / "good.tsv")
    with pytest.raises(SourceError, match=r"no answers.*status, concept_id and probability"):
        diff_links(good, table(tmp_path / "bad.tsv", header="mention\tstatus\n"))
    with pytest.raises(SourceError, match=r"no number: 'high' \(p.tsv, line 2\)"):
        diff_links(good, table(tmp_path / "p.tsv", "m\tlinked\tA\t\thigh\t"))
    with pytest.raises(SourceError, match="no such file"):
        diff_links(good, tmp_path / "none.tsv")
    with pytest.raises(SourceError, match=r"no status of a link: 'wobbly' \(s.tsv, line 2\)"):
        diff_links(good, table(tmp_path / "s.tsv", "m\twobbly\tA\t\t.9\t"))
    for tolerance in (-1, float("nan")):
        with pytest.raises(UsageError, match="tolerance must be 0"):
            diff_links(good, good, tolerance=tolerance)
    assert diff_links(good, good).counts == dict.fromkeys(KINDS, 0)


def test_json_lines_of_no_mentions_are_a_linking(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").touch()
    good = table(tmp_path / "good.tsv", "m\tlinked\tA\t\t.9\t")
    assert diff_links(tmp_path / "none.jsonl", good).counts["only_new"] == 1
    assert not diff_links(tmp_path / "none.jsonl", tmp_path / "none.jsonl").changed
