"""Measure one engine; run in a process of its own by `vector_engines`, which reads what it prints.

Its arguments are the name of the engine, the folder with the vectors, an empty folder, and the
seconds after which it stops building if it has a limit.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.engines import Engine, Ids, Matrix, Search
from benchmarks.peers import ENGINES

K = 10
RECALLS = (0.95, 0.99)
SINGLE, BATCH, ADDED = 300, 1000, 1000
TURNS = 7
FILTERS = {"1%": 1, "10%": 10}


def main() -> None:
    name, data, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if len(sys.argv) > 4:
        signal.alarm(int(sys.argv[4]))  # ends the process, also within a call of a library
    base = np.load(data / "base.npy", mmap_mode="r")
    queries = np.load(data / "queries.npy")
    truth = {key: np.load(data / f"truth-{key}.npy") for key in ("all", *FILTERS)}
    engine = ENGINES[name](folder, base.shape[1])
    figures = built(engine, base)
    signal.alarm(0)
    settings = sweep(engine, queries, truth["all"])
    figures |= searched(engine, queries, truth, settings)
    figures |= added(engine, np.load(data / "added.npy"), len(base), queries, settings)
    print(json.dumps(figures))


def built(engine: Engine, base: Matrix) -> dict[str, Any]:
    """Build the index; return what that took."""
    started = time.perf_counter()
    engine.build(np.asarray(base))
    return {"build_s": time.perf_counter() - started, "bytes": _size(engine.folder)}


def searched(
    engine: Engine,
    queries: Matrix,
    truth: Mapping[str, Ids],
    settings: Mapping[float, Reached | None],
) -> dict[str, Any]:
    """Return the times of searches, of the same ones of the index alone, and filtered."""
    figures: dict[str, Any] = {}
    figures["at"] = {
        way: {str(goal): _timed(search, queries, at) for goal, at in settings.items()}
        for way, search in engine.ways().items()
    }
    figures["alone"] = {str(goal): _ratios(engine, queries, at) for goal, at in settings.items()}
    if engine.filters:
        setting = next((at.setting for at in settings.values() if at), 0)
        figures["filtered"] = {
            way: {
                key: _filtered(search, queries, truth[key], setting, below)
                for key, below in FILTERS.items()
            }
            for way, search in engine.ways().items()
        }
    return figures


def added(
    engine: Engine,
    more: Matrix,
    first: int,
    queries: Matrix,
    settings: Mapping[float, Reached | None],
) -> dict[str, Any]:
    """Return the time of an add, and of searches after it."""
    started = time.perf_counter()
    engine.add(more, first)
    seconds = time.perf_counter() - started
    after = {
        way: _timed(search, queries, settings[RECALLS[0]]) for way, search in engine.ways().items()
    }
    return {"add_s": seconds, "after_add": after}


class Reached(NamedTuple):
    """The least setting that reaches a recall, and the recall it reaches."""

    setting: int
    recall: float


def recall(found: Ids, truth: Ids) -> float:
    """Return the mean share of the true rows found."""
    shares = [
        len(set(one.tolist()) & set(true.tolist())) / len(true)
        for one, true in zip(found, truth, strict=True)
    ]
    return float(np.mean(shares))


def sweep(engine: Engine, queries: Matrix, truth: Ids) -> dict[float, Reached | None]:
    """Return the least setting that reaches each recall, None where none does."""
    reached: dict[float, Reached | None] = dict.fromkeys(RECALLS)
    for setting in engine.settings():
        got = recall(engine.search(queries, K, setting, None), truth)
        for goal in RECALLS:
            if reached[goal] is None and got >= goal:
                reached[goal] = Reached(setting, got)
        if got >= RECALLS[-1]:
            break
    return reached


def _timed(search: Search, queries: Matrix, at: Reached | None) -> dict[str, float] | None:
    if at is None:
        return None
    search(queries[:SINGLE], K, at.setting, None)  # what is loaded and mapped is there
    times = _singles(search, queries, at.setting, None)
    batches = [_batch(search, queries, at.setting) for _ in range(3)]
    return {
        **at._asdict(),
        "qps": 1 / float(np.mean(times)),
        "p99_ms": float(np.quantile(times, 0.99)) * 1000,
        "batch_qps": BATCH / min(batches),
    }


def _singles(search: Search, queries: Matrix, setting: int, below: int | None) -> list[float]:
    times = []
    for row in range(min(SINGLE, len(queries))):
        started = time.perf_counter()
        search(queries[row : row + 1], K, setting, below)
        times.append(time.perf_counter() - started)
    return times


def _batch(search: Search, queries: Matrix, setting: int) -> float:
    many = np.resize(queries, (BATCH, queries.shape[1]))
    started = time.perf_counter()
    search(many, K, setting, None)
    return time.perf_counter() - started


def _ratios(engine: Engine, queries: Matrix, at: Reached | None) -> dict[str, float] | None:
    """Return how many times as long each way takes as the index within, in turns."""
    alone = engine.alone()
    if at is None or alone is None:
        return None
    found: dict[str, list[float]] = {}
    for _ in range(TURNS):
        bare = sum(_singles(alone, queries, at.setting, None))
        bare_batch = _batch(alone, queries, at.setting)
        for way, search in engine.ways().items():
            single = sum(_singles(search, queries, at.setting, None))
            found.setdefault(f"single{way}", []).append(single / bare)
            batch = _batch(search, queries, at.setting)
            found.setdefault(f"batch{way}", []).append(batch / bare_batch)
    return {key: float(np.median(values)) for key, values in found.items()}


def _filtered(
    search: Search, queries: Matrix, truth: Ids, setting: int, below: int
) -> dict[str, float]:
    few = queries[:SINGLE]
    found = search(few, K, setting, below)
    seconds = sum(_singles(search, few[: SINGLE // 3], setting, below))
    return {"recall": recall(found, truth[: len(few)]), "qps": SINGLE // 3 / seconds}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
