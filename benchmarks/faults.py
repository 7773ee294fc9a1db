"""What faults lead to: kills, damaged files and tables, full and read-only disks, crowds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.harness import ROOT, UnavailableError, say, workspace
from benchmarks.report import Cell, Column, Result, Table

KILLS, PLACES, SIZES, COMMITS, READERS = 200, 12, 12, 200, 8
QUICK_KILLS, QUICK_PLACES, QUICK_SIZES, QUICK_COMMITS, QUICK_READERS = 27, 1, 2, 20, 3

_NOTE = (
    "Every fault is made in processes of its own, on collections of some dozens of texts (exact, "
    "HNSW, IVF with product codes; float32 and float16) with a hash function for an encoder. After "
    "each, all records and the scores of searches are compared with a dictionary and brute force. "
    "Kills: SIGKILL at a random moment; stopped means that the change was not committed, and was "
    "then made again. Damage: a random bit of every file that is not zero, every file cut to "
    "nothing, to half and by one byte, and missing, every table one row short; harmless means that "
    "every row of every table is as before. Disks: the operation at which space ends, each in "
    "turn; a limit to the size of files; a file system of its own; a folder without permissions. "
    "Readers search all the time while records that change together are changed: an answer with "
    "two states in it would be a mix."
)


def run(quick: bool) -> Result:
    """Make every fault and count what it led to.

    Raises:
        UnavailableError: the system has no `fork`.
    """
    if not hasattr(os, "fork"):
        raise UnavailableError("the faults need fork and SIGKILL")
    sizes = (
        (QUICK_KILLS, QUICK_PLACES, QUICK_SIZES, QUICK_COMMITS, QUICK_READERS)
        if quick
        else (KILLS, PLACES, SIZES, COMMITS, READERS)
    )
    kills, places, files, commits, readers = sizes
    return Result(
        title="faults and what they lead to",
        tables=(
            _kills(outcomes("kills", kills)),
            _damage(outcomes("files", places)),
            _disks(outcomes("disks", files)),
            _crowds(outcomes("crowds", commits, readers)),
        ),
        note=_NOTE,
        settings={"kills": kills, "bits a file": places, "commits": commits, "readers": readers},
    )


def outcomes(kind: str, *sizes: int) -> list[dict[str, Any]]:
    """Run one kind of fault in a process of its own, and return what each fault led to.

    Raises:
        RuntimeError: something was lost or not as it must be; the process says what.
    """
    say(f"  {kind} ...")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with workspace() as folder:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.fault_{kind}", str(folder), *map(str, sizes)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"faults of kind {kind}: {done.stdout[-500:]}\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _kills(rows: Sequence[dict[str, Any]]) -> Table:
    counted: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counted[row["verb"], "kills"] += 1
        stopped = "stopped, vectors kept" if row["pending"] else "stopped"
        counted[row["verb"], "committed" if row["committed"] else stopped] += 1
        counted[row["verb"], "encoded twice"] += row["encoded"] != row["expected"]
        counted[row["verb"], "problems after"] += bool(row["problems"])
    columns = (
        *("kills", "committed", "stopped", "stopped, vectors kept"),
        *("encoded twice", "problems after"),
    )
    verbs = list(dict.fromkeys(row["verb"] for row in rows))
    return _table("kill -9", "verb", columns, verbs, counted)


def _damage(rows: Sequence[dict[str, Any]]) -> Table:
    counted: Counter[tuple[str, str]] = Counter()
    for row in rows:
        name = f"{row['fault']}: {row['target']}"
        counted[name, "faults"] += 1
        counted[name, row["outcome"]] += 1
        counted[name, row["repair"]] += 1
        counted[name, "searches answered"] += row["search"] == "answered"
        counted[name, "searches refused"] += row["search"].startswith("refused")
    columns = (
        *("faults", "named", "harmless", "silent", "crash", "searches answered"),
        *("searches refused", "repaired", "left, named", "refused, named", "LOST"),
    )
    names = sorted({name for name, _ in counted})
    return _table("damage", "fault", columns, list(names), counted)


def _disks(rows: Sequence[dict[str, Any]]) -> Table:
    counted: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counted[row["fault"], "faults"] += 1
        outcome = row["outcome"] if row["outcome"] in ("done", "stated") else "other"
        counted[row["fault"], outcome] += 1
    columns = ("faults", "done", "stated", "other")
    names = dict.fromkeys(row["fault"] for row in rows)
    return _table("disks", "fault", columns, list(names), counted)


def _crowds(rows: Sequence[dict[str, Any]]) -> Table:
    columns = ("reads", "states seen", "refused", "waited", "crashes", "mixes", "lost", "problems")
    shown = [[row["fault"], *(_number(row.get(name)) for name in columns)] for row in rows]
    return Table(title="crowds", columns=_columns("who", columns), rows=shown)


def _number(value: object) -> Cell:
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int) else None


def _table(
    title: str,
    first: str,
    columns: Sequence[str],
    names: Iterable[str],
    counted: Counter[tuple[str, str]],
) -> Table:
    rows: list[list[Cell]] = [
        [name, *(counted[name, column] for column in columns)] for name in names
    ]
    total = [sum(counted[name, column] for name in names) for column in columns]
    return Table(title=title, columns=_columns(first, columns), rows=[*rows, ["all", *total]])


def _columns(first: str, names: Iterable[str]) -> tuple[Column, ...]:
    return (Column(name=first), *(Column(name=name, spec=",d") for name in names))
