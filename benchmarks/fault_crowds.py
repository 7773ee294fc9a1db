"""Two writers at once, and readers at work while a writer commits.

A process of its own that forks. `python -m benchmarks.fault_crowds FOLDER COMMITS READERS` prints
one JSON line for each.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection, approximation, nearest
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.errors import CollectionBusyError
from mirror_index.index import calibration
from mirror_index.records import Record
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)
SPEC = IndexSpec(kind="HNSW8", recall=0.5)
STAMPED = 12
"""Records that every commit gives the same new stamp: two stamps in one answer are a mix."""
OPTIONS = (
    SearchOptions(k=STAMPED, where="stamp >= 0"),
    SearchOptions(k=1000),
    SearchOptions(k=1000, exact=True),
    SearchOptions(k=1000, hybrid=True),
)
WRITERS = 2
_PAUSE = 0.002
"""Seconds between two reads, so that the writer gets its share of few cores."""


def crowds(folder: Path, commits: int, readers: int) -> Iterator[dict[str, Any]]:
    """Yield the outcome of readers beside a writer, and of writers beside each other."""
    calibration.QUERIES, approximation.TAIL_ROWS, nearest.FILTER_EXACT_ROWS = 4, 0, 20
    yield _readers(folder / "read", commits, readers)
    yield _writers(folder / "written", commits // 10)


def _stamped(stamp: int) -> list[Record]:
    """Return records whose texts, too, change with the stamp."""
    return [
        Record(id=f"s{n:02d}", text=f"renal stamp {n} of {stamp % 7}", metadata={"stamp": stamp})
        for n in range(STAMPED)
    ]


def _readers(folder: Path, commits: int, readers: int) -> dict[str, Any]:
    items = [*names(60), *_stamped(0)]
    Collection.build(folder, items, encoder=ENCODER, spec=SPEC).close()
    ended = folder.with_name("ended")
    children = [_child(lambda n=n: _read(folder, ended, n)) for n in range(readers)]
    verbs: dict[str, int] = {}
    with Collection.open(folder, encoder=ENCODER) as collection:
        for stamp in range(1, commits + 1):
            verb = _commit(collection, stamp)
            verbs[verb] = verbs.get(verb, 0) + 1
        problems = len(collection.verify(encoder=ENCODER).problems)
    ended.touch()
    said = [_said(*child) for child in children]
    return {
        "fault": f"{readers} readers during {commits} commits",
        "commits": verbs,
        "reads": sum(one.get("reads", 0) for one in said),
        "states seen": max(one.get("states", 0) for one in said),
        "crashes": [one["crash"] for one in said if "crash" in one],
        "mixes": sum(one.get("mixes", 0) for one in said),
        "problems": problems,
    }


def _commit(collection: Collection, stamp: int) -> str:
    """Commit a state in which all stamps are equal: the next one, or an earlier one again."""
    if stamp % 10 == 5:
        collection.compact()
        return "compact"
    if stamp % 10 == 8:
        collection.rollback(collection.history()[1].generation)
        return "rollback"
    if stamp % 10 == 9:
        collection.sync([*names(60, start=stamp), *_stamped(stamp)])
        return "sync"
    collection.update(_stamped(stamp))
    return "update"


def _read(folder: Path, ended: Path, number: int) -> dict[str, Any]:
    """Search until the writer is done; every other reader opens the collection anew each time."""
    reads = mixes = 0
    states: set[int] = set()
    collection = Collection.open(folder, encoder=ENCODER)
    writer = os.getppid()
    while not ended.exists() and os.getppid() == writer:
        if number % 2:
            collection.close()
            collection = Collection.open(folder, encoder=ENCODER)
        options = OPTIONS[reads % len(OPTIONS)]
        (hits,) = collection.search(["renal stamp 3"], options)
        stamps = [hit.metadata["stamp"] for hit in hits if "stamp" in hit.metadata]
        whole = len(stamps) == STAMPED and len(set(stamps)) == 1
        whole = whole and len(hits) in (STAMPED, STAMPED + 60)
        mixes += not whole
        states.update(int(stamp or 0) for stamp in stamps)
        reads += 1
        time.sleep(_PAUSE)
    collection.close()
    return {"reads": reads, "mixes": mixes, "states": len(states)}


def _writers(folder: Path, changes: int) -> dict[str, Any]:
    Collection.build(folder, names(20), encoder=ENCODER, spec=SPEC).close()
    children = [_child(lambda n=n: _write(folder, n, changes)) for n in range(WRITERS)]
    said = [_said(*child) for child in children]
    oracle = Oracle(ENCODER)
    oracle.put(names(20))
    for number in range(WRITERS):
        oracle.put(_batches(number, changes))
    with Collection.open(folder, encoder=ENCODER) as collection:
        oracle.check_content(collection)
        oracle.check(collection, ["renal failure type 1", "gastric lesion type 33"])
        problems = len(collection.verify(encoder=ENCODER).problems)
        generation = collection.info()["generation"]
    return {
        "fault": f"{WRITERS} writers, {changes} changes each",
        "refused": sum(one.get("refused", 0) for one in said),
        "named the other": sum(one.get("named", 0) for one in said),
        "waited": sum(one.get("waited", 0) for one in said),
        "crashes": [one["crash"] for one in said if "crash" in one],
        "lost": WRITERS * changes - (generation - 1),
        "problems": problems,
    }


def _batches(number: int, changes: int) -> list[Record]:
    return names(3 * changes, start=1000 * (number + 1))


def _write(folder: Path, number: int, changes: int) -> dict[str, Any]:
    """Add batch by batch: try at once, and wait when another writer is at work."""
    items = _batches(number, changes)
    refused = named = waited = 0
    with Collection.open(folder, encoder=ENCODER) as collection:
        for start in range(0, len(items), 3):
            part = items[start : start + 3]
            try:
                collection.add(part)
            except CollectionBusyError as error:
                refused += 1
                named += str(os.getpid()) not in str(error) and any(map(str.isdigit, str(error)))
                collection.add(part, timeout=60.0)
                waited += 1
    return {"refused": refused, "named": named, "waited": waited}


def _child(act: Callable[[], dict[str, Any]]) -> tuple[int, int]:
    """Start a forked child; return its process id and where to read what it says."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        said = act()
    except BaseException:
        said = {"crash": traceback.format_exc()[-500:]}
    with suppress(OSError):
        os.write(write, json.dumps(said).encode())
    os._exit(0)


def _said(child: int, read: int) -> dict[str, Any]:
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    said: dict[str, Any] = json.loads(data) if data else {"crash": f"status {status}"}
    return said


def main() -> None:
    folder, commits, readers = sys.argv[1:]
    started = time.monotonic()
    for row in crowds(Path(folder), int(commits), int(readers)):
        print(json.dumps({**row, "seconds": round(time.monotonic() - started, 1)}), flush=True)


if __name__ == "__main__":
    main()
