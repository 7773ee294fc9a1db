"""Every error the library raises: what happened, to which value, where, and what to do about it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit status of the command line, the same for every verb."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    QUARANTINED = 3
    BUSY = 75


class MirrorIndexError(Exception):
    """Base of the family: what failed, and optionally the value, the place and the remedy.

    Args:
        what: what went wrong, in a sentence without a full stop.
        value: the offending value, shown with `repr` (shortened past 200 characters).
        where: file, row or record it happened at, e.g. ``"names.tsv, line 12"``.
        remedy: what the user can do about it.

    The message has at most 4,000 characters of `what` and 600 of `remedy`; the attributes have all.
    """

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(
        self,
        what: str,
        *,
        value: object = None,
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what = what
        self.value = value
        self.where = where
        self.remedy = remedy
        super().__init__(self._message())

    def _message(self) -> str:
        parts = [_short(self.what, 4000)]
        if self.value is not None:
            parts.append(f": {_short(repr(self.value), 200)}")
        if self.where is not None:
            parts.append(f" ({self.where})")
        if self.remedy is not None:
            parts.append(f". {_short(self.remedy, 600)}")
        return "".join(parts)


def _short(text: str, most: int) -> str:
    """Cut what a source may have made as long as it likes, such as the names of its columns."""
    return text if len(text) <= most else text[: most - 3] + "..."


class UsageError(MirrorIndexError):
    """An argument or option that cannot be used as given."""

    exit_code = ExitCode.USAGE


class SourceError(MirrorIndexError):
    """A source that cannot be read at all: missing, of unknown format, without its column."""


class EncoderError(MirrorIndexError):
    """An encoder that cannot be loaded, saved, exported or run."""


class EncoderMismatchError(EncoderError):
    """An encoder other than the one a collection was built with."""


class TuningError(MirrorIndexError):
    """Tuning that cannot start or did not succeed, e.g. too few distinct strings."""


class NoGainError(TuningError):
    """Tuning that did not help although a gain was required."""


class CollectionError(MirrorIndexError):
    """A collection that cannot be opened, created or changed as asked."""


class CollectionCorruptError(CollectionError):
    """A collection whose files disagree with what was committed."""


class CollectionBusyError(CollectionError):
    """Another process is writing to the collection."""

    exit_code = ExitCode.BUSY


class FilterError(UsageError):
    """A ``--where`` expression that cannot be parsed or holds something that is not allowed."""
