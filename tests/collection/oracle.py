"""A collection as a plain dict, searched by brute force: what the real one is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import (
    Concept,
    Hit,
    Name,
    Record,
    Rejected,
    Scope,
    SourceItem,
    normalise_text,
)
from tests.fakes import HashEncoder

NOISE = 2e-6
"""Scores have six decimals, so two sums of the same numbers may differ by one of the last."""


@dataclass
class Oracle:
    """Records by id; scores in float64, given to six decimals, ties by id.

    With `half` the stored vectors are float16, made unit again; the query stays as it is.
    """

    encoder: HashEncoder
    records: dict[str, Record] = field(default_factory=dict)
    half: bool = False
    vectors: dict[str, Any] = field(default_factory=dict)

    def put(self, records: Iterable[Record]) -> None:
        for record in records:
            self.records[record.id] = record

    def drop(self, ids: Iterable[str]) -> None:
        for one in ids:
            self.records.pop(one, None)

    def vector(self, text: str) -> Any:
        if text not in self.vectors:
            self.vectors[text] = self.encoder.encode([text])[0].astype(np.float64)
        return self.vectors[text]

    def stored(self, text: str) -> Any:
        row = self.vector(text)
        if not self.half:
            return row
        rounded = row.astype(np.float16).astype(np.float64)
        return (rounded / np.sqrt(np.sum(rounded * rounded))).astype(np.float32).astype(np.float64)

    def search(
        self, query: str, k: int, keep: Callable[[Record], bool] = lambda record: True
    ) -> list[tuple[str, float]]:
        scored = [
            (record.id, self.score(query, record))
            for record in self.records.values()
            if keep(record)
        ]
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        return scored[:k]

    def score(self, query: str, record: Record) -> float:
        wanted, has = self.vector(normalise_text(query)), self.stored(normalise_text(record.text))
        return min(1.0, max(-1.0, round(float(np.sum(has * wanted)), 6)))

    def check(self, collection: Collection, queries: Iterable[str], k: int = 7) -> None:
        asked = list(queries)
        answers = collection.search(asked, SearchOptions(k=k))
        for query, hits in zip(asked, answers, strict=True):
            self.check_hits(query, hits, self.search(query, k))

    def check_hits(
        self, query: str, hits: Sequence[Hit], expected: Sequence[tuple[str, float]]
    ) -> None:
        """The same scores in the same order; two within the noise may change places."""
        assert len(hits) == len(expected), (query, hits, expected)
        assert len({hit.id for hit in hits}) == len(hits), (query, hits)
        wanted = [score for _, score in expected]
        assert np.allclose([hit.score for hit in hits], wanted, atol=NOISE, rtol=0), (query, hits)
        for hit, (id_, _) in zip(hits, expected, strict=True):
            record = self.records[hit.id]
            assert (hit.text, dict(hit.metadata)) == (record.text, dict(record.metadata))
            assert abs(hit.score - self.score(query, record)) <= NOISE, (query, hit)
            near = abs(self.score(query, self.records[id_]) - hit.score) <= NOISE
            assert hit.id == id_ or near, (query, hits)

    def check_content(self, collection: Collection) -> None:
        """Every record is there with its text and metadata, and nothing else is."""
        (hits,) = collection.search(["renal"], SearchOptions(k=len(self.records) + 9, exact=True))
        found = {hit.id: (hit.text, dict(hit.metadata)) for hit in hits}
        assert len(found) == len(hits)
        wanted = {one.id: (one.text, dict(one.metadata)) for one in self.records.values()}
        assert found == wanted
        assert collection.info()["records"] == len(self.records)


def names(count: int, start: int = 0) -> list[Record]:
    """Distinct, similar texts with metadata."""
    parts = ("renal", "cardiac", "hepatic", "ocular", "dermal", "neural", "gastric")
    kinds = ("failure", "injury", "tumour", "lesion", "defect")
    return [
        Record(
            id=f"r{number:05d}",
            text=f"{parts[number % 7]} {kinds[number % 5]} type {number}",
            metadata={"year": 1990 + number % 40, "kind": kinds[number % 5]},
            line=number + 1,
        )
        for number in range(start, start + count)
    ]


def every_kind(count: int) -> list[SourceItem]:
    """`names` and beside them something for every table: concepts, an obsolete one, a bad row."""
    return [
        *names(count),
        Concept(
            id="X:1",
            label="Kidney Failure",
            names=(Name(text="renal failure", scope=Scope.EXACT, name_type="layperson"),),
            definition="A failing kidney.",
            alt_ids=("X:7",),
            parents=("X:0",),
        ),
        Concept(id="X:2", label="obsolete thing", obsolete=True, replaced_by=("X:1",)),
        Record(id="d", text="a  raw   spelling", concept_id="D:1", scope=Scope.LABEL),
        Rejected(line=9, reason="bad", content="excerpt of it"),
    ]
