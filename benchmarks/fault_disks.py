"""Disks that fill up, files that may not grow, and folders that may not be written.

A process of its own that forks. `python -m benchmarks.fault_disks FOLDER SIZES` prints a JSON line
a failure: whether it was stated, what was left, and whether the change went through afterwards.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mirror_index import durable
from mirror_index.collection import Collection, approximation, changing, intake
from mirror_index.collection.repairing import repair_collection
from mirror_index.config import IndexSpec, SearchOptions
from mirror_index.errors import MirrorIndexError
from mirror_index.index import calibration
from mirror_index.records import Record
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)
SPEC = IndexSpec(kind="HNSW8", recall=0.5)
BEFORE, AFTER = names(40), names(30, start=30)
BIG = [Record(id=f"big{n}", text=f"big {n}", metadata={"filler": "x" * 4000}) for n in range(60)]
NOBODY = 65534
QUERIES = ("renal failure type 1", "gastric lesion type 33")
WRITES = ("write", "create", "sync", "rename", "truncate", "copy", "commit")

Change = Callable[[Path], object]


def failures(folder: Path, sizes: int) -> Iterator[dict[str, Any]]:
    """Yield the outcome of every change on every kind of bad disk."""
    changing.ENCODE_CHUNK, intake.WINDOW_TEXTS, calibration.QUERIES = 10, 20, 4
    approximation.TAIL_ROWS = 0
    base = folder / "base"
    with Collection.build(base, BEFORE, encoder=ENCODER, spec=SPEC) as collection:
        collection.delete(["r00007"])
        collection.add(names(1, start=7))
    for verb, (change, after) in changes().items():
        for number in range(1, _operations(folder, base, change) + 1):
            yield _try(folder, base, verb, change, after, f"no space left, operation {number}")
        for place in range(sizes):
            yield _try(folder, base, verb, change, after, f"files may not grow, size {place}")
    yield from _full_disks(folder, base)
    yield from _read_only(folder, base)


def changes() -> dict[str, tuple[Change, Oracle]]:
    """Return what each verb does, and what the collection holds after it."""

    def opened(act: Callable[[Collection], object]) -> Change:
        def change(folder: Path) -> None:
            with Collection.open(folder, encoder=ENCODER) as collection:
                act(collection)

        return change

    def overwrite(folder: Path) -> None:
        Collection.build(folder, AFTER, encoder=ENCODER, spec=SPEC, overwrite=True).close()

    return {
        "add": (opened(lambda c: c.add(AFTER)), _holding(BEFORE, AFTER)),
        "add much": (opened(lambda c: c.add(BIG)), _holding(BEFORE, BIG)),
        "update": (opened(lambda c: c.update(AFTER)), _holding(BEFORE, AFTER)),
        "delete": (opened(lambda c: c.delete([r.id for r in BEFORE[:9]])), _holding(BEFORE[9:])),
        "sync": (opened(lambda c: c.sync(AFTER)), _holding(AFTER)),
        "compact": (opened(lambda c: c.compact()), _holding(BEFORE)),
        "rollback": (
            opened(lambda c: c.rollback(c.history()[1].generation)),
            _holding([record for record in BEFORE if record.id != "r00007"]),
        ),
        "overwrite": (overwrite, _holding(AFTER)),
    }


def _holding(*parts: list[Record]) -> Oracle:
    oracle = Oracle(ENCODER)
    for part in parts:
        oracle.put(part)
    return oracle


def _operations(folder: Path, base: Path, change: Change) -> int:
    """Count the operations of a change that a full disk refuses."""
    count = 0

    def hook(operation: str, path: Path) -> None:
        nonlocal count
        count += operation in WRITES

    place = Path(shutil.copytree(base, folder / "counted"))
    with durable.watched(hook):
        change(place)
    shutil.rmtree(place)
    return count


def _try(
    folder: Path, base: Path, verb: str, change: Change, after: Oracle, fault: str
) -> dict[str, Any]:
    place = Path(shutil.copytree(base, folder / "tried"))
    kind, _, number = fault.rpartition(" ")
    bad = _no_space(int(number)) if kind.startswith("no space") else _no_growth(int(number))
    said = in_child(lambda: _stated(bad, change, place))
    row = {"fault": kind.split(",")[0], "verb": verb, **_left(place, said, change, after)}
    shutil.rmtree(place)
    return row


@contextmanager
def _no_space(number: int) -> Iterator[None]:
    """Refuse the `number`-th write and every one after it, as a full disk does."""
    left = number

    def hook(operation: str, path: Path) -> None:
        nonlocal left
        left -= operation in WRITES
        if left <= 0 and operation in WRITES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with durable.watched(hook):
        yield


@contextmanager
def _no_growth(place: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size; the system refuses what is more."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = 1024 << place
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    yield


def _stated(bad: Any, change: Change, place: Path) -> str:  # noqa: ANN401 - a context manager
    try:
        with bad:
            change(place)
    except MirrorIndexError as error:
        return f"stated: {error.what}"
    return "done"


def _left(place: Path, said: str, change: Change, after: Oracle) -> dict[str, Any]:
    """Look at what a failed change left, and make it again on a sound disk."""
    before = _holding(BEFORE)
    with Collection.open(place, encoder=ENCODER) as collection:
        done = collection.info()["generation"] > 3
        found = after if done else before
        found.check_content(collection)
        found.check(collection, QUERIES)
        kinds = {problem.kind for problem in collection.verify(encoder=ENCODER).problems}
    if not done:
        change(place)
    with Collection.open(place, encoder=ENCODER) as collection:
        after.check_content(collection)
        again = {problem.kind for problem in collection.verify(encoder=ENCODER).problems}
    if said.startswith("stated") and done:
        outcome = "stated, and yet done"
    else:
        outcome = said.partition(":")[0]
    sound = kinds <= {"leftover"} and again <= ({"leftover"} if done else set())
    return {"outcome": outcome if sound else f"DAMAGED {kinds | again}", "said": said}


def _full_disks(folder: Path, base: Path) -> Iterator[dict[str, Any]]:
    """Make every change on a file system with little room; where this process may mount one."""
    for verb, (change, after) in changes().items():
        for room in (0, 8, 40, 120, 400):
            place = folder / "disk"
            place.mkdir()
            used = sum(path.stat().st_size for path in base.rglob("*") if path.is_file()) // 1024
            if not _mount(place, used + 64 + room):
                place.rmdir()
                return
            shutil.copytree(base, place / "c")
            said = in_child(lambda act=change, at=place / "c": _stated(_calm(), act, at))
            _call("mount", "-o", "remount,size=64m", str(place))
            row = {"fault": "a full disk", "verb": verb}
            yield {**row, **_left(place / "c", said, change, after)}
            _call("umount", str(place))
            place.rmdir()


@contextmanager
def _calm() -> Iterator[None]:
    yield


def _mount(place: Path, kilobytes: int) -> bool:
    return _call("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(place))


def _call(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _read_only(folder: Path, base: Path) -> Iterator[dict[str, Any]]:
    """Search and change a collection that this process may only read."""
    place = Path(shutil.copytree(base, folder / "read-only"))
    paths = [place, *place.rglob("*")]
    for path in [folder, *paths]:
        path.chmod(0o755 if path in (folder, *(p for p in paths if p.is_dir())) else 0o644)
    before = _holding(BEFORE)
    doing: dict[str, Change] = {verb: change for verb, (change, _) in changes().items()}
    doing["repair"] = lambda at: repair_collection(at, encoder=ENCODER)

    def search() -> str:
        with Collection.open(place, encoder=ENCODER) as collection:
            before.check(collection, QUERIES)
            collection.search(QUERIES, SearchOptions(k=3, hybrid=True, where="year > 1995"))
            kinds = {problem.kind for problem in collection.verify(encoder=ENCODER).problems}
        return "done" if not kinds else f"DAMAGED {kinds}"

    search()
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    said = in_child(lambda: _unprivileged(search))  # what `search` imports is there by now
    yield {"fault": "a read-only folder", "verb": "search, verify", "outcome": said, "said": said}
    for verb, change in doing.items():
        said = in_child(lambda act=change: _unprivileged(lambda: _stated(_calm(), act, place)))
        outcome = said.partition(":")[0]
        yield {"fault": "a read-only folder", "verb": verb, "outcome": outcome, "said": said}
    for path in paths:
        path.chmod(0o755)


def _unprivileged(look: Callable[[], str]) -> str:
    """Look as somebody whom permissions bind; they do not bind root."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return look()


def in_child(look: Callable[[], str]) -> str:
    """Return what a forked child says; how it failed when it did not get there."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, look().encode())
        except BaseException as error:
            os.write(write, f"CRASH {type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return said or f"CRASH status {status}"


def main() -> None:
    folder, sizes = sys.argv[1:]
    for row in failures(Path(folder), int(sizes)):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
