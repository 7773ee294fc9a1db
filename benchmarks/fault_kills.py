"""Kills writers with SIGKILL at random moments and checks what is left, verb by verb.

A process of its own, so that forking is safe: it has one thread, and every child has everything
imported. `python -m benchmarks.fault_kills FOLDER ROUNDS [SEED]` prints one JSON line a kill.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection, changing, intake
from mirror_index.collection.repairing import repair_collection
from mirror_index.config import Dtype, IndexSpec
from mirror_index.errors import CollectionError
from mirror_index.index import calibration
from mirror_index.records import Record
from mirror_index.vectors import Encoded
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

QUERIES = ("renal failure type 1", "gastric lesion type 33")
VERBS = "build add update delete sync compact rollback repair overwrite".split()
SPECS = (
    IndexSpec(kind="exact"),
    IndexSpec(kind="HNSW8", recall=0.5),
    IndexSpec(kind="exact", dtype=Dtype.FLOAT16),
)
_BASE = 40
_LATER, _SOONER = 1.06, 0.89
"""How the latest moment of a kill moves, so that two of three changes are stopped."""
_FIRST_WINDOW = 0.3


class SlowEncoder(HashEncoder):
    """Takes its time, so that a kill meets it at work."""

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like the quick one."""
        time.sleep(0.002)
        return super().encode_audited(texts)


@dataclass
class Subject:
    """A collection that is changed and killed again and again, and what it must hold."""

    folder: Path
    spec: IndexSpec
    oracle: Oracle
    fresh: int = _BASE
    past: dict[int, dict[str, Record]] = field(default_factory=dict)

    @property
    def encoder(self) -> HashEncoder:
        """The encoder of its vectors."""
        return self.oracle.encoder

    def open(self) -> Collection:
        """Open it with its encoder."""
        return Collection.open(self.folder, encoder=self.encoder)

    def note(self) -> None:
        """Remember the committed state, to go back to."""
        self.past[_generation(self.folder)] = dict(self.oracle.records)

    def new_names(self, count: int) -> list[Record]:
        """Return records that never were there."""
        self.fresh += count
        return names(count, start=self.fresh - count)


@dataclass(frozen=True, slots=True)
class Change:
    """A change about to be killed, and what the collection must hold after it."""

    run: Callable[[], Any]
    after: Oracle
    texts: frozenset[str] = frozenset()
    renewed: bool = False


