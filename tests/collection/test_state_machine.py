"""A collection under random changes, compared with a dict and brute force after each."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

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

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec, OnDuplicate, SearchOptions
from mirror_index.records import Record
from tests.collection.oracle import Oracle
from tests.fakes import HashEncoder

IDS = st.sampled_from([f"id{number}" for number in range(12)])
TEXTS = st.sampled_from(
    ["aspirin", "Aspirin", "aspirin ", "ibuprofen", "renal failure", "kidney failure", "x", "né 1"]
)
RECORDS = st.lists(
    st.builds(Record, id=IDS, text=TEXTS, metadata=st.fixed_dictionaries({"n": st.integers(0, 4)})),
    max_size=6,
    unique_by=lambda record: record.id,
)


class Machine(RuleBasedStateMachine):
    kind = "exact"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.encoder = HashEncoder(16)
        self.oracle = Oracle(self.encoder)

    @initialize(records=RECORDS)
    def build(self, records: list[Record]) -> None:
        if self.kind.startswith("IVF") and len({record.text.strip() for record in records}) < 2:
            records = [Record(id="id0", text="aspirin"), Record(id="id1", text="x")]
        self.oracle.put(records)
        self.collection = Collection.build(
            self.folder / "c", records, encoder=self.encoder, spec=IndexSpec(kind=self.kind)
        )

    @rule(records=RECORDS)
    def update(self, records: list[Record]) -> None:
        self.collection.update(records)
        self.oracle.put(records)

    @rule(records=RECORDS, policy=st.sampled_from([OnDuplicate.FIRST, OnDuplicate.LAST]))
    def add(self, records: list[Record], policy: OnDuplicate) -> None:
        self.collection.add(records, on_duplicate=policy)
        for record in records:
            old = self.oracle.records.get(record.id)
            same = old is not None and (old.text.strip(), old.metadata) == (
                record.text.strip(),
                record.metadata,
            )
            if old is None or (policy is OnDuplicate.LAST and not same):
                self.oracle.put([record])

    @rule(ids=st.lists(IDS, max_size=4))
    def delete(self, ids: list[str]) -> None:
        report = self.collection.delete(ids)
        assert report.deleted == len(set(ids) & self.oracle.records.keys())
        self.oracle.drop(ids)

    @rule(bound=st.integers(0, 4))
    def delete_where(self, bound: int) -> None:
        if any("n" in record.metadata for record in self.oracle.records.values()):
            self.collection.delete(where=f"n > {bound}")
            gone = [r.id for r in self.oracle.records.values() if r.metadata.get("n", 0) > bound]
            self.oracle.drop(gone)

    @precondition(lambda self: not self.kind.startswith("IVF"))
    @rule()
    def compact(self) -> None:
        self.collection.compact()
        assert self.collection.info()["dead_texts"] == 0

    @rule()
    def reopen(self) -> None:
        self.collection.close()
        self.collection = Collection.open(self.folder / "c", encoder=self.encoder)

    @invariant()
    def same_as_the_oracle(self) -> None:
        if not hasattr(self, "collection"):
            return
        self.oracle.check(self.collection, ["aspirin", "kidney"], k=5)
        options = SearchOptions(k=20, where="id != 'id3' and text like 'a%'")
        (hits,) = self.collection.search(["renal"], options)
        kept = [
            (record.id, record.text)
            for record in self.oracle.records.values()
            if record.id != "id3" and record.text.lower().startswith("a")
        ]
        assert sorted((hit.id, hit.text) for hit in hits) == sorted(kept)

    def teardown(self) -> None:
        if hasattr(self, "collection"):
            assert self.collection.verify(encoder=self.encoder).ok
            self.collection.close()
        shutil.rmtree(self.folder)


class HnswMachine(Machine):
    kind = "HNSW4"


class IvfMachine(Machine):
    kind = "IVF2,Flat"


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
@pytest.mark.parametrize(
    ("machine", "examples"), [(Machine, 12), (HnswMachine, 5), (IvfMachine, 5)]
)
def test_any_sequence_of_changes(
    machine: type[Machine], examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.searching.FILTER_EXACT_ROWS", 1)
    monkeypatch.setattr("mirror_index.collection.approximation.TAIL_ROWS", 3)
    monkeypatch.setattr("mirror_index.index.calibration.QUERIES", 3)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=10,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=True,
            # Shrinking would rebuild collections for minutes; the failing steps are printed as they
            # are.
            phases=(Phase.explicit, Phase.generate),
        ),
    )
