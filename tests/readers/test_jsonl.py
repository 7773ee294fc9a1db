from __future__ import annotations

import json
import math

import pytest

from mirror_index.errors import SourceError
from mirror_index.readers.cells import RowError, excerpt, plain_text, scalar_cell
from mirror_index.records import Record, Rejected
from tests.readers.conftest import ReadBack


def test_values_keep_their_json_type(read_back: ReadBack) -> None:
    values = {
        "id": 7,
        "name": "aspirin",
        "s": "1",
        "i": 1,
        "big": 2**70,
        "f": 1.5,
        "t": True,
        "n": None,
        "l": ["é", 1],
        "o": {"a": [None]},
    }
    (item,) = read_back("a.jsonl", json.dumps(values) + "\n")
    assert isinstance(item, Record)
    assert (item.id, item.text) == ("7", "aspirin")
    assert item.metadata == {
        **{name: values[name] for name in ("s", "i", "big", "f", "t", "n")},
        "l": '["é", 1]',
        "o": '{"a": [null]}',
    }
    assert item.metadata["t"] is True


def test_beir_rows_take_the_text(read_back: ReadBack) -> None:
    content = '{"_id": "4983", "title": "T", "text": "body", "metadata": {}}\n'
    assert read_back("corpus.jsonl", content) == [
        Record(id="4983", text="body", metadata={"title": "T", "metadata": "{}"}, line=1)
    ]


@pytest.mark.parametrize(
    ("line", "reason", "skipped"),
    [
        ('{"id": "b", "text": null}', "the text is empty", True),
        ('{"id": "b", "text": " "}', "the text is empty", True),
        ("", "the line is empty", True),
        ('{"id": "b", "text": 5}', "the text is not a string but a whole number", False),
        ('{"id": "b"}', "there is no field 'text'", False),
        ('{"text": "x"}', "there is no field 'id'", False),
        ('{"id": 1.5, "text": "x"}', "neither text nor a whole number but a number", False),
        ('{"id": true, "text": "x"}', "but a boolean", False),
        ('{"id": null, "text": "x"}', "the id is empty", False),
        ('{"id": "b", "text": "x"', "not JSON: Expecting", False),
        ('["b", "x"]', "not a JSON object", False),
        ('{"id": "b", "text": "x", "id": "c"}', "the field 'id' occurs twice", False),
        ('{"id": "b", "text": "x\\u0000"}', "the text holds a NUL character", False),
        ('{"id": "b", "text": "\\ud800"}', "lone surrogate U+D800", False),
        ('{"id": "b\\u0000", "text": "x"}', "the id holds a NUL", False),
        ('{"id": "b", "text": "x", "m": "\\u0000"}', "field 'm' holds a NUL", False),
        ('{"id": "b", "text": "x", "m": ["\\ud800"]}', "field 'm' holds", False),
        ('{"id": "b", "text": "x", "m\\u0000": 1}', "the name of a field holds", False),
        ("[" * 100_000, "not usable JSON", False),
        ('{"id": ' + "9" * 5000 + ', "text": "x"}', "not usable JSON", False),
    ],
)
def test_bad_lines_are_named(read_back: ReadBack, line: str, reason: str, skipped: bool) -> None:
    content = f'{{"id": "a", "text": "first"}}\n{line}\n{{"id": "c", "text": "last"}}\n'
    first, bad, last = read_back("a.jsonl", content)
    assert isinstance(first, Record)
    assert isinstance(last, Record)
    assert isinstance(bad, Rejected)
    assert (bad.line, bad.skipped) == (2, skipped)
    assert reason in bad.reason
    assert len(bad.content) <= 200


def test_a_bad_byte_costs_its_line(read_back: ReadBack) -> None:
    items = read_back("a.jsonl", b'{"text": "a"}\n{"text": "\xe9"}\n{"text": "b"}\n')
    assert [getattr(item, "text", None) for item in items] == ["a", None, "b"]
    assert [item.line for item in items] == [1, 2, 3]


def test_an_id_that_comes_late_is_refused(read_back: ReadBack) -> None:
    items = read_back("a.jsonl", '{"text": "a"}\n{"id": "x", "text": "b"}\n')
    assert isinstance(items[1], Rejected)
    assert "the first object has none" in items[1].reason


def test_no_text_field(read_back: ReadBack) -> None:
    with pytest.raises(SourceError, match="The columns are: a, b"):
        read_back("a.jsonl", '{"a": 1, "b": 2}\n')


def test_not_json_at_all(read_back: ReadBack) -> None:
    items = read_back("a.jsonl", "[\n1\n]\n")
    assert [item.line for item in items] == [1, 2, 3]
    assert all(isinstance(item, Rejected) and not item.skipped for item in items)


def test_numbers_that_json_lacks() -> None:
    assert scalar_cell("x", math.nan) is None
    assert scalar_cell("x", math.inf) == "Infinity"
    assert scalar_cell("x", -math.inf) == "-Infinity"
    assert scalar_cell("x", b"\x00\xff") == "00ff"
    with pytest.raises(RowError):
        scalar_cell("x", "\x00")
    assert plain_text(1 + 2j) == "(1+2j)"


def test_excerpts_can_be_stored() -> None:
    shown = excerpt("\x00\udce9\ud800" * 200)
    assert shown.startswith("\\x00\\xe9\\ud800")
    assert len(shown) == 200
    shown.encode()
