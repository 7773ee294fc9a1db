"""A collection as a plain dict, searched by brute force: what the real one is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record, normalise_text
from tests.fakes import HashEncoder


@dataclass
class Oracle:
    """Records by id; scores in float64, given to six decimals, ties by id."""

    encoder: HashEncoder
    records: dict[str, Record] = field(default_factory=dict)
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

    def search(
        self, query: str, k: int, keep: Callable[[Record], bool] = lambda record: True
    ) -> list[tuple[str, float]]:
        wanted = self.vector(normalise_text(query))
        scored = []
        for record in self.records.values():
            if keep(record):
                score = float(np.sum(self.vector(normalise_text(record.text)) * wanted))
                scored.append((record.id, min(1.0, max(-1.0, round(score, 6)))))
        scored.sort(key=lambda pair: (-pair[1], pair[0]))
        return scored[:k]

    def check(self, collection: Collection, queries: Iterable[str], k: int = 7) -> None:
        asked = list(queries)
        answers = collection.search(asked, SearchOptions(k=k))
        for query, hits in zip(asked, answers, strict=True):
            expected = self.search(query, k)
            assert [hit.id for hit in hits] == [id_ for id_, _ in expected], query
            assert np.allclose([h.score for h in hits], [s for _, s in expected], atol=2e-6)


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
