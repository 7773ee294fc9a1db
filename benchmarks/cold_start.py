"""Wall time of one command from the shell, in a fresh process each time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import data
from benchmarks.harness import Spread, program, run_process, say, threads, workspace
from benchmarks.report import Cell, Column, Result, Table

IMPORTS = 'python -c "import torch, transformers"'
_COLUMNS = (
    Column(name="command"),
    Column(name="median s", spec=".3f"),
    Column(name="min s", spec=".3f"),
    Column(name="max s", spec=".3f"),
    Column(name="share of importing torch and transformers", spec=".2f"),
    Column(name="peak MB", spec=".0f"),
)


def run(quick: bool) -> Result:
    """Measure cold starts over a collection of the HPO names."""
    runs = 3 if quick else 15
    with workspace() as folder:
        source = data.first_lines(data.HPO, 1000, folder) if quick else data.find(data.HPO)
        collection = folder / "hpo"
        say("  building the collection")
        run_process([program(), "build", source, "-o", collection, "--device", "cpu"])
        rows = _measure(_commands(collection), runs)
    return Result(
        title="one answer from the shell",
        tables=(
            Table(title="Fresh processes, files in the page cache", columns=_COLUMNS, rows=rows),
        ),
        note=(
            "The commands are run in turns; the share is the median over rounds, each against the "
            "import of the same round. The collection holds the names of the HPO"
            + (" (the first 1,000)." if quick else ".")
        ),
        settings={"threads": threads(), "runs": runs},
    )


def _commands(collection: Path) -> dict[str, Sequence[str | Path]]:
    text = "drooping of the upper eyelid"
    return {
        f'mirror-index search hpo "{text}" -k 5': [
            program(),
            "search",
            collection,
            text,
            "-k",
            "5",
        ],
        f'mirror-index link hpo "{text}"': [program(), "link", collection, text],
        "mirror-index --help": [program(), "--help"],
        IMPORTS: [sys.executable, "-c", "import torch, transformers"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }


def _measure(commands: dict[str, Sequence[str | Path]], runs: int) -> list[list[Cell]]:
    for command in commands.values():
        run_process(command)  # fills the page cache
    seconds: dict[str, list[float]] = {label: [] for label in commands}
    peaks: dict[str, int] = dict.fromkeys(commands, 0)
    for _ in range(runs):
        for label, command in commands.items():
            done = run_process(command)
            seconds[label].append(done.seconds)
            peaks[label] = max(peaks[label], done.peak_bytes)
    rows: list[list[Cell]] = []
    for label, values in seconds.items():
        spread = Spread.of(values)
        shares = [own / whole for own, whole in zip(values, seconds[IMPORTS], strict=True)]
        rows.append(
            [
                label,
                spread.median,
                spread.low,
                spread.high,
                Spread.of(shares).median,
                peaks[label] / 1e6,
            ]
        )
    return rows
