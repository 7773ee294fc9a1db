"""Tables that line up, values that become JSON, bars only on terminals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum

import pytest

from mirror_index.cli.output import BarReporter, plain, print_fields, print_json, print_table


class Colour(str, Enum):
    RED = "red"


@dataclass
class Box:
    colour: Colour
    sizes: tuple[float, ...]


def test_plain_values() -> None:
    value = {"box": Box(Colour.RED, (1.23456789, 2.0)), 3: None}
    assert plain(value) == {"box": {"colour": "red", "sizes": [1.234568, 2.0]}, "3": None}


def test_metadata_is_not_rounded() -> None:
    value = {"score": 0.12345678, "metadata": {"price": 1.2345e-07}}
    assert plain(value) == {"score": 0.123457, "metadata": {"price": 1.2345e-07}}


def test_json_is_one_line_of_utf8(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": "Ménière\n疾病"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "Ménière" in out
    assert json.loads(out) == {"text": "Ménière\n疾病"}


def test_table_lines_up_with_wide_and_odd_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["id", "text", "n"], [["a", "疾病", 1], ["bc", "x\x1b[31m\ty", 12], [None, "é", 3]])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "id  text       n",
        "a   疾病       1",
        "bc  x [31m y  12",
        "-   é          3",
    ]


def test_long_cells_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["t"], [["x" * 200]])
    assert capsys.readouterr().out.splitlines()[1] == "x" * 79 + "…"


def test_fields_nest(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields({"name": "a", "size": {"rows": 2, "none": None}, "list": [1, 2], "empty": []})
    assert capsys.readouterr().out.splitlines() == [
        "name   a",
        "size:",
        "  rows  2",
        "  none  -",
        "list   1, 2",
        "empty  -",
    ]


def test_bars_are_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = BarReporter()
    with reporter.stage("encode", 10) as advance:
        advance(10)
    reporter.note("said")
    captured = capsys.readouterr()
    assert captured.err == "said\n"
    assert captured.out == ""
