"""S7: two long texts that differ only past the encoder's limit."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import OnTruncate
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from tests.fakes import HashEncoder


def test_s07_truncated_texts(tmp_path: Path) -> None:
    encoder = HashEncoder(max_length=64)
    head = " ".join(f"word{number}" for number in range(599))
    items = [
        Record(id="a", text=f"{head} one", line=2),
        Record(id="b", text=f"{head} two", line=3),
        Record(id="c", text="short"),
    ]
    with pytest.raises(CollectionError, match=r"2 texts are longer .* 602 tokens") as raised:
        Collection.build(tmp_path / "no", items, encoder=encoder, on_truncate=OnTruncate.ERROR)
    assert "a (line 2)" in str(raised.value)
    assert "b (line 3)" in str(raised.value)
    with Collection.build(tmp_path / "c", items, encoder=encoder) as collection:
        assert collection.last_change.truncated == 2
        assert collection.last_change.collisions == 1
        audits = collection.audit()
        assert [(one.record_id, one.tokens, one.line) for one in audits] == [
            ("a", 602, 2),
            ("b", 602, 3),
        ]
        assert all(one.truncated and not one.unknown for one in audits)
        assert collection.info()["truncated"] == 2
        assert collection.add([Record(id="d", text=f"{head} three")]).collisions == 1


def test_a_build_that_reuses_the_vectors_reports_them_too(tmp_path: Path) -> None:
    encoder = HashEncoder(max_length=8)
    head = "one two three four five six seven eight"
    items = [Record(id="a", text=f"{head} nine"), Record(id="b", text=f"{head} ten")]
    Collection.build(tmp_path / "c", items, encoder=encoder).close()
    with Collection.build(tmp_path / "c", items, encoder=encoder, overwrite=True) as collection:
        change = collection.last_change
        assert (change.texts_encoded, change.texts_reused) == (0, 2)
        assert (change.truncated, change.collisions) == (2, 1)
    with Collection.build(tmp_path / "c", items[:1], encoder=encoder, overwrite=True) as collection:
        assert (collection.last_change.truncated, collection.last_change.collisions) == (1, 0)
