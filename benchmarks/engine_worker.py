"""Measure one engine; run in a process of its own by `vector_engines`, which reads what it prints.

Its arguments are the name of the engine, the folder with the vectors, and an empty folder.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import Engine, Ids, Matrix
from benchmarks.peers import ENGINES

K = 10
RECALLS = (0.95, 0.99)
SINGLE, BATCH, ADDED = 300, 1000, 1000
FILTERS = {"1%": 1, "10%": 10}


def main() -> None:
    name, data, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    base = np.load(data / "base.npy", mmap_mode="r")
    queries = np.load(data / "queries.npy")
    truth = {key: np.load(data / f"truth-{key}.npy") for key in ("all", *FILTERS)}
    engine = ENGINES[name](folder, base.shape[1])
    started = time.perf_counter()
    engine.build(np.asarray(base))
    figures: dict[str, Any] = {"build_s": time.perf_counter() - started, "bytes": _size(folder)}
    figures["at"] = _sweep(engine, queries, truth["all"])
    if engine.filters:
        setting = next((at["setting"] for at in figures["at"].values() if at), 0)
        figures["filtered"] = {
            key: _filtered(engine, queries, truth[key], setting, below)
            for key, below in FILTERS.items()
        }
    started = time.perf_counter()
    engine.add(np.load(data / "added.npy"), len(base))
    figures["add_s"] = time.perf_counter() - started
    print(json.dumps(figures))


def recall(found: Ids, truth: Ids) -> float:
    """Return the mean share of the true rows found."""
    shares = [
        len(set(one.tolist()) & set(true.tolist())) / len(true)
        for one, true in zip(found, truth, strict=True)
    ]
    return float(np.mean(shares))


def _sweep(engine: Engine, queries: Matrix, truth: Ids) -> dict[str, Any]:
    """Return what the least setting that reaches each recall does, None where none does."""
    reached: dict[str, Any] = {str(goal): None for goal in RECALLS}
    for setting in engine.settings():
        got = recall(engine.search(queries, K, setting, None), truth)
        open_goals = [goal for goal in RECALLS if reached[str(goal)] is None and got >= goal]
        if open_goals:
            times = _times(engine, queries, setting, None)
            for goal in open_goals:
                reached[str(goal)] = {"setting": setting, "recall": got, **times}
        if got >= RECALLS[-1]:
            break
    return reached


def _times(engine: Engine, queries: Matrix, setting: int, below: int | None) -> dict[str, float]:
    singles = []
    for row in range(min(SINGLE, len(queries))):
        started = time.perf_counter()
        engine.search(queries[row : row + 1], K, setting, below)
        singles.append(time.perf_counter() - started)
    many = np.resize(queries, (BATCH, queries.shape[1]))
    started = time.perf_counter()
    engine.search(many, K, setting, below)
    return {
        "qps": 1 / float(np.mean(singles)),
        "p99_ms": float(np.quantile(singles, 0.99)) * 1000,
        "batch_qps": BATCH / (time.perf_counter() - started),
    }


def _filtered(
    engine: Engine, queries: Matrix, truth: Ids, setting: int, below: int
) -> dict[str, float]:
    few = queries[:SINGLE]
    found = engine.search(few, K, setting, below)
    started = time.perf_counter()
    for row in range(len(few) // 3):
        engine.search(few[row : row + 1], K, setting, below)
    seconds = time.perf_counter() - started
    return {"recall": recall(found, truth[: len(few)]), "qps": len(few) // 3 / seconds}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
