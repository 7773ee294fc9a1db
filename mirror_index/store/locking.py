"""One writer at a time: an operating-system lock on `writer.lock`, which also names its holder.

The lock belongs to the open file, so it is gone the moment its process is, however that ended. The
process id inside only serves the message; a stale one never blocks anybody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from mirror_index.errors import CollectionBusyError, CollectionError
from mirror_index.store.layout import LOCK


@contextmanager
def writer_lock(folder: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold the collection's writer lock for the block.

    Args:
        folder: the collection's folder; must exist.
        timeout: seconds to wait for another writer; 0 does not wait.

    Raises:
        CollectionBusyError: another writer holds it; the message names its process id.
        CollectionError: the folder cannot be written.
    """
    path = folder / LOCK
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=timeout)
    except Timeout as error:
        raise CollectionBusyError(
            f"another process is writing to the collection: process id {_holder(path)}",
            where=str(folder),
            remedy="Wait until it is done, or stop it; nothing committed is lost",
        ) from error
    except OSError as error:
        raise CollectionError(
            f"the collection cannot be written: {error.strerror or error}",
            where=str(path),
            remedy="Check the disk and the permissions; reading needs neither",
        ) from error
    try:
        with suppress(OSError):  # it only serves a message, and the disk may be full
            _holder_file(path).write_text(f"{os.getpid()}\n")
        yield
    finally:
        _holder_file(path).unlink(missing_ok=True)
        lock.release()


def _holder_file(path: Path) -> Path:
    """Beside the lock, because some systems do not let others read a locked file."""
    return path.with_suffix(".pid")


def _holder(path: Path) -> str:
    try:
        return _holder_file(path).read_text().strip() or "unknown"
    except OSError:
        return "unknown"
