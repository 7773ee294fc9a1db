"""Running the command line in this process, and two collections made with a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tiny import write_tiny_encoder


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]

ONTOLOGY = """format-version: 1.2
ontology: tiny

[Term]
id: T:1
name: Myocardial infarction
synonym: "Heart attack" EXACT layperson []
synonym: "MI" EXACT abbreviation []

[Term]
id: T:2
name: Ptosis
synonym: "Droopy eyelid" EXACT layperson []
alt_id: T:22

[Term]
id: T:3
name: obsolete Blepharoptosis
is_obsolete: true
replaced_by: T:2

[Term]
id: T:4
name: Fever
synonym: "Pyrexia" EXACT []
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    from mirror_index.cli import main

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["mirror-index", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny encoder and two sources."""
    folder = tmp_path_factory.mktemp("cli")
    write_tiny_encoder(folder / "encoder")
    names = ["heart attack", "cardiac arrest", "banana bread", "", "NA", "rye bread"]
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    (folder / "tiny.obo").write_text(ONTOLOGY)
    return folder


@pytest.fixture(scope="session")
def home(workshop: Path) -> Path:
    """A home with the collections `names` and `tiny`, built once a run."""
    from mirror_index.pipeline import build_collection

    home = workshop / "home"
    for name, source in (("names", "names.txt"), ("tiny", "tiny.obo")):
        build_collection(workshop / source, home / name, encoder=workshop / "encoder").close()
    return home
