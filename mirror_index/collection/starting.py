"""What every change needs: the lock, the state it starts from, where it writes, what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

from mirror_index.choices import choose
from mirror_index.collection.report import ChangeReport
from mirror_index.config import Dtype, IndexSpec, OnDuplicate, OnTruncate
from mirror_index.errors import CollectionError
from mirror_index.index.choosing import AUTO, EXACT
from mirror_index.index.vectorfile import suffix_of
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import SourceItem, SourceSize
from mirror_index.store.counting import Totals
from mirror_index.store.generations import Generation
from mirror_index.store.layout import vector_file
from mirror_index.store.locking import writer_lock
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike

UPDATE = "update"
SYNC = "sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """How a change treats its source; see `Collection.build`, `add`, `update` and `sync`."""

    verb: str
    on_duplicate: OnDuplicate = OnDuplicate.ERROR
    on_truncate: OnTruncate = OnTruncate.REPORT
    source: str | None = None
    reporter: Reporter = SILENT
    allow_empty: bool = False
    allow_quarantine: bool = False
    expected: SourceSize | None = None

    def __post_init__(self) -> None:
        choose(self, on_duplicate=OnDuplicate, on_truncate=OnTruncate)
        if self.source is not None:  # the name of a file need not be UTF-8, what is stored must
            shown = self.source.encode("utf-8", "backslashreplace").decode()
            object.__setattr__(self, "source", shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a change writes.

    `base` rows of `file` stay; `fresh` replaces all records, `renewed` all texts too.
    """

    file: str
    base: int
    fresh: bool
    renewed: bool


@contextmanager
def writing(folder: Path, timeout: float = 0.0) -> Iterator[WriteStore]:
    """Hold the writer lock and a writing connection for the block."""
    with writer_lock(folder, timeout), WriteStore(folder) as store:
        yield store


def choose_target(
    current: Generation | None, encoder: EncoderLike, dtype: Dtype, *, fresh: bool, sound: bool
) -> Target:
    """Append to the current file, or start one for another encoder or dtype, or after damage."""
    suffix = suffix_of(dtype)
    if current is None:
        return Target(file=vector_file(1, suffix), base=0, fresh=True, renewed=True)
    same = current.encoder_fingerprint == encoder.fingerprint
    same = same and current.vector_file.endswith(suffix)
    if fresh and not (same and sound):
        number = int(Path(current.vector_file).stem) + 1
        return Target(file=vector_file(number, suffix), base=0, fresh=True, renewed=True)
    return Target(file=current.vector_file, base=current.vector_rows, fresh=fresh, renewed=False)


def require_generation(store: WriteStore, folder: Path) -> Generation:
    """Return the committed state that a change starts from.

    Raises:
        CollectionError: nothing was ever committed here.
    """
    current = store.generation()
    if current is None:
        raise CollectionError(
            "the collection was never finished",
            where=str(folder),
            remedy="Run the same build again: it goes on where it stopped, or remove it",
        )
    return current


def begun(items: Iterable[SourceItem]) -> Iterator[SourceItem]:
    """Take the first item now, so that a source that cannot be read at all leaves no folder."""
    rest = iter(items)
    return chain(list(islice(rest, 1)), rest)


def occupied(folder: Path) -> CollectionError:
    """Return the error for a build where a finished collection lies."""
    return CollectionError(
        "there is a collection here already",
        where=str(folder),
        remedy="Add to it, choose another folder, or build with overwrite (--overwrite)",
    )


def check_spec(spec: IndexSpec, dim: int) -> None:
    """Refuse an index kind that FAISS cannot build, before anything is encoded.

    Raises:
        UsageError: the kind is not "auto", "exact" or a usable factory string.
    """
    if spec.kind.strip().lower() in (AUTO, EXACT):
        return
    from mirror_index.index.building import check_factory  # faiss is only loaded where it is used

    check_factory(spec.kind.strip(), dim)


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def state_after(current: Generation, report: ChangeReport, totals: Totals) -> Generation:
    """Return the state that a change without a source leads to; its details are still the old."""
    return replace(
        current,
        number=report.generation,
        committed_at=now(),
        verb=report.verb,
        source=None,
        live_records=totals.records,
        live_texts=totals.live_texts,
        dead_texts=totals.dead_texts,
        concepts=totals.concepts,
    )
