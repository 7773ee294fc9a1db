"""What every benchmark needs: facts about the machine, timing, measured processes, kept steps."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "benchmarks" / "out"
THREADS = 2
"""Cores and threads that every measurement gets, its peers too."""

_DISTRIBUTIONS = (
    "torch",
    "transformers",
    "sentence-transformers",
    "tokenizers",
    "onnxruntime",
    "faiss-gpu",
    "faiss-cpu",
    "numpy",
    "sqlite-utils",
)
_CPU_FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8")


class UnavailableError(Exception):
    """A benchmark cannot run here: its data or a peer is absent. It is skipped, not failed."""


def say(message: str) -> None:
    """Print a line about progress, apart from the results."""
    print(message, file=sys.stderr, flush=True)


def threads() -> int:
    """Return the number of threads of a measurement: `THREADS`, or what the machine has."""
    return min(THREADS, len(_cores()))


def limit_cores() -> None:
    """Keep this process and those it starts on `THREADS` cores, so that all pools agree."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(_cores()[:THREADS]))
    os.environ["OMP_NUM_THREADS"] = str(threads())
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def environment() -> dict[str, str]:
    """Return what a reader needs to judge a measurement: date, machine, versions, threads."""
    model, flags = _processor()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "CPU": model,
        "CPU flags": " ".join(flags) or "none of " + " ".join(_CPU_FLAGS),
        "cores": str(os.cpu_count() or 1),
        "memory": f"{memory:.1f} GiB",
        "OS": platform.platform(),
        "Python": platform.python_version(),
        **_versions(),
        "threads": str(threads()),
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def _processor() -> tuple[str, list[str]]:
    """Return the model name and those of `_CPU_FLAGS` that it has."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor() or platform.machine(), []
    fields: dict[str, str] = {}
    for line in info.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    present = set(fields.get("flags", "").split())
    model = fields.get("model name") or platform.machine()
    return model, [flag for flag in _CPU_FLAGS if flag in present]


def _versions() -> dict[str, str]:
    found = {}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def code_digest() -> str:
    """Return a SHA-256 over the library's source and the versions of what it runs on.

    By it, kept steps know that they are stale.
    """
    digest = hashlib.sha256(json.dumps(_versions()).encode())
    for path in sorted((ROOT / "mirror_index").rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kept(name: str, quick: bool, compute: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value of a long step: computed now, or kept since the code last changed.

    An interrupted benchmark so goes on where it stopped. `forget_kept` drops everything.
    """
    path = OUT / "steps" / f"{name}{'.quick' if quick else ''}.json"
    if path.is_file():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["code"] == code_digest():
            say(f"  {name}: kept from {stored['date']}")
            return stored["value"]
    say(f"  {name} ...")
    started = time.perf_counter()
    value = compute()
    document = {
        "code": code_digest(),
        "date": environment()["date"],
        "seconds": round(time.perf_counter() - started, 1),
        "value": value,
    }
    write_json(path, document)
    return value


def forget_kept() -> None:
    """Remove all kept steps."""
    shutil.rmtree(OUT / "steps", ignore_errors=True)


def write_json(path: Path, document: Any) -> None:  # noqa: ANN401 - JSON
    """Write a JSON file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".writing")
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(path)


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield an empty folder on the disk of the checkout; it is removed afterwards."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="work-", dir=OUT) as folder:
        yield Path(folder)


def seconds_of(function: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and ends of repeated measurements."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise `values`, at least one."""
        return cls(median=statistics.median(values), low=min(values), high=max(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Seconds of two ways to do one thing, in turns (A B A B): a slow spell hits both."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def ratio(self) -> Spread:
        """How many times as long the second took, pair by pair."""
        return Spread.of([b / a for a, b in zip(self.first, self.second, strict=True)])


def interleave(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Pairs:
    """Call two functions that return their seconds in turns."""
    measured = [(first(), second()) for _ in range(pairs)]
    return Pairs(first=tuple(a for a, _ in measured), second=tuple(b for _, b in measured))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRun:
    """A finished process.

    Attributes:
        seconds: wall time from before its start to after its end.
        cpu_seconds: of all its threads.
        peak_bytes: largest resident set.
        ended: when it had ended, on the monotonic clock.
        stdout: what it printed.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    ended: float
    stdout: str


def run_process(command: Sequence[str | Path]) -> ProcessRun:
    """Run a command in a fresh process and measure it.

    Raises:
        RuntimeError: the command failed; its errors are quoted.
    """
    launcher = [sys.executable, "-I", "-S", str(ROOT / "benchmarks" / "launch.py")]
    with workspace() as folder:
        report = folder / "process.json"
        done = subprocess.run(
            [*launcher, str(report), *map(str, command)], cwd=ROOT, capture_output=True, text=True
        )
        values = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
    if done.returncode or values.get("status") != 0:
        raise RuntimeError(
            f"exit status {values.get('status')} of {' '.join(map(str, command))}\n"
            f"{done.stderr[-2000:]}"
        )
    return ProcessRun(
        seconds=values["ended"] - values["started"],
        cpu_seconds=values["cpu_seconds"],
        peak_bytes=values["peak_bytes"],
        ended=values["ended"],
        stdout=done.stdout,
    )


def program() -> Path:
    """Return the installed command line of the interpreter that runs the benchmarks.

    Raises:
        UnavailableError: it is not installed.
    """
    path = Path(sys.executable).with_name("mirror-index")
    if not path.is_file():
        raise UnavailableError(f"{path} is not there: `make setup` installs it")
    return path
