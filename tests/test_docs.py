"""The documentation is run: what README shows is what happens, and every command is described."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mirror_index.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Step:
    command: str
    output: str


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def steps_of(block: str) -> list[Step]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [Step(*part.split("\n", 1)) for part in parts]


def masked(text: str) -> str:
    """Hide what differs between machines: decimals, and the white space that aligns them."""
    return re.sub(r"\s+", " ", re.sub(r"\d+\.\d+", "N", text)).strip()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


@pytest.mark.slow
def test_console_blocks_print_what_they_show(place: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    environment.pop("MIRROR_INDEX_HOME", None)
    steps = [step for block in blocks("console") for step in steps_of(block)]
    assert len(steps) >= 5
    for step in steps:
        done = subprocess.run(
            step.command, shell=True, cwd=place, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{step.command}\n{done.stderr}"
        assert masked(done.stdout) == masked(step.output), step.command


@pytest.mark.slow
def test_python_blocks_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each assert in a block is the expectation; they go on from where the console blocks ended."""
    monkeypatch.chdir(place)
    python = blocks("python")
    assert python
    for block in python:
        exec(compile(block, "README.md", "exec"), {})


def test_every_command_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "cli-reference.md").read_text(encoding="utf-8")
    for verb in COMMANDS:
        assert f"## mirror-index {verb}\n" in text


def test_links_between_documents_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_no_command_in_the_demo_is_unknown() -> None:
    script = (ROOT / "docs" / "demo.sh").read_text(encoding="utf-8")
    verbs = [shlex.split(line)[1] for line in script.splitlines() if line.startswith("run ")]
    assert verbs
    assert set(verbs) <= set(COMMANDS)
