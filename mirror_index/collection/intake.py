"""Source items to windows of staged rows, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mirror_index.records import Concept, Record, Rejected, SourceItem
from mirror_index.store.rows import (
    StagedRecord,
    concept_problem,
    obsolete_names,
    stage_concept,
    stage_record,
)
from mirror_index.store.staging import Staging

WINDOW_TEXTS = 16_384
WINDOW_RECORDS = 65_536


@dataclass(slots=True, kw_only=True)
class Window:
    """Records that are staged and encoded together, and the distinct texts among them."""

    records: list[StagedRecord] = field(default_factory=list)
    texts: set[bytes] = field(default_factory=set)

    def add(self, record: StagedRecord) -> None:
        """Take one more record."""
        self.records.append(record)
        self.texts.add(record.hash)

    @property
    def full(self) -> bool:
        """Whether it is time to encode."""
        return len(self.texts) >= WINDOW_TEXTS or len(self.records) >= WINDOW_RECORDS


class Intake:
    """Turns items into windows; concepts and rejected rows go to `staging` at once."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._rejected: list[Rejected] = []

    def windows(self, items: Iterable[SourceItem]) -> Iterator[Window]:
        """Yield windows of records until the items end."""
        window = Window()
        for item in items:
            for record in self._records(item):
                window.add(record)
            if window.full:
                yield window
                window = Window()
                self._flush()
        if window.records:
            yield window
        self._flush()

    def _records(self, item: SourceItem) -> Iterator[StagedRecord]:
        if isinstance(item, Rejected):
            self._rejected.append(item)
        elif isinstance(item, Record):
            yield from self._accepted(item)
        else:
            yield from self._concept(item)

    def _concept(self, concept: Concept) -> Iterator[StagedRecord]:
        problem = concept_problem(concept)
        if problem is not None:
            self._rejected.append(problem)
            return
        if self._staging.take_concept(stage_concept(concept), obsolete_names(concept)):
            for record in concept.records():
                yield from self._accepted(record, of_concept=True)

    def _accepted(self, record: Record, *, of_concept: bool = False) -> Iterator[StagedRecord]:
        staged = stage_record(record, of_concept=of_concept)
        if isinstance(staged, Rejected):
            self._rejected.append(staged)
        else:
            yield staged

    def _flush(self) -> None:
        self._staging.add_rejected(self._rejected)
        self._rejected.clear()
