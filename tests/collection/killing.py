"""Kills writers with SIGKILL at random moments and checks what is left; see test_kill.

A process of its own, so that forking is safe: it has one thread, and every child has everything
imported. Prints one JSON line a round.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mirror_index.collection import Collection, changing, intake
from mirror_index.errors import CollectionError
from mirror_index.vectors import Encoded
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

QUERIES = ["renal failure type 1", "gastric lesion type 33"]


class SlowEncoder(HashEncoder):
    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        time.sleep(0.004)
        return super().encode_audited(texts)


def main(folder: Path, rounds: int) -> None:
    changing.ENCODE_CHUNK, intake.WINDOW_TEXTS = 5, 15
    rng = random.Random(7)
    encoder = SlowEncoder(16)
    for number in range(rounds):
        place = folder / f"build{number}"
        _round("build", place, Oracle(encoder), names(60), rng)
    place = folder / "add"
    oracle = Oracle(encoder)
    oracle.put(names(20))
    Collection.build(place, names(20), encoder=encoder).close()
    for number in range(rounds):
        _round("add", place, oracle, names(60, start=20 + 40 * number), rng)
    place = folder / "sync"
    oracle = Oracle(encoder)
    oracle.put(names(20))
    Collection.build(place, names(20), encoder=encoder).close()
    for number in range(rounds):
        _round("sync", place, oracle, names(60, start=15 + 30 * number), rng)


def _round(verb: str, place: Path, oracle: Oracle, items: list, rng: random.Random) -> None:
    encoder = oracle.encoder

    def change() -> Collection:
        if verb == "build":
            return Collection.build(place, items, encoder=encoder)
        collection = Collection.open(place, encoder=encoder)
        getattr(collection, verb)(items)
        return collection

    generation = _generation(place)
    known = _texts(place)
    _kill_after(rng.uniform(0.0, 0.35), change)
    committed = _generation(place) > generation
    if committed:
        _apply(verb, oracle, items)
    _check_state(place, oracle)
    pending = _pending(place)
    fresh = set() if committed else {record.text for record in items} - known
    if not committed:
        _apply(verb, oracle, items)
    if committed and verb == "build":
        encoded, expected = 0, 0
    else:
        with change() as collection:
            encoded = collection.last_change.texts_encoded
            expected = len(fresh) - pending
    with Collection.open(place, encoder=encoder) as collection:
        oracle.check(collection, QUERIES)
        problems = [str(problem) for problem in collection.verify(encoder=encoder).problems]
    row = {"verb": verb, "committed": committed, "pending": pending, "encoded": encoded}
    print(json.dumps({**row, "expected": expected, "problems": problems}), flush=True)  # noqa: T201


def _kill_after(seconds: float, change: Callable[[], Collection]) -> None:
    child = os.fork()
    if child == 0:
        try:
            change().close()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _apply(verb: str, oracle: Oracle, items: list) -> None:
    if verb == "sync":
        oracle.drop(list(oracle.records))
    oracle.put(items)


def _check_state(place: Path, oracle: Oracle) -> None:
    """Check the state the killed writer left, be it the old or the new one."""
    if not oracle.records:
        return
    with Collection.open(place, encoder=oracle.encoder) as collection:
        oracle.check(collection, QUERIES)
        kinds = {problem.kind for problem in collection.verify(encoder=oracle.encoder).problems}
        assert kinds <= {"leftover"}, kinds


def _generation(place: Path) -> int:
    try:
        with Collection.open(place) as collection:
            return int(collection.info()["generation"])
    except CollectionError:
        return 0


def _texts(place: Path) -> set[str]:
    """Return every text that has a committed vector, also those that no record uses any more."""
    if not (place / "collection.db").exists():
        return set()
    connection = sqlite3.connect(f"file:{place / 'collection.db'}?mode=ro", uri=True)
    try:
        return {text for (text,) in connection.execute("SELECT text FROM texts")}
    finally:
        connection.close()


def _pending(place: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{place / 'collection.db'}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return 0
    try:
        return int(connection.execute("SELECT count(*) FROM pending").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
