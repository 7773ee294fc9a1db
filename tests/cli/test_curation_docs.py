"""docs/curation.md shows what happens: its blocks are run, one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "curation.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def masked(text: str) -> str:
    """Hide what depends on the encoder: decimals and ids made from them, and how they align."""
    return re.sub(r"\s+", " ", re.sub(r"urn:uuid:[0-9a-f-]+|\d+\.\d+", "N", text)).strip()


@pytest.mark.slow
def test_the_page_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    environment.pop("MIRROR_INDEX_HOME", None)
    steps = [
        part.split("\n", 1)
        for block in blocks("console")
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    assert len(steps) >= 12
    for command, output in steps:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        assert masked(done.stdout) == masked(output), command
    monkeypatch.chdir(tmp_path)
    (python,) = blocks("python")
    exec(compile(python, "curation.md", "exec"), {})
