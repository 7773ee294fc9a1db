"""S6: two records share a text; one batch gives the one another, and a third the old one."""

from pathlib import Path

import numpy as np

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.records import Record
from tests.fakes import HashEncoder


def test_s06_shared_text_changes_hands(tmp_path: Path) -> None:
    encoder = HashEncoder()
    items = [Record(id="a", text="aspirin"), Record(id="b", text="aspirin")]
    with Collection.build(tmp_path / "c", items, encoder=encoder) as collection:
        assert collection.last_change.texts_encoded == 1
        report = collection.update(
            [Record(id="a", text="ibuprofen"), Record(id="c", text="aspirin")]
        )
        assert (report.updated, report.added) == (1, 1)
        assert (report.texts_encoded, report.texts_reused) == (1, 1)
        aspirin, ibuprofen = collection.search(["aspirin", "ibuprofen"], SearchOptions(k=3))
        assert [hit.id for hit in aspirin] == ["b", "c", "a"]
        assert [hit.score for hit in aspirin[:2]] == [1.0, 1.0]
        assert (ibuprofen[0].id, ibuprofen[0].score) == ("a", 1.0)
        expected = float(np.dot(*encoder.encode(["aspirin", "ibuprofen"]).astype(float)))
        assert abs(aspirin[2].score - expected) < 2e-6
        assert collection.verify(encoder=encoder).ok
