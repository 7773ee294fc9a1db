"""Collections that faults are tried on: what is changed, and what they must hold after it."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection
from mirror_index.collection.repairing import repair_collection
from mirror_index.config import Dtype, IndexSpec
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from mirror_index.vectors import Encoded
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

SPECS = (
    IndexSpec(kind="exact"),
    IndexSpec(kind="HNSW8", recall=0.5),
    IndexSpec(kind="exact", dtype=Dtype.FLOAT16),
)
BASE = 40


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
    fresh: int = BASE
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
        self.past[generation_of(self.folder)] = dict(self.oracle.records)

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


def oracle_of(spec: IndexSpec, salt: str = "") -> Oracle:
    """Return the model of an empty collection."""
    return Oracle(SlowEncoder(16, salt=salt), half=spec.dtype is Dtype.FLOAT16)


def generation_of(folder: Path) -> int:
    """Return the number of the committed state, 0 when there is none."""
    try:
        with Collection.open(folder) as collection:
            return int(collection.info()["generation"])
    except CollectionError:
        return 0


def column_of(folder: Path, query: str) -> set[Any]:
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
    vectors = subject.folder / str(*column_of(subject.folder, newest))
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
    after = oracle_of(subject.spec, salt)
    renewed = salt != subject.encoder.salt
    items = subject.new_names(BASE)
    after.put(items)
    run = _building(subject, items, after, overwrite=True)
    return Change(run, after, _texts(items), renewed=renewed)


CHANGES: dict[str, Callable[[Subject, random.Random], Change]] = {
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
"""What each verb does to a collection, drawn at random."""
