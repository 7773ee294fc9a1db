"""A collection under random changes, crashes and repairs, compared with a dict after each step.

`MIRROR_INDEX_MODEL_EXAMPLES=200 pytest tests/collection/test_state_machine.py` runs that many
sequences of each kind with new seeds, instead of the few fixed ones.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.collection.repairing import repair_collection
from mirror_index.config import Dtype, IndexSpec, OnDuplicate, SearchOptions
from mirror_index.errors import CollectionError, UsageError
from mirror_index.records import Record, normalise_text
from tests.collection.hybrid_oracle import hybrid
from tests.collection.oracle import NOISE, Oracle, names
from tests.fakes import HashEncoder

EXAMPLES = os.environ.get("MIRROR_INDEX_MODEL_EXAMPLES")
KEPT = 20
FILL = names(24)
"""There from the start where an index has to be trained, for which a few texts are too little."""
IDS = st.sampled_from([f"id{number}" for number in range(12)])
TEXTS = st.sampled_from(
    ["aspirin", "Aspirin", "aspirin ", "ibuprofen", "renal failure", "kidney failure", "x", "né 1"]
)
RECORDS = st.lists(
    st.builds(Record, id=IDS, text=TEXTS, metadata=st.fixed_dictionaries({"n": st.integers(0, 4)})),
    max_size=6,
    unique_by=lambda record: record.id,
)
DAMAGES = st.sampled_from(["vectors", "index", "counts", "words", "names of files"])
QUERIES = ("aspirin", "kidney", "renal failure type 3", "asprin", "né", "zzz")

Records = dict[str, Record]


class Stopped(Exception):
    """A power cut."""


@dataclass(frozen=True)
class Change:
    """A change, and what it makes of the records; `ends_history` where nothing leads back."""

    run: Callable[[Collection], Any]
    effect: Callable[[Records], Records]
    ends_history: bool = False


class Machine(RuleBasedStateMachine):
    spec = IndexSpec(kind="exact")
    fill: tuple[Record, ...] = ()
    recall = 1.0
    found = wanted = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / "c"
        self.encoder = HashEncoder(16)
        self.oracle = Oracle(self.encoder, half=self.spec.dtype is Dtype.FLOAT16)
        self.past: dict[int, Records] = {}

    @initialize(records=RECORDS)
    def build(self, records: list[Record]) -> None:
        self.oracle.put([*records, *self.fill])
        self.collection = Collection.build(
            self.folder, [*records, *self.fill], encoder=self.encoder, spec=self.spec
        )
        self.past = {1: dict(self.oracle.records)}

    # The changes, each of which may also be stopped half way.

    def updating(self, records: list[Record]) -> Change:
        return Change(lambda c: c.update(records), lambda old: {**old, **_by_id(records)})

    def deleting(self, ids: list[str]) -> Change:
        return Change(
            lambda c: c.delete(ids), lambda old: {i: r for i, r in old.items() if i not in ids}
        )

    def syncing(self, records: list[Record]) -> Change:
        # Every other time too little is left for an index that has to be trained.
        items = [*records, *(self.fill if len(records) % 2 else ())]
        return Change(lambda c: c.sync(items, allow_empty=True), lambda old: _by_id(items))

    def compacting(self) -> Change:
        return Change(lambda c: c.compact(), dict, ends_history=True)

    def overwriting(self, records: list[Record]) -> Change:
        items = [*records, *self.fill]

        def run(collection: Collection) -> None:
            del collection
            Collection.build(
                self.folder, items, encoder=self.encoder, spec=self.spec, overwrite=True
            ).close()

        return Change(run, lambda old: _by_id(items), ends_history=True)

    def returning(self, place: int) -> Change | None:
        earlier = sorted(self.past)[:-1]
        if not earlier:
            return None
        target = earlier[place % len(earlier)]
        records = dict(self.past[target])
        return Change(lambda c: c.rollback(target), lambda old: records)

    def repairing(self) -> Change:
        return Change(lambda c: repair_collection(self.folder, encoder=self.encoder), dict)

    def any_change(self, verb: str, records: list[Record], number: int) -> Change | None:
        ids = [record.id for record in records]
        made: dict[str, Callable[[], Change | None]] = {
            "update": lambda: self.updating(records),
            "delete": lambda: self.deleting(ids),
            "sync": lambda: self.syncing(records),
            "compact": self.compacting,
            "overwrite": lambda: self.overwriting(records),
            "rollback": lambda: self.returning(number),
        }
        return made[verb]()

    def commit(self, change: Change, result: Any = None) -> None:
        before = self.oracle.records
        self.oracle.records = change.effect(dict(before))
        number = int(self.collection.info()["generation"])
        if change.ends_history:
            self.past = {}
        self.past[number] = dict(self.oracle.records)
        self.past = {n: old for n, old in self.past.items() if n >= number - KEPT}
        if hasattr(result, "added"):
            assert result.added == len(self.oracle.records.keys() - before.keys())
            assert result.deleted == len(before.keys() - self.oracle.records.keys())
            assert result.records == len(self.oracle.records)

    def do(self, change: Change | None) -> Any:
        if change is None:
            return None
        result = change.run(self.collection)
        self.commit(change, result)
        return result

    @rule(records=RECORDS)
    def update(self, records: list[Record]) -> None:
        old = dict(self.oracle.records)
        report = self.do(self.updating(records))
        same = [r for r in records if r.id in old and _said(old[r.id]) == _said(r)]
        assert report.unchanged == len(same)

    @rule(records=RECORDS, policy=st.sampled_from(OnDuplicate))
    def add(self, records: list[Record], policy: OnDuplicate) -> None:
        old = self.oracle.records
        conflicts = [
            record
            for record in records
            if record.id in old and _meant(old[record.id]) != _meant(record)
        ]
        fresh = _by_id([record for record in records if record.id not in old])
        taken = {**fresh, **(_by_id(conflicts) if policy is OnDuplicate.LAST else {})}
        change = Change(lambda c: c.add(records, on_duplicate=policy), lambda was: {**was, **taken})
        if conflicts and policy is OnDuplicate.ERROR:
            with pytest.raises(CollectionError):
                change.run(self.collection)
        else:
            report = self.do(change)
            assert report.added == len(fresh)

    @rule(ids=st.lists(IDS, max_size=4))
    def delete(self, ids: list[str]) -> None:
        report = self.do(self.deleting(ids))
        assert report.deleted + report.skipped == len(set(ids))

    @rule(bound=st.integers(0, 4))
    def delete_where(self, bound: int) -> None:
        if any("n" in record.metadata for record in self.oracle.records.values()):
            gone = [r.id for r in self.oracle.records.values() if r.metadata.get("n", 0) > bound]
            left = self.deleting(gone).effect
            self.do(Change(lambda c: c.delete(where=f"n > {bound}"), left))

    @rule(records=RECORDS)
    def sync(self, records: list[Record]) -> None:
        self.do(self.syncing(records))

    @rule()
    def compact(self) -> None:
        self.do(self.compacting())
        assert self.collection.info()["dead_texts"] == 0

    @rule(place=st.integers(0, 30))
    def rollback(self, place: int) -> None:
        self.do(self.returning(place))

    @rule(distance=st.integers(1, 3))
    def refused_rollback(self, distance: int) -> None:
        for target in (min(self.past) - distance, max(self.past) + distance, max(self.past)):
            with pytest.raises(UsageError):
                self.collection.rollback(target)

    @rule(damage=DAMAGES, place=st.integers(0, 10**6))
    def repair(self, damage: str, place: int) -> None:
        self.collection.close()
        if not _damage(self.folder, damage, place):
            self.reopen()
            return
        with Collection.open(self.folder, encoder=self.encoder) as collection:
            assert not collection.verify(encoder=self.encoder).ok
        report = repair_collection(self.folder, encoder=self.encoder)
        assert report.ok
        assert report.repaired
        self.reopen()
        if int(self.collection.info()["generation"]) not in self.past:
            alone = len(self.past) == 1  # a history of one state is none, and begins anew
            self.commit(Change(lambda c: None, dict, ends_history=alone))

    @rule(
        verb=st.sampled_from(["update", "delete", "sync", "compact", "overwrite", "rollback"]),
        records=RECORDS,
        operation=st.integers(1, 25),
        number=st.integers(0, 30),
    )
    def crash(self, verb: str, records: list[Record], operation: int, number: int) -> None:
        change = self.any_change(verb, records, number)
        if change is None:
            return
        left = operation

        def hook(name: str, path: Path) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Stopped(name)

        before = max(self.past)
        try:
            with durable.watched(hook):
                change.run(self.collection)
        except Stopped:
            self.collection.close()
            _tear(self.folder, random.Random(number))
        self.reopen()
        if int(self.collection.info()["generation"]) > before:
            self.commit(change)
        problems = self.collection.verify(encoder=self.encoder).problems
        assert {problem.kind for problem in problems} <= {"leftover"}

    @rule()
    def reopen(self) -> None:
        self.collection.close()
        self.collection = Collection.open(self.folder, encoder=self.encoder)

    # What must hold after every step.

    @precondition(lambda self: hasattr(self, "collection"))
    @invariant()
    def exact_search_is_brute_force(self) -> None:
        answers = self.collection.search(QUERIES, SearchOptions(k=5, exact=True))
        for query, hits in zip(QUERIES, answers, strict=True):
            self.oracle.check_hits(query, hits, self.oracle.search(query, 5))
        self.oracle.check_content(self.collection)

    @precondition(lambda self: hasattr(self, "collection"))
    @invariant()
    def filtered_search_is_brute_force(self) -> None:
        where = "id != 'id3' and text like 'a%'"
        (hits,) = self.collection.search(["renal"], SearchOptions(k=20, where=where))

        def keep(record: Record) -> bool:
            return record.id != "id3" and record.text.lower().startswith("a")

        self.oracle.check_hits("renal", hits, self.oracle.search("renal", 20, keep))

    @precondition(lambda self: hasattr(self, "collection"))
    @invariant()
    def approximate_search_finds_true_hits(self) -> None:
        answers = self.collection.search(QUERIES, SearchOptions(k=5))
        for query, hits in zip(QUERIES, answers, strict=True):
            expected = self.oracle.search(query, 5)
            assert len(hits) == len(expected)
            own = [(hit.id, self.oracle.score(query, self.oracle.records[hit.id])) for hit in hits]
            self.oracle.check_hits(query, hits, own)
            assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
            least = expected[-1][1] - NOISE if expected else 0.0
            type(self).found += sum(hit.score >= least for hit in hits)
            type(self).wanted += len(expected)

    @precondition(lambda self: hasattr(self, "collection"))
    @invariant()
    def hybrid_search_is_fusion_by_hand(self) -> None:
        connection = sqlite3.connect(self.folder / "collection.db")
        stored = [text for (text,) in connection.execute("SELECT text FROM texts")]
        connection.close()
        options = SearchOptions(k=200, hybrid=True, exact=True)
        for query in ("asprin", "renal failure", "né"):
            (hits,) = self.collection.search([query], options)
            expected = hybrid(self.oracle, query, stored)
            assert [(h.id, dict(h.legs or {})) for h in hits] == [
                (one.id, dict(one.legs)) for one in expected
            ], query

    @precondition(lambda self: hasattr(self, "collection"))
    @invariant()
    def counts_and_history_are_right(self) -> None:
        info = self.collection.info()
        texts = {normalise_text(record.text) for record in self.oracle.records.values()}
        assert (info["records"], info["texts"]) == (len(self.oracle.records), len(texts))
        reachable = {one.generation: one for one in self.collection.history() if one.reachable}
        assert reachable.keys() == self.past.keys()
        for number, records in self.past.items():
            assert reachable[number].records == len(records)

    def teardown(self) -> None:
        if hasattr(self, "collection"):
            self.collection.update([])  # removes what the last crash left
            assert self.collection.verify(encoder=self.encoder).ok
            self.collection.close()
        shutil.rmtree(self.folder.parent)


def _by_id(records: list[Record]) -> Records:
    return {record.id: record for record in records}


def _said(record: Record) -> tuple[str, dict[str, Any]]:
    return record.text, dict(record.metadata)


def _meant(record: Record) -> tuple[str, dict[str, Any]]:
    return normalise_text(record.text), dict(record.metadata)


def _damage(folder: Path, damage: str, place: int) -> bool:
    """Damage a closed collection in a way that can be mended; False where there is nothing to."""
    connection = sqlite3.connect(folder / "collection.db")
    file, rows, ann = connection.execute(
        "SELECT vector_file, vector_rows, ann_file FROM generations ORDER BY number DESC LIMIT 1"
    ).fetchone()
    done = True
    if damage == "vectors" and rows:
        data = bytearray((folder / file).read_bytes())
        data[place % (rows * 16 * (2 if file.endswith("f16") else 4))] ^= 1 << place % 8
        (folder / file).write_bytes(bytes(data))
    elif damage == "index" and ann is not None:
        os.truncate(folder / ann, place % (folder / ann).stat().st_size)
    elif damage == "counts" and rows:
        connection.execute("UPDATE texts SET records = records + 1 WHERE row = ?", (place % rows,))
    elif damage == "words" and rows:
        connection.execute("INSERT INTO texts_fts (texts_fts) VALUES ('delete-all')")
    elif damage == "names of files" and rows:
        connection.execute("UPDATE segments SET file = 'vectors/000077.f32' WHERE first_row = 0")
    else:
        done = False
    connection.commit()
    connection.close()
    return done


def _tear(folder: Path, rng: random.Random) -> None:
    """Lose what no commit names, as a power cut does: noise in its place, or nothing."""
    connection = sqlite3.connect(folder / "collection.db")
    file, rows = connection.execute(
        "SELECT vector_file, vector_rows FROM generations ORDER BY number DESC LIMIT 1"
    ).fetchone()
    pending = dict(connection.execute("SELECT file, sum(rows) FROM pending_chunks GROUP BY file"))
    connection.close()
    for path in (folder / "vectors").iterdir():
        name = f"vectors/{path.name}"
        lying = rng.random() < 0.3  # a disk that said it had kept what it lost
        kept = (rows if name == file else 0) + (0 if lying else pending.get(name, 0))
        size = kept * 16 * (2 if name.endswith("f16") else 4)
        if path.stat().st_size > size:
            with path.open("r+b") as handle:
                handle.truncate(size)
                handle.seek(size)
                handle.write(rng.randbytes(rng.randrange(200)))


class HalfMachine(Machine):
    spec = IndexSpec(kind="exact", dtype=Dtype.FLOAT16)


class HnswMachine(Machine):
    spec = IndexSpec(kind="HNSW4", recall=0.9)
    recall = 0.9


class IvfMachine(Machine):
    spec = IndexSpec(kind="IVF2,Flat", recall=0.9, dtype=Dtype.FLOAT16)
    fill = tuple(FILL)
    recall = 0.8


class CodedMachine(Machine):
    spec = IndexSpec(kind="IVF2,PQ4x4fs", recall=0.9)
    fill = tuple(FILL)
    recall = 0.8


MACHINES = {Machine: 12, HalfMachine: 5, HnswMachine: 7, IvfMachine: 5, CodedMachine: 5}


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@pytest.mark.parametrize("machine", list(MACHINES))
def test_any_sequence_of_changes(machine: type[Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, rows in (("FIRST", 3), ("PREFIX", 5)):  # or a few texts would all be candidates
        monkeypatch.setattr(f"mirror_index.index.ann.{name}_ROWS", rows)
    monkeypatch.setattr("mirror_index.index.approximate.FEW_ROWS", 0)
    monkeypatch.setattr("mirror_index.index.plain.FEW_ROWS", 0)
    monkeypatch.setattr("mirror_index.index.ann._SPARE_ROWS", 3)
    monkeypatch.setattr("mirror_index.collection.nearest.FILTER_EXACT_ROWS", 1)
    monkeypatch.setattr("mirror_index.collection.approximation.TAIL_ROWS", 3)
    monkeypatch.setattr("mirror_index.index.calibration.QUERIES", 3)
    monkeypatch.setattr("mirror_index.collection.changing.ENCODE_CHUNK", 3)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(EXAMPLES or MACHINES[machine]),
            stateful_step_count=30 if EXAMPLES else 14,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=not EXAMPLES,
            # Shrinking would rebuild collections for minutes; the failing steps are printed as they
            # are.
            phases=(Phase.explicit, Phase.generate),
        ),
    )
    assert machine.found >= machine.recall * machine.wanted > 0, machine.found / machine.wanted
