"""`mirror-index annotate` as a process sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mirror_index.cli.annotate import command
from mirror_index.collection import Collection
from mirror_index.errors import CollectionError, SourceError, UsageError
from mirror_index.records import Concept
from tests.fakes import HashEncoder


@pytest.fixture
def dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    items = [Concept(id="S:1", label="Seizure"), Concept(id="S:2", label="Focal", parents=("S:1",))]
    Collection.build(tmp_path / "c", items, encoder=HashEncoder()).close()
    monkeypatch.setattr("mirror_index.encoding.load_encoder", lambda *a, **k: HashEncoder())
    return tmp_path / "c"


def run(*args: object, given: bytes | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(
        command, list(map(str, args)), input=given, standalone_mode=False, catch_exceptions=False
    )
    return int(result.return_value or 0), result.stdout, result.stderr


def test_standard_input_is_the_default(dictionary: Path) -> None:
    status, out, err = run(dictionary, given="Ménière, seizure".encode())
    assert status == 0
    (line,) = [json.loads(line) for line in out.splitlines()]
    assert (line["document"], line["start"], line["mention"]) == ("stdin", 9, "seizure")
    assert err == "1 documents, 1 mentions (1 exact)\n"
    assert run(dictionary, "-", given=b"seizure")[1].startswith('{"document": "stdin"')


def test_files_options_and_an_output(dictionary: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Focal seizures", encoding="utf-8")
    (tmp_path / "b.txt").write_text("nothing", encoding="utf-8")
    output = tmp_path / "out.txt"
    status, out, err = run(
        dictionary, tmp_path / "a.txt", tmp_path / "b.txt", "-o", output, "--format", "pubtator",
        "--under", "S:1", "--nested", "--min-probability", "0.7",
    )  # fmt: skip
    assert (status, out) == (0, "")
    assert err == "2 documents, 2 mentions (1 exact, 1 variant)\n"
    assert output.read_text(encoding="utf-8") == (
        "a.txt|t|Focal seizures\na.txt|a|\na.txt\t0\t5\tFocal\tConcept\tS:2\n"
        "a.txt\t6\t14\tseizures\tConcept\tS:1\n\nb.txt|t|nothing\nb.txt|a|\n\n"
    )


def test_a_document_that_cannot_be_read(dictionary: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff")
    (tmp_path / "b.txt").write_bytes(b"seizure")
    status, out, err = run(dictionary, tmp_path / "a.txt", tmp_path / "b.txt")
    assert status == 3
    assert len(out.splitlines()) == 1
    assert "Not read: a.txt, line 1: byte 0 is not UTF-8" in err


def test_refusals(dictionary: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read the document"):
        run(dictionary, tmp_path / "none.txt")
    with pytest.raises(CollectionError, match="no such collection"):
        run(tmp_path / "nothing", given=b"")
    with pytest.raises(UsageError, match="no such concept"):
        run(dictionary, "--under", "X:1", given=b"seizure")
    with pytest.raises(UsageError, match="min_probability"):
        run(dictionary, "--min-probability", "7", given=b"seizure")
