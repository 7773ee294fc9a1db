"""From a file of texts to a searchable collection: rate, overhead beyond encoding, memory, disk."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import data
from benchmarks.harness import (
    ProcessRun,
    Spread,
    interleave,
    program,
    run_process,
    say,
    seconds_of,
    threads,
    workspace,
)
from benchmarks.report import Cell, Column, Result, Table

HPO_OPTIONS = ("--concept-column", "concept_id", "--text-column", "name", "--scope-column", "kind")
WORDNET_OPTIONS = ("--text-column", "name")
QUICK_ROWS = 1000

_COLUMNS = (
    Column(name="rows", spec=",d"),
    Column(name="distinct texts", spec=",d"),
    Column(name="build s", spec=".2f"),
    Column(name="texts/s to searchable", spec=",.0f"),
    Column(name="encoding alone s", spec=".2f"),
    Column(name="overhead %", spec=".1f"),
    Column(name="lowest", spec=".1f"),
    Column(name="highest", spec=".1f"),
    Column(name="peak MB", spec=",.0f"),
)
_DISK = (
    Column(name="part"),
    Column(name="MB", spec=",.1f"),
    Column(name="bytes a row", spec=",.0f"),
)
_PROFILE = (
    Column(name="stage"),
    Column(name="calls", spec=",d"),
    Column(name="s", spec=".3f"),
    Column(name="CPU s", spec=".3f"),
    Column(name="% of the whole", spec=".1f"),
)
_NOTE = (
    "Build is the whole process `mirror-index build`, from its start to its end, default encoder "
    "and settings. Encoding alone is the same encoder over the same distinct texts, loaded and "
    "warm, in the process of the benchmark; the two are run in turns, and overhead is what the "
    "build takes beyond it, in percent of it: the median over the pairs, with the ends. Peak "
    "memory is the largest resident set of any build."
)


def run_hpo(quick: bool) -> Result:
    """Measure the build of the HPO dictionary, linking calibration included."""
    return _run("the HPO dictionary", data.HPO, HPO_OPTIONS, quick, pairs=3)


def run_sentences(quick: bool) -> Result:
    """Measure the build of the sentences of SciFact's abstracts."""
    return _run("the sentences of SciFact", data.SENTENCES, (), quick, pairs=1)


def run_wordnet(quick: bool) -> Result:
    """Measure the build of the names of WordNet with their metadata."""
    return _run("the names of WordNet 3.0", data.WORDNET, WORDNET_OPTIONS, quick, pairs=1)


def _run(what: str, name: str, options: Sequence[str], quick: bool, *, pairs: int) -> Result:
    from mirror_index.collection import Collection

    pairs = 1 if quick else pairs
    with workspace() as folder:
        source = data.first_lines(name, QUICK_ROWS, folder) if quick else data.find(name)
        encode = _encoding_alone(source, options)
        builds: list[ProcessRun] = []

        def build() -> float:
            say(f"  build {len(builds) + 1} of {pairs}")
            shutil.rmtree(folder / "built", ignore_errors=True)  # else its vectors are used again
            builds.append(run_process(_command(source, folder / "built", options)))
            return builds[-1].seconds

        measured = interleave(encode, build, pairs)
        with Collection.open(folder / "built") as collection:
            info = collection.info()
        change = json.loads(builds[0].stdout)
    return Result(
        title=f"building a collection of {what}",
        tables=(
            Table(
                title="Time and memory",
                columns=_COLUMNS,
                rows=[_row(measured.first, builds, measured.ratio, change)],
            ),
            Table(title=_index_of(info), columns=_DISK, rows=_disk(info)),
        ),
        note=_NOTE,
        settings={"threads": threads(), "pairs": pairs, "options": " ".join(options)},
    )


def _command(source: Path, target: Path, options: Sequence[str]) -> list[str | Path]:
    running = ["--device", "cpu", "--threads", str(threads()), "--json"]
    return [program(), "build", source, "-o", target, *options, *running]


