"""Standard input, output and error that are closed, or cannot hold what is printed."""

from __future__ import annotations

import codecs
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mirror_index.cli.streams import any_text


def shell(redirection: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line under a redirection of the shell."""
    command = shlex.join([sys.executable, "-m", "mirror_index", *map(str, arguments)])
    return subprocess.run(["sh", "-c", f"{command} {redirection}"], capture_output=True, text=True)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_the_null_device(home: Path, closed: str) -> None:
    for arguments in (["search"], ["link"]):
        done = shell(closed, arguments[0], home / "tiny", *arguments[1:])
        assert (done.returncode, done.stderr) == (0, "")
    done = shell(closed, "search", "nowhere", "x")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no such collection") or "2>&-" in closed


def test_a_closed_stream_is_no_file_of_the_collection(workshop: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    encoder = workshop / "encoder"
    done = shell("<&- >&- 2>&-", "build", workshop / "names.txt", "-o", built, "--encoder", encoder)
    assert done.returncode == 0
    done = shell("", "verify", built)
    assert (done.returncode, done.stdout) == (0, "0 problems in 7 checks\n")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"fever\rpyrexia\nptosis\r\n", ["fever\rpyrexia", "ptosis"]),
        (b"fever\rptosis\r", ["fever", "ptosis"]),
        (b"\xef\xbb\xbffever\x0bptosis\xc2\x85x\n\n", ["fever\vptosis\x85x", ""]),
        (b"", []),
    ],
)
def test_a_file_and_standard_input_have_the_same_lines(
    home: Path, tmp_path: Path, content: bytes, lines: list[str]
) -> None:
    file = tmp_path / "mentions"
    file.write_bytes(content)
    for redirection in (f"-f {shlex.quote(str(file))}", f"< {shlex.quote(str(file))}"):
        done = shell(redirection, "link", home / "tiny", "--json")
        assert done.returncode == 0
        answers = done.stdout.split("\n")[:-1]
        assert [json.loads(line)["mention"] for line in answers] == lines


def test_half_a_surrogate_pair_is_printed_as_json_spells_it(tmp_path: Path) -> None:
    for name, mention in (("old", "a\ud800b"), ("new", "a")):
        row = {"mention": mention, "status": "nil", "concept_id": None, "probability": 0.5}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    files = (tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    changes = json.loads(shell("", "diff", *files, "--json").stdout)["changes"]
    assert {change["mention"] for change in changes} == {"a", "a\ud800b"}
    assert shell("", "diff", *files).returncode == 0


def test_bytes_that_are_no_text_are_printed_as_they_came() -> None:
    handler = "test.any_text"
    codecs.register_error(handler, any_text)
    assert "caf\udce9 \ud800\udce9".encode("utf-8", handler) == b"caf\xe9 \\ud800\xe9"
    assert b"caf\xe9".decode("utf-8", handler) == "caf\udce9"
