"""The audit: texts read in part, with unknown tokens, or exactly like another text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mirror_index.collection import Collection
from mirror_index.records import Record
from mirror_index.vectors import Encoded
from tests.fakes import HashEncoder


class Upper(HashEncoder):
    """Does not know texts with a question mark."""

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        found = super().encode_audited(texts)
        unknown = np.array(["?" in text for text in texts], dtype=np.bool_)
        return Encoded(
            vectors=found.vectors, tokens=found.tokens, truncated=found.truncated, unknown=unknown
        )


def audited(collection: Collection) -> dict[str, tuple[bool, bool, str | None]]:
    return {
        row.record_id: (row.truncated, row.unknown, row.collides_with) for row in collection.audit()
    }


def test_what_is_listed_and_counted(tmp_path: Path) -> None:
    long = "word " * 70
    items = [
        Record(id="a", text=long + "one"),
        Record(id="b", text=long + "two"),
        Record(id="c", text="Aspirin"),
        Record(id="d", text="aspirin"),
        Record(id="e", text="ASPIRIN"),
        Record(id="f", text="who?"),
        Record(id="g", text="plain"),
        Record(id="h", text="plain"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=Upper()) as collection:
        assert collection.last_change is not None
        assert collection.last_change.collisions == 3
        assert audited(collection) == {
            "a": (True, False, long + "two"),
            "b": (True, False, long + "one"),
            "c": (False, False, "aspirin"),
            "d": (False, False, "Aspirin"),
            "e": (False, False, "Aspirin"),
            "f": (False, True, None),
        }
        assert [row.record_id for row in collection.audit(limit=2)] == ["a", "b"]
        counts = collection.info()
        names = ("truncated", "unknown", "repeated", "quarantined", "skipped")
        assert [counts[name] for name in names] == [2, 1, 1, 0, 0]
        collection.delete(["b", "c"])
        assert audited(collection) == {
            "a": (True, False, None),
            "d": (False, False, "ASPIRIN"),
            "e": (False, False, "aspirin"),
            "f": (False, True, None),
        }
