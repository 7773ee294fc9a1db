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
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.fault_subjects import (
    BASE,
    CHANGES,
    SPECS,
    Subject,
    column_of,
    generation_of,
    oracle_of,
)
from mirror_index.collection import Collection, changing, intake
from mirror_index.config import IndexSpec
from mirror_index.index import calibration
from tests.collection.oracle import Oracle, names

QUERIES = ("renal failure type 1", "gastric lesion type 33")
VERBS = "build add update delete sync compact rollback repair overwrite".split()
_LATER, _SOONER = 1.06, 0.89
"""How the latest moment of a kill moves, so that two of three changes are stopped."""
_FIRST_WINDOW = 0.3


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
            subject = Subject(folder / f"build{number}", subject.spec, oracle_of(subject.spec))
        row = _round(subject, verb, rng, rng.uniform(0.0, windows[verb]))
        windows[verb] *= _SOONER if row["committed"] else _LATER
        yield row
        if verb == "build":
            shutil.rmtree(subject.folder)


def _subject(folder: Path, spec: IndexSpec) -> Subject:
    subject = Subject(folder, spec, oracle_of(spec))
    subject.oracle.put(names(BASE))
    Collection.build(folder, names(BASE), encoder=subject.encoder, spec=spec).close()
    subject.note()
    return subject


def _round(subject: Subject, verb: str, rng: random.Random, moment: float) -> dict[str, Any]:
    change = CHANGES[verb](subject, rng)
    folder, before = subject.folder, generation_of(subject.folder)
    known = set() if change.renewed else column_of(folder, "SELECT text FROM texts")
    _kill_after(moment, change.run)
    committed = generation_of(folder) > before
    found = change.after if committed else subject.oracle
    _check_left(folder, found, damaged=verb == "repair" and not committed)
    pending = column_of(folder, "SELECT row FROM pending")
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


def main() -> None:
    folder, rounds, *seed = sys.argv[1:]
    for row in kills(Path(folder), int(rounds), int(*seed or ["7"])):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
