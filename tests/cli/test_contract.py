"""Help, exit codes, streams: what holds for every verb."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mirror_index.cli.app import COMMANDS
from tests.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "transformers", "faiss", "onnxruntime", "sqlite_utils", "numpy", "pyarrow"}


@pytest.mark.parametrize("verb", [[], *([verb] for verb in COMMANDS)])
def test_help_loads_nothing_heavy(verb: list[str]) -> None:
    code = (
        "import sys\nfrom mirror_index.cli.app import app\n"
        f"try: app.main({[*verb, '--help']!r})\nexcept SystemExit: pass\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Usage:" in done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, mirror_index; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    import mirror_index

    for name in mirror_index.__all__:
        assert getattr(mirror_index, name).__doc__, name
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        mirror_index.nothing_of_the_kind  # noqa: B018 - the access is the test


def test_launcher_in_a_checkout() -> None:
    done = subprocess.run(
        [sys.executable, "cli.py", "--version"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.startswith("mirror-index, version ")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["no-such-verb"], 2, "No such command"),
        (["search"], 2, "Missing argument"),
        (["search", "names", "x", "-k", "0"], 2, "k must be at least 1: 0"),
        (["search", "names", "x", "-k", "9" * 20], 2, "k must be at most 1,000,000,000"),
        (["link", "names", "x", "-k", "9" * 20], 2, "k must be at most 1,000,000,000"),
        (["search", "nowhere", "x"], 1, "no such collection: 'nowhere'"),
        (["search", "names", "x", "-f", "also"], 2, "both as arguments and as a file"),
        (["search", "names", "x", "--where", "year >"], 2, "year >"),
        (["link", "tiny", "x", "-o", "out.xlsx"], 1, "name does not tell the format"),
        (["link", "tiny", "--column", "mention"], 2, "--column reads a table"),
        (["search", "names", "-f", "no-such-file"], 1, "no-such-file"),
        (["build", "no-such-file.txt", "-o", "x"], 1, "no-such-file.txt"),
        (["encode", "no-such-file.txt", "-o", "x.npy"], 1, "no-such-file.txt"),
        (["build", "names.xyz", "-o", "x"], 1, "xyz"),
        (["evaluate", "retrieval", ".", "--hybrid"], 2, "--hybrid goes with --collection"),
        (["delete", "names"], 2, "ids"),
    ],
)
def test_failures_have_a_message_and_a_status(
    run: Run, home: Path, arguments: list[str], status: int, message: str
) -> None:
    environment = {} if arguments[:1] == ["no-such-verb"] else {"MIRROR_INDEX_HOME": str(home)}
    os.environ.update(environment)
    try:
        outcome = run(*arguments)
    finally:
        os.environ.pop("MIRROR_INDEX_HOME", None)
    assert outcome.status == status
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


def test_a_closed_pipe_is_no_traceback(home: Path) -> None:
    line = f"{sys.executable} -m mirror_index search {home / 'names'} -f {home.parent / 'many.txt'}"
    (home.parent / "many.txt").write_text("bread\n" * 3000)
    done = subprocess.run(
        f"{line} --json | head -n 1", shell=True, capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_l17_utf8_whatever_the_locale(home: Path, locale: str) -> None:
    environment = {**os.environ, "LANG": locale, "LC_ALL": locale}
    done = subprocess.run(
        [sys.executable, "-m", "mirror_index", "link", str(home / "tiny"), "--json"],
        input="Ménière disease\n".encode(),
        capture_output=True,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "Ménière disease".encode() in done.stdout