def _encoding_alone(source: Path, options: Sequence[str]) -> Any:  # noqa: ANN401 - () -> seconds
    from mirror_index.config import EncoderConfig, ReadOptions
    from mirror_index.encoding import load_encoder
    from mirror_index.readers import read

    columns = {
        name.removeprefix("--").replace("-", "_"): value
        for name, value in zip(options[::2], options[1::2], strict=True)
    }
    texts = data.texts(read(source, ReadOptions(**columns)))  # type: ignore[arg-type]
    encoder = load_encoder(None, EncoderConfig(device="cpu", threads=threads()))
    encoder.encode(texts[:256])
    return lambda: seconds_of(lambda: encoder.encode(texts))


def _row(
    encoding: Sequence[float], builds: Sequence[ProcessRun], ratio: Spread, change: dict[str, Any]
) -> list[Cell]:
    seconds = Spread.of([build.seconds for build in builds]).median
    texts = change["texts_encoded"] + change["texts_reused"]
    return [
        change["records"],
        texts,
        seconds,
        texts / seconds,
        Spread.of(encoding).median,
        *(100 * (value - 1) for value in (ratio.median, ratio.low, ratio.high)),
        max(build.peak_bytes for build in builds) / 1e6,
    ]


def _index_of(info: dict[str, Any]) -> str:
    index = info["index"]
    recall = index.get("recall_at_10")
    measured = "" if recall is None else f", measured recall@10 {recall:.3f}"
    return f"On disk (index: {index['kind']}{measured})"


def _disk(info: dict[str, Any]) -> list[list[Cell]]:
    rows = max(1, info["records"])
    return [[part, size / 1e6, size / rows] for part, size in info["bytes"].items()]


class _Profile(NamedTuple):
    whole: ProcessRun
    stages: dict[str, dict[str, float]]
    """Calls, seconds and cpu_seconds by stage."""


def run_profile(quick: bool) -> Result:
    """Say where the time of building the HPO collection goes."""
    runs = 1 if quick else 3
    with workspace() as folder:
        source = data.first_lines(data.HPO, QUICK_ROWS, folder) if quick else data.find(data.HPO)
        profiles = [_profile(source, folder / f"built-{place}") for place in range(runs)]
    profile = sorted(profiles, key=lambda found: found.whole.seconds)[runs // 2]
    whole = profile.whole
    rows: list[list[Cell]] = [
        [name, stage["calls"], stage["seconds"], stage["cpu_seconds"]]
        for name, stage in profile.stages.items()
    ]
    rows.append(["whole process", None, whole.seconds, whole.cpu_seconds])
    for row in rows:
        row.append(100 * float(row[2] or 0) / whole.seconds)
    return Result(
        title="where the time of a build goes (HPO dictionary)",
        tables=(Table(title="Stages, each without the others in it", columns=_PROFILE, rows=rows),),
        note=(
            "One instrumented build in a fresh process; of several, the one with the median time. "
            "A stage counts only what no other stage within it counts; CPU time is that of all "
            "threads. The rest is what belongs to no stage."
        ),
        settings={"threads": threads(), "runs": runs},
    )


def _profile(source: Path, target: Path) -> _Profile:
    say("  instrumented build")
    module = [sys.executable, "-m", "benchmarks.profiled_build"]
    done = run_process([*module, source, target, str(threads())])
    report = json.loads(done.stdout.splitlines()[-1])
    stages: dict[str, dict[str, float]] = report["stages"]
    stages["end of the process"] = {
        "calls": 1,
        "seconds": done.ended - report["ended"]["wall"],
        "cpu_seconds": done.cpu_seconds - report["ended"]["cpu"],
    }
    counted = {
        key: sum(stage[key] for stage in stages.values()) for key in ("seconds", "cpu_seconds")
    }
    stages["rest"] = {
        "calls": 1,
        "seconds": done.seconds - counted["seconds"],
        "cpu_seconds": done.cpu_seconds - counted["cpu_seconds"],
    }
    return _Profile(done, stages)
