"""L7: quotes in a field of RRF are part of the string, merge no rows, and the rows are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.records import Concept

NAMES = ['"Heart attack"', '"Heart attack', "plain", 'Heart attack"', '5" pipe', '""', '"', "'x'"]


def _write(folder: Path, rows: int) -> None:
    (folder / "MRCONSO.RRF").write_text(
        "".join(
            f"C{n}|ENG|P|L{n}|PF|S{n}|Y|A{n}||||MSH|MH|D{n}|{name}|0|N|256|\n"
            for n, name in enumerate(NAMES)
        )
    )
    (folder / "MRFILES.RRF").write_text(f"MRCONSO.RRF|Names|CUI|18|{rows}|1000|\n")


def test_quotes_are_kept_and_every_row_is_one_name(tmp_path: Path) -> None:
    _write(tmp_path, len(NAMES))
    concepts = list(read(tmp_path))
    assert [(c.label, c.line) for c in concepts if isinstance(c, Concept)] == [
        (name, n) for n, name in enumerate(NAMES, 1)
    ]


def test_a_release_with_another_number_of_rows_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, len(NAMES) + 1)
    with pytest.raises(SourceError, match=r"the source has 8 rows, and MRFILES\.RRF says 9"):
        list(read(tmp_path / "MRCONSO.RRF"))
