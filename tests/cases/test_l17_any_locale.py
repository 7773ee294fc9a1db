"""L17: UTF-8 in and out, whatever the locale: arguments, lines, tables, files, messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mirror_index.pipeline import build_collection
from tests.tiny import write_tiny_encoder

LOCALES = (
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)
MENTION = "Ménière disease"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("l17")
    write_tiny_encoder(folder / "encoder")
    (folder / "d.tsv").write_text(
        "concept_id\tname\nD:1\tMénière disease\nD:2\t病気\n", encoding="utf-8"
    )
    build_collection(folder / "d.tsv", folder / "c", encoder=folder / "encoder").close()
    (folder / "größe.tsv").write_text(f"größe\n{MENTION}\n", encoding="utf-8")
    return folder


def run(folder: Path, locale: dict[str, str], *arguments: str, stdin: str = "") -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-m", "mirror_index", *arguments],
        cwd=folder,
        input=stdin.encode(),
        capture_output=True,
        env={**kept, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **locale},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8")


@pytest.mark.parametrize("locale", LOCALES, ids=lambda one: "-".join(one))
def test_the_locale_does_not_matter(folder: Path, locale: dict[str, str]) -> None:
    piped = json.loads(run(folder, locale, "link", "c", "--json", stdin=f"{MENTION}\n"))
    given = json.loads(run(folder, locale, "link", "c", MENTION, "--json"))
    assert piped == given
    assert (given["mention"], given["concept_id"]) == (MENTION, "D:1")
    table = run(folder, locale, "link", "c", "-f", "größe.tsv", "--column", "größe")
    assert table.splitlines()[1].split("\t")[:3] == [MENTION, "linked", "D:1"]
    said = ("--license", "https://example.org/größe")
    mappings = run(folder, locale, "link", "c", MENTION, "--format", "sssom", *said)
    assert said[1] in mappings


def test_names_of_files_and_search(folder: Path) -> None:
    output = folder / "ausgabe-ü.tsv"
    run(folder, LOCALES[1], "link", "c", MENTION, "病気", "-o", output.name)
    lines = output.read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[2] for line in lines[1:]] == ["D:1", "D:2"]
    hit = json.loads(run(folder, LOCALES[1], "search", "c", "病気", "-k", "1", "--json"))
    assert (hit["query"], hit["text"]) == ("病気", "病気")
