"""What an error says stays short, whatever the source holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.errors import MirrorIndexError, SourceError
from mirror_index.readers import read


def test_value_and_remedy_are_cut_and_kept_whole_as_attributes() -> None:
    error = MirrorIndexError("it failed", value="v" * 300, where="a.tsv", remedy="r" * 10_000)
    assert str(error) == f"it failed: '{'v' * 196}... (a.tsv). {'r' * 597}..."
    assert error.value == "v" * 300
    assert error.remedy == "r" * 10_000


def test_many_columns_make_no_long_message(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("\t".join(f"column{at}" for at in range(50_000)) + "\n")
    with pytest.raises(SourceError, match=r"The columns are: column0, column1") as caught:
        list(read(tmp_path / "a.tsv"))
    assert len(str(caught.value)) < 1000
