"""Our indexes beside other vector engines: the same vectors, queries, threads and recall.

`python -m benchmarks.vector_engines --rows 1000000` measures another size than the usual 100,000.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data, harness, report
from benchmarks.engine_worker import ADDED, BATCH, FILTERS, RECALLS, K
from benchmarks.engines import EF_CONSTRUCTION, Ids, M, Matrix, part_of
from benchmarks.peers import ENGINES
from benchmarks.report import Cell, Column, Result, Table

NAME = "engines"
ROWS, QUICK_ROWS, MILLION = 100_000, 5_000, 1_000_000
QUERIES = 1000
NOISE = 0.35
"""Length of the change that makes a new vector of a stored one where there are too few."""

_STOPPED = "building stopped"
_LAST = f"truth-{list(FILTERS)[-1]}.npy"

_COST = (
    Column(name="engine"),
    Column(name="build s", spec=".1f"),
    Column(name="MB on disk", spec=",.0f"),
    Column(name="peak MB", spec=",.0f"),
    Column(name=f"add {ADDED:,} s", spec=".2f"),
    Column(name="queries/s after it", spec=",.0f"),
)
_SPEED = (
    Column(name="engine"),
    Column(name="recall@10 >=", spec=".2f"),
    Column(name="setting", spec="d"),
    Column(name="recall@10", spec=".4f"),
    Column(name="queries/s, one at a time", spec=",.0f"),
    Column(name="p99 ms", spec=".2f"),
    Column(name=f"queries/s, {BATCH:,} at once", spec=",.0f"),
)
_ALONE = (
    Column(name="engine"),
    Column(name="recall@10 >=", spec=".2f"),
    Column(name="one at a time", spec=".2f"),
    Column(name=f"{BATCH:,} at once", spec=".2f"),
)
_FILTERED = (
    Column(name="engine"),
    Column(name="rows that pass"),
    Column(name="recall@10", spec=".4f"),
    Column(name="queries/s, one at a time", spec=",.0f"),
)
_NOTE = (
    "Each engine runs in a process of its own, on the same cores, over the same unit vectors "
    "(all-MiniLM-L6-v2 of WordNet names, SciFact sentences and German law, in random order), with "
    "an id and two metadata fields a vector; queries are texts of the same kind that are not "
    "indexed. Build includes metadata and writing to disk, for mirror-index also calibration, an "
    "SQLite store with keyword index and checksums, and an fsync for every step. The breadth of "
    "search is the least of a sweep that reaches the recall. mirror-index returns hits with text "
    "and metadata, or `rows only`; libraries return row numbers. Where fewer real vectors are "
    f"there than rows, the rest are stored ones changed by a random vector of length {NOISE}. "
    f"Filtered searches use the setting for recall {RECALLS[0]}; faiss and hnswlib get the "
    "passing rows worked out beforehand. Peak memory is the largest resident set, the given "
    "vectors included. After the add, searches are single, at the same setting. The last table "
    "has how many times as long the same searches of the same graph take in mirror-index as in "
    "FAISS alone, in turns, the median. What is added to LanceDB waits beside its index, as its "
    "index_stats says, is compared row by row, and is not synced to the disk; mirror-index "
    "compares it too, until a fifth of the rows are new, and syncs seven times; the libraries "
    "write their whole index anew, unsynced."
)


def run(quick: bool) -> Result:
    """Measure the usual number of rows."""
    return measure(QUICK_ROWS if quick else ROWS, None, list(ENGINES))


def run_million(quick: bool) -> Result:
    """Measure a million rows, which takes more than an hour."""
    return measure(QUICK_ROWS if quick else MILLION, None, list(ENGINES))


def measure(
    rows: int,
    vectors: Path | None,
    names: Sequence[str],
    *,
    kept: Path | None = None,
    resume: bool = False,
    minutes: int | None = None,
) -> Result:
    """Measure engines over `rows` vectors, of a .npy file or encoded now.

    Args:
        rows: vectors in each index.
        vectors: the file.
        names: of `ENGINES`.
        kept: a folder for the prepared vectors, which are taken from it if they are there.
        resume: take the figures of engines that were measured before.
        minutes: an engine that takes longer to build is stopped, and the table says so.
    """
    figures: dict[str, Any] = {}
    missing: list[str] = []
    with harness.workspace() as place:
        folder = kept or place
        if not (folder / _LAST).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            _write_data(folder, rows, vectors)
        for name in names:
            if importlib.util.find_spec(ENGINES[name].module) is None:
                missing.append(f"{name} ({ENGINES[name].module} is not installed)")
                continue
            step = harness.OUT / "steps" / f"engines.{rows}.{name.replace(' ', '-')}.json"
            figures[name] = _figures(name, folder, step if resume else None, minutes)
            if figures[name].get("failed", _STOPPED).startswith(_STOPPED):
                harness.write_json(step, figures[name])
            missing += [f"{name} ({figures[name]['failed']})"] if "failed" in figures[name] else []
    return Result(
        title=f"{rows:,} vectors beside other engines",
        tables=(
            Table(title="Cost", columns=_COST, rows=list(_cost_rows(figures))),
            Table(title="Search", columns=_SPEED, rows=list(_speed_rows(figures))),
            Table(title="Filtered search", columns=_FILTERED, rows=list(_filter_rows(figures))),
            Table(title="Beside its own index", columns=_ALONE, rows=list(_alone_rows(figures))),
        ),
        note=_NOTE,
        settings={
            "rows": rows,
            "queries": QUERIES,
            "k": K,
            "M": M,
            "ef_construction": EF_CONSTRUCTION,
            "threads": harness.threads(),
            "missing": "; ".join(missing) or "none",
        },
    )


def _figures(name: str, folder: Path, step: Path | None, minutes: int | None) -> dict[str, Any]:
    """Measure an engine, or take what was measured before unless that failed."""
    if step is not None and step.is_file():
        kept: dict[str, Any] = json.loads(step.read_text(encoding="utf-8"))
        if kept.get("failed", _STOPPED).startswith(_STOPPED):
            return kept
    harness.say(f"  {name} ...")
    return _measured(name, folder, minutes)


def _measured(name: str, data_folder: Path, minutes: int | None) -> dict[str, Any]:
    with harness.workspace() as folder:
        arguments = [name, data_folder, folder, *([] if minutes is None else [f"{minutes * 60}"])]
        try:
            done = harness.run_process(
                [sys.executable, "-m", "benchmarks.engine_worker", *arguments]
            )
        except RuntimeError as error:
            if str(error).startswith(f"exit status {-signal.SIGALRM} "):
                return {"failed": f"{_STOPPED} after {minutes} minutes"}
            return {"failed": str(error).strip().splitlines()[-1]}
    figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return {**figures, "peak": done.peak_bytes}


def _write_data(folder: Path, rows: int, given: Path | None) -> None:
    real = _embeddings(rows + QUERIES + ADDED) if given is None else np.load(given, mmap_mode="r")
    rng = np.random.default_rng(data.SEED)
    order = rng.permutation(len(real))
    queries, added, rest = np.split(order, [QUERIES, QUERIES + ADDED])
    base = _enlarged(np.asarray(real[rest[:rows]]), rows, rng)
    np.save(folder / "base.npy", base)
    np.save(folder / "added.npy", real[np.sort(added)])
    asked = np.ascontiguousarray(real[np.sort(queries)])
    np.save(folder / "queries.npy", asked)
    parts = part_of(np.arange(rows))
    np.save(folder / "truth-all.npy", _truth(asked, base, np.arange(rows)))
    for key, below in FILTERS.items():  # `_LAST` comes last
        np.save(folder / f"truth-{key}.npy", _truth(asked, base, np.flatnonzero(parts < below)))


def _enlarged(base: Matrix, rows: int, rng: np.random.Generator) -> Matrix:
    if len(base) >= rows:
        return base
    more = base[rng.integers(0, len(base), rows - len(base))]
    noise = rng.standard_normal(more.shape, dtype=np.float32)
    more += NOISE * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    return np.concatenate([base, more])


def _truth(queries: Matrix, base: Matrix, rows: Ids) -> Ids:
    """Return the K best of `rows` for each query, by brute force."""
    part = base if len(rows) == len(base) else base[rows]
    found = []
    for start in range(0, len(queries), 100):
        scores = queries[start : start + 100] @ part.T
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        found.append(rows[best])
    return np.concatenate(found)


def _embeddings(wanted: int) -> Matrix:
    """Return vectors of real texts, `wanted` or as many as there are; kept between runs."""
    path = harness.OUT / "steps" / f"vectors-{wanted}.npy"
    if path.is_file():
        kept: Matrix = np.load(path, mmap_mode="r")
        return kept
    from mirror_index.encoding import load_encoder

    texts = data.texts(data.records(data.find(data.WORDNET)))
    texts += [*data.lines(f"{data.SCIFACT}/sentences.txt"), *data.lines(_LAW)]
    texts = data.sample(list(dict.fromkeys(text for text in texts if text.strip())), wanted)
    harness.say(f"  encoding {len(texts):,} texts ...")
    vectors: Matrix = load_encoder().encode(texts)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, vectors)
    return vectors


_LAW = "corpora/law_de_20k_sentences.txt"


def _cost_rows(figures: dict[str, Any]) -> Iterator[list[Cell]]:
    for name, found in figures.items():
        if "failed" in found:
            yield [name, None, None, None, None, None]
        else:
            sizes = (found["bytes"] / 1e6, found["peak"] / 1e6)
            after = found["after_add"][""] or {}
            yield [name, found["build_s"], *sizes, found["add_s"], after.get("qps")]


def _speed_rows(figures: dict[str, Any]) -> Iterator[list[Cell]]:
    keys = ("setting", "recall", "qps", "p99_ms", "batch_qps")
    for goal in RECALLS:
        for name, found in figures.items():
            for way, at in found.get("at", {}).items():
                reached = at[str(goal)] or {}
                yield [f"{name}{way}", goal, *(reached.get(key) for key in keys)]


def _filter_rows(figures: dict[str, Any]) -> Iterator[list[Cell]]:
    for key in FILTERS:
        for name, found in figures.items():
            for way, at in found.get("filtered", {}).items():
                yield [f"{name}{way}", key, at[key]["recall"], at[key]["qps"]]


def _alone_rows(figures: dict[str, Any]) -> Iterator[list[Cell]]:
    for name, found in figures.items():
        for goal, ratios in found.get("alone", {}).items():
            for way in found["at"] if ratios else ():
                times = (ratios[f"single{way}"], ratios[f"batch{way}"])
                yield [f"{name}{way}", float(goal), *times]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_engines")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--vectors", type=Path, help="unit vectors in a .npy file")
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder to keep the prepared vectors in")
    parser.add_argument("--resume", action="store_true", help="keep what was measured before")
    parser.add_argument("--minutes", type=int, help="longest that an engine may build")
    wishes = parser.parse_args()
    harness.limit_cores()
    facts = harness.environment()
    result = measure(
        wishes.rows,
        wishes.vectors,
        wishes.engines,
        kept=wishes.data,
        resume=wishes.resume,
        minutes=wishes.minutes,
    )
    name = f"{NAME}.{wishes.rows}"
    measurement = report.Measurement(name=name, quick=False, facts=facts, result=result)
    measurement.save()
    print(report.text_of(measurement))


if __name__ == "__main__":
    main()
