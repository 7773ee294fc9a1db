"""What a change is going to need, said before the long work, and refused when it cannot be had.

Rows come from looking at the source when it is a file, and become known window by window when it is
a stream. Repeated texts are stored once, so rows are the most there can be of texts.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from mirror_index.collection.approximation import size_of_index
from mirror_index.config import IndexSpec
from mirror_index.errors import CollectionError
from mirror_index.index.choosing import EXACT, choose, is_auto, memory_of_machine
from mirror_index.index.latency import fastest_scan
from mirror_index.progress import Reporter
from mirror_index.records import SourceSize

_ROW_BYTES = 700
"""Bytes of the database for a record and its text, checksums, indexes and the log; measured."""
_TEXT_FACTOR = 5
"""Times that a text is stored: itself, its words, the pending copy, the write-ahead log."""
_LONG_SECONDS = 60.0
_FAR_TOO_SLOW = 3.0
_UNKNOWN_TEXT_BYTES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a number of texts comes to.

    Attributes:
        texts: distinct texts, at most.
        kind: the index that is likely.
        disk: bytes that have still to be written.
        memory: bytes that the index holds while it is searched, and while it is built.
    """

    texts: int
    kind: str
    disk: int
    memory: int


class Foresight:
    """Estimates for one change; the caller tells it of every window.

    Args:
        folder: the collection's folder.
        spec: the index wanted.
        dim: values of a vector.
        stored: texts that are there already.
        expected: rows of the source, None when nothing can be known before reading it.
        reporter: hears the estimate when the work is going to be long.
    """

    def __init__(
        self,
        folder: Path,
        spec: IndexSpec,
        *,
        dim: int,
        stored: int,
        expected: SourceSize | None,
        reporter: Reporter,
    ) -> None:
        self._folder = folder
        self._spec = spec
        self._dim = dim
        self._stored = stored
        self._expected = expected
        self._reporter = reporter
        self._texts = 0
        self._text_bytes = 0
        self._records = 0
        self._told = False

    def check(self) -> None:
        """Refuse what cannot be done with the rows known or expected.

        Raises:
            CollectionError: the index takes more memory than is allowed or than the machine has,
                no index can be as fast as wished, or the disk lacks the room.
        """
        needs = self.needs()
        if needs.texts > self._stored:
            self._check_memory(needs)
            self._check_latency(needs)
            self._check_disk(needs)

    def window(
        self, *, texts: int, encoded: int, seconds: float, text_bytes: int, records: int
    ) -> None:
        """Take note of a window that is done, and check again.

        Args:
            texts: its distinct texts.
            encoded: those of them that were encoded.
            seconds: what that took.
            text_bytes: UTF-8 bytes of its texts.
            records: its records.

        Raises:
            CollectionError: as `check`; what is encoded is kept for the next run.
        """
        self._texts += texts
        self._text_bytes += text_bytes
        self._records += records
        if encoded and not self._told:
            self._told = True
            self._tell(encoded / max(1e-9, seconds))
        self.check()

    def needs(self) -> Needs:
        """Return what the rows known or expected come to."""
        coming = self._coming()
        texts = self._stored + max(coming, self._texts)
        left = max(0, coming - self._texts)
        each = self._dim * self._spec.dtype.item_size
        kind, memory = self._index(texts)
        per_text = self._text_bytes / self._texts if self._texts else _UNKNOWN_TEXT_BYTES
        database = round(max(coming, self._records) * (_ROW_BYTES + _TEXT_FACTOR * per_text))
        return Needs(texts=texts, kind=kind, disk=left * each + database + memory, memory=memory)

    def _coming(self) -> int:
        return self._texts if self._expected is None else max(self._texts, self._expected.rows)

    def _index(self, texts: int) -> tuple[str, int]:
        choice = choose(
            self._without_memory(),
            texts,
            self._dim,
            scan_ms=lambda: self._scan_ms(texts),
            size_of=lambda kind: size_of_index(kind, texts, self._dim),
        )
        kind = choice.kinds[0]
        return kind, 0 if kind == EXACT else size_of_index(kind, texts, self._dim)

    def _without_memory(self) -> IndexSpec:
        """Leave a kind that was asked for by name to `_check_memory`, whose message says more."""
        if is_auto(self._spec):
            return self._spec
        return IndexSpec(kind=self._spec.kind, recall=self._spec.recall)

    def _scan_ms(self, texts: int) -> float:
        return fastest_scan(texts * self._dim * self._spec.dtype.item_size)

    def _check_memory(self, needs: Needs) -> None:
        allowed = self._spec.memory
        if allowed is not None and needs.memory > allowed:
            raise CollectionError(
                f"the index of {self._known(needs.texts)} would take about "
                f"{size(needs.memory)} in memory, {size(allowed)} are allowed",
                value=needs.kind,
                remedy="Allow more memory, or use the index auto, which takes a kind that fits",
            )
        machine = memory_of_machine()
        if machine is not None and needs.memory > machine:
            raise CollectionError(
                f"the index of {self._known(needs.texts)} would take about "
                f"{size(needs.memory)} in memory, the machine has {size(machine)}",
                value=needs.kind,
                remedy=f"Give a memory budget, such as {size(machine // 2)}, or use exact",
            )

    def _check_latency(self, needs: Needs) -> None:
        wish = self._spec.latency
        if wish is None or needs.kind != EXACT or not is_auto(self._spec):
            return
        least = self._scan_ms(needs.texts)
        if least > _FAR_TOO_SLOW * wish:
            raise CollectionError(
                f"no index of {self._known(needs.texts)} keeps these wishes: only exact search "
                f"does without more memory or loss, and takes {least:.0f} ms or more",
                value=f"latency {wish} ms, memory {self._spec.memory}, recall {self._spec.recall}",
                remedy="Allow more memory, more time, or a recall below 1",
            )

    def _check_disk(self, needs: Needs) -> None:
        free = shutil.disk_usage(self._folder).free
        if needs.disk > free:
            raise CollectionError(
                f"{self._known(needs.texts)} need about {size(needs.disk)} more on disk, "
                f"{size(free)} are free",
                where=str(self._folder),
                remedy="Free space, choose another disk, or store vectors as float16; nothing is "
                "lost, the same command goes on where it stopped",
            )

    def _known(self, texts: int) -> str:
        if self._expected is None or self._texts >= self._expected.rows:
            return f"{texts:,} texts"
        return f"up to {texts:,} texts ({self._expected.how})"

    def _tell(self, rate: float) -> None:
        """Say what is to come when encoding takes more than a minute."""
        left = self._coming() - self._texts
        if left / rate < _LONG_SECONDS:
            return
        needs = self.needs()
        held = "" if needs.kind == EXACT else f", {size(needs.memory)} in memory"
        self._reporter.note(
            f"{self._known(needs.texts)}: {rate:,.0f} texts a second, about "
            f"{duration(left / rate)} to go; {size(needs.disk)} more on disk; "
            f"index {needs.kind}{held}"
        )


def size(count: int) -> str:
    """Return a number of bytes for people."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def duration(seconds: float) -> str:
    """Return a time span for people."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
