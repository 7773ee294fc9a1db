"""Source items to windows of staged rows, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mirror_index.errors import CollectionError, EncoderError, UsageError
from mirror_index.index.vectorfile import odd_rows, vector_keys
from mirror_index.records import Concept, Record, Rejected, SourceItem
from mirror_index.store.layout import text_hash
from mirror_index.store.rows import (
    StagedRecord,
    concept_problem,
    obsolete_names,
    stage_concept,
    stage_record,
)
from mirror_index.store.staging import Staging, Taken
from mirror_index.store.writing import TextRow
from mirror_index.vectors import Encoded

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

    def forget(self, concept_id: str) -> None:
        """Drop the names of a concept that comes again and replaces this one."""
        self.records = [
            record
            for record in self.records
            if not (record.of_concept and record.concept_id == concept_id)
        ]

    @property
    def full(self) -> bool:
        """Whether it is time to encode."""
        return len(self.texts) >= WINDOW_TEXTS or len(self.records) >= WINDOW_RECORDS


class Intake:
    """Turns items into windows; concepts and rejected rows go to `staging` at once."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._rejected: list[Rejected] = []
        self._window = Window()

    def windows(self, items: Iterable[SourceItem]) -> Iterator[Window]:
        """Yield windows of records until the items end."""
        for item in items:
            for record in self._records(item):
                self._window.add(record)
            if self._window.full:
                yield self._window
                self._window = Window()
                self._flush()
            elif len(self._rejected) >= WINDOW_RECORDS:  # a source may hold nothing else
                self._flush()
        if self._window.records:
            yield self._window
        self._flush()

    def _records(self, item: SourceItem) -> Iterator[StagedRecord]:
        if isinstance(item, Rejected):
            self._rejected.append(item)
        elif isinstance(item, Record):
            yield from self._accepted(item)
        elif isinstance(item, Concept):
            yield from self._concept(item)
        else:
            raise UsageError(
                "this is neither a record nor a concept",
                value=item,
                remedy="Pass a list of mirror_index.Record or Concept; `read` makes them of a file",
            )

    def _concept(self, concept: Concept) -> Iterator[StagedRecord]:
        problem = concept_problem(concept)
        if problem is not None:
            self._rejected.append(problem)
            return
        taken = self._staging.take_concept(stage_concept(concept), obsolete_names(concept))
        if taken is Taken.REPLACES:
            self._window.forget(concept.id)
        if taken is not Taken.LEFT_OUT:
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


def text_rows(texts: Sequence[str], encoded: Encoded, first_row: int) -> list[TextRow]:
    """Return the rows of texts just encoded; `first_row` is where their vectors go.

    Raises:
        EncoderError: the encoder gave something else than one unit row per text.
    """
    if len(encoded.vectors) != len(texts):
        raise EncoderError(f"the encoder gave {len(encoded.vectors)} rows for {len(texts)} texts")
    for row in odd_rows(encoded.vectors):
        raise EncoderError(
            "the encoder gave a vector that is not of length 1",
            value=texts[row],
            remedy="Check the encoder: NaN and Inf come from damaged weights or low precision",
        )
    keys = vector_keys(encoded.vectors)
    return [
        TextRow(
            row=first_row + place,
            text=text,
            hash=text_hash(text),
            tokens=int(encoded.tokens[place]),
            truncated=bool(encoded.truncated[place]),
            has_unknown=bool(encoded.unknown[place]),
            vector_key=int(keys[place]),
        )
        for place, text in enumerate(texts)
    ]


def refuse_truncated(rows: Sequence[TextRow], staging: Staging) -> None:
    """Raise when there are texts that the encoder reads only in part.

    Raises:
        CollectionError: names up to ten of the records with their lines.
    """
    if not rows:
        return
    shown = staging.records_of((row.hash for row in rows), 10)
    names = ", ".join(id_ if line is None else f"{id_} (line {line})" for id_, line in shown)
    raise CollectionError(
        f"{len(rows)} texts are longer than the encoder reads, the longest has "
        f"{max(row.tokens for row in rows)} tokens",
        where=f"records {names}",
        remedy="Shorten them, or let them be cut and reported: on_truncate (--on-truncate) report",
    )
