"""The faults of `benchmarks/faults.py` in short: each is noticed, and nothing is lost."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import faults
from mirror_index.collection import Collection
from mirror_index.records import Record
from tests.collection.oracle import names
from tests.fakes import HashEncoder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_every_damaged_file_and_table_is_named_or_harmless() -> None:
    rows = faults.outcomes("files", 1)
    for row in rows:
        assert row["outcome"] in ("named", "harmless"), row
        assert row["repair"] in ("nothing to do", "repaired", "left, named", "refused, named"), row
    short = [row for row in rows if row["fault"] == "a table one row short"]
    assert len({row["target"] for row in short}) >= 13
    assert {row["outcome"] for row in short} == {"named"}
    mended = Counter(row["target"] for row in rows if row["repair"] == "repaired")
    assert {"ann/*", "vectors/*", "segments", "names", "migrations", "undo"} <= mended.keys()


def test_a_bad_disk_is_stated_and_the_change_goes_through_later() -> None:
    rows = faults.outcomes("disks", 2)
    for row in rows:
        assert row["outcome"] in ("done", "stated"), row
    stated = {row["fault"] for row in rows if row["outcome"] == "stated"}
    assert {"no space left", "files may not grow", "a read-only folder"} <= stated


def test_readers_beside_a_writer_see_whole_states_and_two_writers_take_turns() -> None:
    read, written = faults.outcomes("crowds", 20, 3)
    assert (read["crashes"], read["mixes"], read["problems"]) == ([], 0, 0)
    assert read["reads"] > 20
    assert read["states seen"] > 3
    assert (written["crashes"], written["lost"], written["problems"]) == ([], 0, 0)
    assert written["named the other"] == written["refused"] == written["waited"]


def test_a_reader_that_never_leaves_does_not_hold_up_a_writer(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    items = [Record(id="d", text="kidney failure", concept_id="C:1"), *names(5)]
    with Collection.build(tmp_path / "c", items, encoder=encoder) as collection:
        reading = collection.iter_names()
        next(reading)
        started = time.monotonic()
        collection.add(names(3, start=90))
        assert time.monotonic() - started < 10.0  # it was the 30 seconds that SQLite waits
        assert list(reading) == []


def test_the_tables_count_every_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    kill = {"verb": "add", "committed": False, "pending": 3, "encoded": 2, "expected": 2}
    given = {
        "kills": [{**kill, "problems": []}, {**kill, "pending": 0, "expected": 1, "problems": [1]}],
        "files": [
            {"fault": "f", "target": "t", "outcome": "named", "repair": "LOST", "search": "x"},
            {"fault": "f", "target": "t", "outcome": "crash", "repair": "", "search": "answered"},
        ],
        "disks": [{"fault": "d", "outcome": "done"}, {"fault": "d", "outcome": "CRASH"}],
        "crowds": [{"fault": "c", "reads": 9, "crashes": ["a", "b"], "problems": 0}],
    }
    monkeypatch.setattr(faults, "outcomes", lambda kind, *sizes: given[kind])
    kills, damage, disks, crowds = faults.run(quick=True).tables
    assert kills.rows == [["add", 2, 0, 1, 1, 1, 1], ["all", 2, 0, 1, 1, 1, 1]]
    assert damage.rows[0] == ["f: t", 2, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1]
    assert disks.rows[0] == ["d", 2, 1, 0, 1]
    assert crowds.rows == [["c", 9, None, None, None, 2, None, None, 0]]
