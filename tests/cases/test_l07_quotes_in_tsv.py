"""L7: quotes in a tab-separated field are part of the name, and merge no rows."""

from __future__ import annotations

from pathlib import Path

from mirror_index.readers import read
from mirror_index.records import Record

NAMES = [
    '"Heart attack"',
    '"Heart attack',
    "plain",
    'Heart attack"',
    '5" pipe',
    '""',
    '"',
    "l'autre",
]


def test_quotes_are_kept_and_every_row_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    rows = "".join(f"{n}\t{name}\t{name}\n" for n, name in enumerate(NAMES))
    path.write_text(f"id\tname\tnote\n{rows}")
    items = list(read(path))
    assert len(items) == len(NAMES)
    assert items == [
        Record(id=str(n), text=name, metadata={"note": name}, line=n + 2)
        for n, name in enumerate(NAMES)
    ]
