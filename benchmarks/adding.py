"""What an add costs as the collection grows: seconds and bytes written, with a free encoder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness import Spread, UnavailableError, say, seconds_of, threads, workspace
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.collection import Collection
from mirror_index.config import IndexSpec
from mirror_index.records import Record
from mirror_index.vectors import Encoded, FloatMatrix

SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (1_000, 10_000)
ADDED = 1_000
REPEATS = 5
DIM = 384

_COLUMNS = (
    Column(name="records before", spec=",d"),
    Column(name="build s", spec=".1f"),
    Column(name="add s", spec=".3f"),
    Column(name="lowest", spec=".3f"),
    Column(name="highest", spec=".3f"),
    Column(name="MB written", spec=".1f"),
    Column(name="update s", spec=".3f"),
    Column(name="delete s", spec=".3f"),
    Column(name="rollback s", spec=".3f"),
)
_NOTE = (
    f"Adds {ADDED:,} records of new texts to collections of several sizes, {REPEATS} times each; "
    "the median with the ends. The encoder is a hash function that costs microseconds a text "
    f"({DIM} dimensions), so that only the store is measured; the texts are generated. An add "
    "opens and closes the database, writes and syncs the vectors, and commits. Written are the "
    "bytes this process passed to the system, the write-ahead log and its merge included. Update "
    "replaces the metadata of the records added last, delete removes them, rollback brings them "
    "back; one run each. Search is exact: the rebuild of an approximate index, due when a fifth "
    "of the rows are new, is not part of this."
)


class HashedVectors:
    """Unit vectors from a hash of the text: as good as random, and the same every time."""

    dim = DIM
    fingerprint = hashlib.sha256(b"benchmarks.adding").hexdigest()

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows."""
        data = b"".join(hashlib.shake_128(text.encode()).digest(DIM) for text in texts)
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, DIM).astype(np.float32) - 127.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with an audit that finds nothing."""
        nothing = np.zeros(len(texts), dtype=np.bool_)
        return Encoded(
            vectors=self.encode(texts),
            tokens=np.full(len(texts), 8),
            truncated=nothing,
            unknown=nothing,
        )

    def save(self, folder: Path) -> None:
        """Write something that stands for an encoder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hashed.txt").write_text("benchmarks.adding\n", encoding="ascii")


def run(quick: bool) -> Result:
    """Measure adds to collections of growing size."""
    if not Path("/proc/self/io").exists():
        raise UnavailableError("the bytes written are read from /proc, which is not there")
    sizes = QUICK_SIZES if quick else SIZES
    return Result(
        title=f"adding {ADDED:,} records to a collection of n",
        tables=(
            Table(
                title="Time and bytes written",
                columns=_COLUMNS,
                rows=[_measure(size) for size in sizes],
            ),
        ),
        note=_NOTE,
        settings={"threads": threads(), "added": ADDED, "repeats": REPEATS, "dim": DIM},
    )


def _measure(size: int) -> list[Cell]:
    say(f"  {size:,} records")
    encoder = HashedVectors()
    with workspace() as place:
        folder = place / "collection"

        def build() -> None:
            spec = IndexSpec(kind="exact")
            Collection.build(folder, _records(0, size), encoder=encoder, spec=spec).close()

        building = seconds_of(build)
        os.sync()  # the build's pages must not be written while adds are measured
        adds, written = [], []
        with Collection.open(folder, encoder=encoder) as collection:
            for turn in range(REPEATS):
                fresh = list(_records(size + turn * ADDED, ADDED))
                before = _bytes_written()
                adds.append(seconds_of(lambda items=fresh: collection.add(items)))
                written.append(float(_bytes_written() - before))
            others = _others(collection, fresh)
    spread = Spread.of(adds)
    megabytes = Spread.of(written).median / 1e6
    return [size, building, spread.median, spread.low, spread.high, megabytes, *others]


def _others(collection: Collection, records: Sequence[Record]) -> list[Cell]:
    changed = [Record(id=one.id, text=one.text, metadata={"year": 1}) for one in records]
    ids = [one.id for one in records]
    updating = seconds_of(lambda: collection.update(changed))
    deleting = seconds_of(lambda: collection.delete(ids))
    generation = collection.history()[1].generation
    return [updating, deleting, seconds_of(lambda: collection.rollback(generation))]


def _records(start: int, count: int) -> Iterator[Record]:
    """Yield records whose words come from a vocabulary of 20,000, as in a collection of titles."""
    for number in range(start, start + count):
        mixed = int.from_bytes(hashlib.blake2b(str(number).encode(), digest_size=16).digest())
        words = " ".join(f"word{(mixed >> (15 * place)) % 20_000}" for place in range(5))
        yield Record(
            id=f"r{number}", text=f"{words} {number}", metadata={"year": 1990 + number % 30}
        )


def _bytes_written() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"])