def kills(folder: Path, rounds: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what each of `rounds` kills led to.

    Raises:
        AssertionError: something committed was lost, or changed by half.
    """
    changing.ENCODE_CHUNK, intake.WINDOW_TEXTS, calibration.QUERIES = 5, 15, 4
    rng = random.Random(seed)
    subjects = [_subject(folder / f"subject{place}", spec) for place, spec in enumerate(SPECS)]
    windows = dict.fromkeys(VERBS, _FIRST_WINDOW)
    for number in range(rounds):
        verb = VERBS[number % len(VERBS)]
        subject = subjects[number // len(VERBS) % len(subjects)]
        if verb == "build":
            subject = Subject(folder / f"build{number}", subject.spec, _oracle(subject.spec))
        row = _round(subject, verb, rng, rng.uniform(0.0, windows[verb]))
        windows[verb] *= _SOONER if row["committed"] else _LATER
        yield row
        if verb == "build":
            shutil.rmtree(subject.folder)


def _oracle(spec: IndexSpec, salt: str = "") -> Oracle:
    return Oracle(SlowEncoder(16, salt=salt), half=spec.dtype is Dtype.FLOAT16)


def _subject(folder: Path, spec: IndexSpec) -> Subject:
    subject = Subject(folder, spec, _oracle(spec))
    subject.oracle.put(names(_BASE))
    Collection.build(folder, names(_BASE), encoder=subject.encoder, spec=spec).close()
    subject.note()
    return subject


def _round(subject: Subject, verb: str, rng: random.Random, moment: float) -> dict[str, Any]:
    change = _CHANGES[verb](subject, rng)
    folder, before = subject.folder, _generation(subject.folder)
    known = set() if change.renewed else _column(folder, "SELECT text FROM texts")
    _kill_after(moment, change.run)
    committed = _generation(folder) > before
    found = change.after if committed else subject.oracle
    _check_left(folder, found, damaged=verb == "repair" and not committed)
    pending = _column(folder, "SELECT row FROM pending")
    encoded = expected = None
    if not committed:
        report = change.run()
        if change.texts:
            encoded = report.texts_encoded
            expected = len(change.texts - known) - len(pending)
    subject.oracle = change.after
    with subject.open() as collection:
        subject.oracle.check(collection, QUERIES)
        subject.oracle.check_content(collection)
        problems = [str(one) for one in collection.verify(encoder=subject.encoder).problems]
    _remember(subject, verb)
    return {
        "verb": verb,
        "index": f"{subject.spec.kind} {subject.spec.dtype.value}",
        "moment": round(moment, 4),
        "committed": committed,
        "pending": len(pending),
        "encoded": encoded,
        "expected": expected,
        "problems": [one for one in problems if not (committed and "'leftover'" in one)],
    }


def _check_left(folder: Path, oracle: Oracle, *, damaged: bool) -> None:
    """Check the state the killed writer left, be it the old or the new one."""
    if not oracle.records:
        return
    with Collection.open(folder, encoder=oracle.encoder) as collection:
        if not damaged:
            oracle.check_content(collection)
            oracle.check(collection, QUERIES)
        kinds = {problem.kind for problem in collection.verify(encoder=oracle.encoder).problems}
    assert kinds <= {"leftover", *({"vectors", "index"} if damaged else ())}, kinds


def _remember(subject: Subject, verb: str) -> None:
    if verb in ("compact", "overwrite", "build"):
        subject.past.clear()
    subject.note()
    with subject.open() as collection:
        reachable = {one.generation for one in collection.history() if one.reachable}
    # A repair starts no history, yet may be the only way from one state to the next.
    subject.past = {number: old for number, old in subject.past.items() if number in reachable}


def _kill_after(seconds: float, change: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        try:
            change()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _generation(folder: Path) -> int:
    try:
        with Collection.open(folder) as collection:
            return int(collection.info()["generation"])
    except CollectionError:
        return 0


def _column(folder: Path, query: str) -> set[Any]:
    """Return what a query finds; nothing where the tables are not there yet."""
    try:
        connection = sqlite3.connect(f"file:{folder / 'collection.db'}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return set()
    try:
        return {row[0] for row in connection.execute(query)}
    except sqlite3.OperationalError:
        return set()
    finally:
        connection.close()


def _after(subject: Subject, put: Sequence[Record] = (), drop: Sequence[str] = ()) -> Oracle:
    oracle = Oracle(
        subject.encoder, dict(subject.oracle.records), subject.oracle.half, subject.oracle.vectors
    )
    oracle.drop(drop)
    oracle.put(put)
    return oracle


def _texts(records: Sequence[Record]) -> frozenset[str]:
    return frozenset(record.text for record in records)


def _on_open(subject: Subject, act: Callable[[Collection], object]) -> Callable[[], object]:
    def run() -> object:
        with subject.open() as collection:
            return act(collection)

    return run


def _build(subject: Subject, rng: random.Random) -> Change:
    items = names(rng.randrange(30, 60))
    after = _after(subject, items)
    run = _building(subject, items, after, overwrite=False)
    return Change(run, after, _texts(items), renewed=True)


def _building(
    subject: Subject, items: Sequence[Record], after: Oracle, *, overwrite: bool
) -> Callable[[], object]:
    def run() -> object:
        with Collection.build(
            subject.folder, items, encoder=after.encoder, spec=subject.spec, overwrite=overwrite
        ) as collection:
            return collection.last_change

    return run


def _add(subject: Subject, rng: random.Random) -> Change:
    items = subject.new_names(rng.randrange(10, 40))
    run = _on_open(subject, lambda collection: collection.add(items))
    return Change(run, _after(subject, items), _texts(items))


def _update(subject: Subject, rng: random.Random) -> Change:
    ids = rng.sample(sorted(subject.oracle.records), min(12, len(subject.oracle.records)))
    items = subject.new_names(len(ids) + 8)
    changed = [
        Record(id=id_, text=item.text, metadata={"year": 7})
        for id_, item in zip(ids, items, strict=False)
    ]
    items = [*changed, *items[len(ids) :]]
    run = _on_open(subject, lambda collection: collection.update(items))
    return Change(run, _after(subject, items), _texts(items))


def _delete(subject: Subject, rng: random.Random) -> Change:
    ids = rng.sample(sorted(subject.oracle.records), len(subject.oracle.records) // 4)
    run = _on_open(subject, lambda collection: collection.delete(ids))
    return Change(run, _after(subject, drop=ids))


def _sync(subject: Subject, rng: random.Random) -> Change:
    kept = rng.sample(sorted(subject.oracle.records), min(30, len(subject.oracle.records)))
    items = [*(subject.oracle.records[id_] for id_ in kept), *subject.new_names(15)]
    run = _on_open(subject, lambda collection: collection.sync(items))
    after = _after(subject, items, drop=list(subject.oracle.records))
    return Change(run, after, _texts(items))


def _compact(subject: Subject, rng: random.Random) -> Change:
    del rng
    return Change(_on_open(subject, lambda one: one.compact()), _after(subject))


def _rollback(subject: Subject, rng: random.Random) -> Change:
    if len(subject.past) == 1:  # a compact or overwrite before it ended the history
        change = _delete(subject, rng)
        change.run()
        subject.oracle = change.after
        subject.note()
    target = rng.choice(sorted(subject.past)[:-1])
    after = _after(subject)
    after.records = dict(subject.past[target])
    return Change(_on_open(subject, lambda collection: collection.rollback(target)), after)


def _repair(subject: Subject, rng: random.Random) -> Change:
    newest = "SELECT vector_file FROM generations ORDER BY number DESC LIMIT 1"
    vectors = subject.folder / str(*_column(subject.folder, newest))
    data = bytearray(vectors.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    vectors.write_bytes(bytes(data))
    for path in (subject.folder / "ann").glob("*.faiss"):
        path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])
    return Change(
        lambda: repair_collection(subject.folder, encoder=subject.encoder), _after(subject)
    )


def _overwrite(subject: Subject, rng: random.Random) -> Change:
    salt = rng.choice(["", "other"])
    after = _oracle(subject.spec, salt)
    renewed = salt != subject.encoder.salt
    items = subject.new_names(_BASE)
    after.put(items)
    run = _building(subject, items, after, overwrite=True)
    return Change(run, after, _texts(items), renewed=renewed)


_CHANGES: dict[str, Callable[[Subject, random.Random], Change]] = {
    "build": _build,
    "add": _add,
    "update": _update,
    "delete": _delete,
    "sync": _sync,
    "compact": _compact,
    "rollback": _rollback,
    "repair": _repair,
    "overwrite": _overwrite,
}


def main() -> None:
    folder, rounds, *seed = sys.argv[1:]
    for row in kills(Path(folder), int(rounds), int(*seed or ["7"])):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
