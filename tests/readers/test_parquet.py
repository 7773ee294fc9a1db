from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers import parquet, read
from mirror_index.records import Record, Rejected
from tests.readers.conftest import ReadBack


def test_values_keep_their_type(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "name": pa.array(["aspirin", None], pa.string()),
            "f": pa.array([math.nan, 1.5]),
            "b": pa.array([True, None]),
            "cat": pa.array(["x", "y"]).dictionary_encode(),
            "when": pa.array([1, 2], pa.timestamp("ns")),
            "day": pa.array([dt.date(2020, 1, 2)] * 2),
            "tags": pa.array([["a"], []], pa.list_(pa.string())),
            "raw": pa.array([b"\x00\xff", b""]),
            "price": pa.array([Decimal("1.50")] * 2),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    first, second = read(path)
    assert first == Record(
        id="1",
        text="aspirin",
        line=1,
        metadata={
            "f": None,
            "b": True,
            "cat": "x",
            "when": "1970-01-01 00:00:00.000000001",
            "day": "2020-01-02",
            "tags": '["a"]',
            "raw": "00ff",
            "price": "1.50",
        },
    )
    assert isinstance(second, Rejected)
    assert (second.line, second.skipped, second.reason) == (2, True, "the text is empty")
    assert '"id": 2' in second.content


def test_batches_and_row_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    texts = [f"name {n}" for n in range(40)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"label": texts}), path)
    assert list(read(path)) == [
        Record(id=f"a.parquet:{n}", text=text, line=n) for n, text in enumerate(texts, 1)
    ]


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    assert list(read(path)) == []


def test_text_that_is_no_string(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"code": [601]}), path)
    (item,) = read(path, ReadOptions(text_column="code"))
    assert isinstance(item, Rejected)
    assert "whole number" in item.reason


def test_not_parquet(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        read_back("a.parquet", "this is a text")
