"""S10: words that data-frame libraries take for missing values are names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirror_index.readers import read
from mirror_index.records import Record, Rejected

WORDS = ["NA", "N/A", "null", "None", "nan", "NaN", "-"]
LOOK_ALIKES = ["00601", "1e5", "true", "inf", "2020-01-01", "#N/A", "1_000"]


def _write(path: Path, rows: list[tuple[str, str]]) -> None:
    if path.suffix == ".jsonl":
        lines = [json.dumps({"id": key, "name": name}) for key, name in rows]
    else:
        separator = {".csv": ",", ".tsv": "\t"}[path.suffix]
        lines = [f"id{separator}name", *(f"{key}{separator}{name}" for key, name in rows)]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".jsonl"])
def test_names_are_kept_and_the_empty_one_is_counted(tmp_path: Path, suffix: str) -> None:
    names = [*WORDS, *LOOK_ALIKES]
    path = tmp_path / f"names{suffix}"
    _write(path, [(name, name) for name in names] + [("empty", "")])
    items = list(read(path))
    records = [item for item in items if isinstance(item, Record)]
    assert [record.text for record in records] == names
    assert [record.id for record in records] == names
    (left,) = [item for item in items if isinstance(item, Rejected)]
    assert left.skipped
    assert left.line == len(names) + (1 if suffix == ".jsonl" else 2)
