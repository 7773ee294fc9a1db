"""Damages every file and every table of a collection in turn, and looks who notices.

A process of its own: what is damaged is read in forked children, so that a crash is counted and not
suffered. `python -m benchmarks.fault_files FOLDER PLACES [SEED]` prints one JSON line a damage.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection, nearest
from mirror_index.collection.repairing import repair_collection
from mirror_index.collection.verifying import verify_collection
from mirror_index.config import Dtype, IndexSpec, SearchOptions
from mirror_index.errors import MirrorIndexError
from mirror_index.index import calibration
from tests.collection.oracle import every_kind, names
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)
SPECS = (
    IndexSpec(kind="HNSW8", recall=0.5),
    IndexSpec(kind="IVF2,PQ4x4fs", recall=0.5, dtype=Dtype.FLOAT16),
)
SEARCHES = (
    SearchOptions(k=60),
    SearchOptions(k=5, hybrid=True),
    SearchOptions(k=60, where="year > 1995"),
)
UNUSED = ("writer.lock", "writer.pid")
"""Files that mean nothing while no writer is at work."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One fault: its kind, the file or table, and what does it."""

    fault: str
    target: str
    apply: Callable[[Path], object]


def damages(folder: Path, places: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what each damage led to: who noticed, and whether `repair` mended it."""
    calibration.QUERIES, nearest.FILTER_EXACT_ROWS = 4, 1
    rng = random.Random(seed)
    for number, spec in enumerate(SPECS):
        whole = folder / f"whole{number}"
        make(whole, spec)
        expected = content(whole)
        for fault in faults(whole, places, rng):
            broken = Path(shutil.copytree(whole, folder / "broken"))
            fault.apply(broken)
            found = _in_child(lambda place=broken, right=expected: _outcome(place, right))
            yield {"fault": fault.fault, "target": fault.target, "index": spec.kind, **found}
            shutil.rmtree(broken)


def make(folder: Path, spec: IndexSpec) -> None:
    """Build a collection that has something in every file and table."""
    items = every_kind(60)
    with Collection.build(folder, items, encoder=ENCODER, spec=spec, source="s.obo") as built:
        built.delete(["r00007"])
        built.add(names(5, start=100))
        built.save_state("note", {"a": 1})


def faults(whole: Path, places: int, rng: random.Random) -> Iterator[Damage]:
    """Yield every damage: bytes flipped, files cut and missing, tables one row short."""
    files = sorted(path for path in whole.rglob("*") if path.is_file())
    for path in files:
        name, size = path.relative_to(whole).as_posix(), path.stat().st_size
        if name in UNUSED:
            continue
        kind = name if "/" not in name else f"{name.split('/')[0]}/*"
        for _ in range(places if size else 0):
            yield Damage("a flipped bit", kind, _flip(name, _place(path, rng), rng.randrange(8)))
        for left in {0, size // 2, size - 1} if size else ():
            yield Damage("a truncated file", kind, _cut(name, left))
        yield Damage("a missing file", kind, _remove(name))
    for table in _tables(whole):
        for end in ("ASC", "DESC"):
            yield Damage("a table one row short", table, _short(table, end))


def _place(path: Path, rng: random.Random) -> int:
    """Return the place of a byte that is not zero: zeros fill what no page uses."""
    data = path.read_bytes()
    return rng.choice([place for place, value in enumerate(data) if value] or [0])


def _flip(name: str, place: int, bit: int) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[place] ^= 1 << bit
        (folder / name).write_bytes(bytes(data))

    return apply


def _cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, size)


def _remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _short(table: str, end: str) -> Callable[[Path], object]:
    def apply(folder: Path) -> None:
        connection = sqlite3.connect(folder / "collection.db")
        key = "rowid"
        if table == "concept_ids":  # a table without row numbers
            key = "alt_id"
        row = f"SELECT {key} FROM {table} ORDER BY {key} {end} LIMIT 1"
        connection.execute(f"DELETE FROM {table} WHERE {key} = ({row})")
        connection.commit()
        connection.close()

    return apply


def _tables(whole: Path) -> list[str]:
    """Return the tables that hold rows, but not those inside of a word index."""
    connection = sqlite3.connect(whole / "collection.db")
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'texts\\_%' "
        "ESCAPE '\\' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()
    held = [name for (name,) in found if connection.execute(f"SELECT 1 FROM {name}").fetchone()]
    connection.close()
    return held


def content(folder: Path) -> list[str]:
    """Return all rows of all tables but those of word indexes, as text."""
    connection = sqlite3.connect(f"file:{folder / 'collection.db'}?mode=ro", uri=True)
    try:
        return [
            f"{table}: {connection.execute(f'SELECT * FROM {table}').fetchall()}"
            for table in _tables(folder)
        ]
    finally:
        connection.close()


def records(folder: Path) -> list[tuple[Any, ...]]:
    """Return what the view of the records says, without rows of vectors."""
    connection = sqlite3.connect(f"file:{folder / 'collection.db'}?mode=ro", uri=True)
    try:
        return connection.execute(
            "SELECT id, text, concept_id, concept_label, scope, name_type, metadata, line "
            "FROM records_with_text ORDER BY id"
        ).fetchall()
    finally:
        connection.close()


def _outcome(folder: Path, expected: list[str]) -> dict[str, Any]:
    whole = records(folder.parent / "whole0")
    searched = _searched(folder)
    try:
        named = [
            f"{one.kind}: {one.what}" for one in verify_collection(folder, encoder=ENCODER).problems
        ]
    except MirrorIndexError as error:
        named = [f"refused: {error.what}"]
    outcome = "named"
    if not named:
        outcome = "harmless" if content(folder) == expected else "silent"
    repair = "nothing to do"
    if named:
        repair = _repaired(folder, whole)
    return {"outcome": outcome, "search": searched, "repair": repair, "named": named[:2]}


def _searched(folder: Path) -> str:
    try:
        with Collection.open(folder, encoder=ENCODER) as collection:
            for options in SEARCHES:
                collection.search(["renal failure type 1", "zzz"], options)
    except MirrorIndexError as error:
        return f"refused: {type(error).__name__}"
    return "answered"


def _repaired(folder: Path, whole: list[tuple[Any, ...]]) -> str:
    try:
        report = repair_collection(folder, encoder=ENCODER)
    except MirrorIndexError:
        return "refused, named"
    if report.left:
        return "left, named"
    return "repaired" if records(folder) == whole else "LOST"


def _in_child(look: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a forked child found; how it ended when it found nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(look()).encode())
        except BaseException as error:
            os.write(write, json.dumps(_crash(f"{type(error).__name__}: {error}")).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(data) if data else _crash(f"status {status}")
    return found


def _crash(what: str) -> dict[str, Any]:
    return {"outcome": "crash", "search": what, "repair": "", "named": []}


def main() -> None:
    folder, places, *seed = sys.argv[1:]
    for row in damages(Path(folder), int(places), int(*seed or ["7"])):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
