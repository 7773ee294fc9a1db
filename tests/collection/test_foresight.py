"""Estimates before the long work, and what is refused because of them."""

from __future__ import annotations

import gzip
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror_index.collection import Collection, foresight
from mirror_index.collection.foresight import Foresight, duration, size
from mirror_index.config import Dtype, IndexSpec, ReadOptions
from mirror_index.errors import CollectionError
from mirror_index.index.footprint import index_bytes
from mirror_index.progress import SilentReporter
from mirror_index.readers.measuring import size_of_source
from mirror_index.records import Record, SourceSize
from tests.fakes import HashEncoder

Usage = namedtuple("Usage", "total used free")
PLENTY = 10**15


class Notes(SilentReporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes that the disk says are free; the test may change them."""
    room = [PLENTY]
    monkeypatch.setattr(foresight.shutil, "disk_usage", lambda _: Usage(PLENTY, 0, room[0]))
    return room


def looking(
    folder: Path, spec: IndexSpec, rows: int | None, notes: Notes | None = None, dim: int = 64
) -> Foresight:
    expected = None if rows is None else SourceSize(rows=rows, how="lines counted")
    return Foresight(folder, spec, dim=dim, stored=0, expected=expected, reporter=notes or Notes())


def counted(count: int, encoder: HashEncoder) -> Iterator[Record]:
    assert encoder.encoded <= 4, "a text was encoded before the rows were checked"
    yield from (Record(id=str(n), text=f"name {n}") for n in range(count))


def test_an_index_too_large_is_refused_before_anything_is_encoded(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with pytest.raises(CollectionError, match=r"up to 90,000 texts \(lines counted\).*HNSW32"):
        Collection.build(
            tmp_path / "c",
            counted(90_000, encoder),
            encoder=encoder,
            spec=IndexSpec(kind="HNSW32", memory=10_000_000),
            expected=SourceSize(rows=90_000, how="lines counted"),
        )
    assert encoder.encoded == 0


def test_a_stream_is_checked_as_it_becomes_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 100)
    encoder = HashEncoder()
    records = [Record(id=str(n), text=f"name {n}") for n in range(1000)]
    spec = IndexSpec(kind="HNSW32", memory=index_bytes("HNSW32", 450, 64))
    with pytest.raises(CollectionError, match="500 texts would take"):
        Collection.build(tmp_path / "c", records, encoder=encoder, spec=spec)
    assert encoder.encoded == 500 + 4  # the canaries
    with Collection.build(
        tmp_path / "c", records, encoder=encoder, spec=IndexSpec(kind="HNSW32")
    ) as made:
        assert made.last_change is not None
        assert made.last_change.texts_encoded == 500
        assert made.last_change.records == 1000


def test_a_disk_without_room(tmp_path: Path, free: list[int]) -> None:
    spec = IndexSpec(kind="exact")
    needs = looking(tmp_path, spec, 100_000).needs()
    free[0] = needs.disk
    looking(tmp_path, spec, 100_000).check()
    free[0] = needs.disk - 1
    with pytest.raises(CollectionError, match=r"100,000 texts .* need about .* are free"):
        looking(tmp_path, spec, 100_000).check()
    half = looking(tmp_path, IndexSpec(kind="exact", dtype=Dtype.FLOAT16), 100_000)
    assert needs.disk - half.needs().disk == 100_000 * 64 * 2
    half.check()


def test_the_room_is_checked_again_as_it_goes(tmp_path: Path, free: list[int]) -> None:
    seen = looking(tmp_path, IndexSpec(kind="exact"), None)
    seen.check()
    seen.window(texts=1000, encoded=1000, seconds=1.0, text_bytes=20_000, records=1000)
    free[0] = 1_000_000
    with pytest.raises(CollectionError, match="goes on where it stopped"):
        seen.window(texts=1000, encoded=1000, seconds=1.0, text_bytes=20_000, records=1000)


def test_the_estimate_of_the_disk_is_near(tmp_path: Path) -> None:
    count = 3000
    text = "quite an ordinary name of a thing number"
    records = [
        Record(id=f"id-{n}", text=f"{text} {n}", metadata={"year": n, "source": "a"})
        for n in range(count)
    ]
    seen = looking(tmp_path, IndexSpec(kind="exact"), count)
    guessed = seen.needs().disk
    with Collection.build(tmp_path / "c", records, encoder=HashEncoder()) as made:
        used = made.info()["bytes"]["total"]
    assert 0.9 * used < guessed < 4 * used


def test_long_work_is_announced_and_short_work_is_not(tmp_path: Path) -> None:
    for rows, said in ((1_000_000, 1), (20_000, 0)):
        notes = Notes()
        spec = IndexSpec(memory=2_000_000_000)
        seen = looking(tmp_path, spec, rows, notes, dim=384)
        for _ in range(2):
            seen.window(
                texts=10_000, encoded=10_000, seconds=10.0, text_bytes=300_000, records=10_000
            )
        assert len(notes.said) == said
        if said:
            assert "1,000,000 texts (lines counted): 1,000 texts a second" in notes.said[0]
            assert "16 minutes to go" in notes.said[0]
            assert "IVF2048,PQ96x4fs, 59.2 MB in memory" in notes.said[0]


def test_wishes_that_exclude_each_other(tmp_path: Path) -> None:
    for impossible in (
        IndexSpec(latency=0.001, memory=1000),
        IndexSpec(latency=0.001, recall=1.0),
    ):
        with pytest.raises(CollectionError, match="no index of up to 5,000,000 texts"):
            looking(tmp_path, impossible, 5_000_000, dim=384).check()
    looking(tmp_path, IndexSpec(latency=10_000.0, memory=1000), 50_000).check()


def test_a_machine_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "memory_of_machine", lambda: 1_000_000)
    with pytest.raises(CollectionError, match=r"the machine has 1\.0 MB"):
        looking(tmp_path, IndexSpec(kind="HNSW32"), 100_000).check()


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl"])
def test_lines_are_counted(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("one\n" * 5000)
    assert size_of_source(path, ReadOptions()) == SourceSize(rows=5001, how="lines counted")


def test_large_and_compressed_files_are_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"a name with the number {n * 7919 % 200_003}" for n in range(200_000)]
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text("\n".join(lines))
    packed.write_bytes(gzip.compress("\n".join(lines).encode()))
    monkeypatch.setattr("mirror_index.readers.measuring._COUNTED_BYTES", 1)
    for path in (plain, packed):
        found = size_of_source(path, ReadOptions())
        assert found is not None
        assert "estimated" in found.how
        assert found.rows == pytest.approx(len(lines), rel=0.1)


def test_what_cannot_be_known(tmp_path: Path) -> None:
    assert size_of_source("-", ReadOptions()) is None
    assert size_of_source(tmp_path, ReadOptions()) is None
    (tmp_path / "a.obo").write_text("format-version: 1.2\n")
    assert size_of_source(tmp_path / "a.obo", ReadOptions()) is None
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert size_of_source(tmp_path / "broken.parquet", ReadOptions()) is None
    (tmp_path / "broken.txt.gz").write_bytes(b"no gzip")
    assert size_of_source(tmp_path / "broken.txt.gz", ReadOptions()) is None


def test_parquet_says_its_rows(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["a", "b", "c"]}), tmp_path / "a.parquet")
    found = size_of_source(tmp_path / "a.parquet", ReadOptions())
    assert found is not None
    assert found.rows == 3


def test_for_people() -> None:
    assert [size(n) for n in (7, 1500, 2_000_000, 3 * 10**12)] == [
        "7 B",
        "1.5 kB",
        "2.0 MB",
        "3.0 TB",
    ]
    assert [duration(s) for s in (61, 600, 9000)] == ["61 seconds", "10 minutes", "2.5 hours"]
