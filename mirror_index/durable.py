"""Every file operation that a commit relies on, in one place: write, fsync, rename, remove.

A hook can be told of each operation just before it happens. Tests use it to fail at any one of
them; nothing else does.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from mirror_index.errors import CollectionError

Hook = Callable[[str, Path], None]

_CHUNK = 1 << 20
_hooks: list[Hook] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Rows that were appended and made durable together.

    Attributes:
        file: name of the vector file, relative to the collection.
        first_row: row of the first vector.
        rows: number of vectors.
        sha256: hex digest of their bytes.
    """

    file: str
    first_row: int
    rows: int
    sha256: str


@contextmanager
def watched(hook: Hook) -> Iterator[None]:
    """Call `hook(operation, path)` before each operation in the block; its errors propagate."""
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)


@contextmanager
def stated(operation: str, path: Path) -> Iterator[None]:
    """Announce an operation to the hooks, and say plainly which one the system refused.

    Raises:
        CollectionError: instead of an `OSError` in the block or a hook.
    """
    try:
        reached(operation, path)
        yield
    except OSError as error:
        raise CollectionError(
            f"cannot {operation} a file of the collection: {error.strerror or error}",
            where=str(path),
            remedy="Nothing committed is lost: free space or mend the disk, then run it again",
        ) from error


def reached(operation: str, path: Path) -> None:
    """Say that `operation` on `path` is about to happen."""
    for hook in _hooks:
        hook(operation, path)


def write_at(file: BinaryIO, offset: int, data: bytes | memoryview, path: Path) -> None:
    """Write `data` at `offset` and wait until it is on disk."""
    with stated("write", path):
        file.seek(offset)
        file.write(data)
        file.flush()
    with stated("sync", path):
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Wait until the content of `path` is on disk."""
    with stated("sync", path), path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on disk (where the system can open a folder)."""
    flags = getattr(os, "O_DIRECTORY", None)
    if flags is None:
        return
    with stated("sync", folder):
        descriptor = os.open(folder, os.O_RDONLY | flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Wait until every file below `folder`, and the folders themselves, are on disk."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
        else:
            sync_file(path)
    sync_folder(folder)


def make_folder(folder: Path) -> None:
    """Create `folder` with its parents, and wait until its name is on disk."""
    if folder.is_dir():
        return
    with stated("create", folder):
        folder.mkdir(parents=True, exist_ok=True)
    sync_folder(folder.parent)


def rename(source: Path, target: Path) -> None:
    """Put `source` in the place of `target` in one step, and wait until the names are on disk."""
    with stated("rename", target):
        source.replace(target)
    sync_folder(target.parent)


def remove(path: Path) -> None:
    """Remove a file or a whole folder; nothing happens when it is not there."""
    with stated("remove", path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def sha256_of(path: Path, offset: int = 0, length: int | None = None) -> str:
    """Return the SHA-256 (hex) of `length` bytes of a file from `offset`; None is the rest."""
    digest = hashlib.sha256()
    left = length
    with path.open("rb") as file:
        file.seek(offset)
        while left is None or left > 0:
            block = file.read(_CHUNK if left is None else min(_CHUNK, left))
            if not block:
                break
            digest.update(block)
            left = None if left is None else left - len(block)
    return digest.hexdigest()


@contextmanager
def utf8_folder(folder: Path) -> Iterator[str]:
    """Give a folder, for the block, a name that libraries written in C++ and Rust take.

    They want UTF-8; a name on a Unix disk may be any bytes, and then a link stands for it.
    """
    try:
        os.fsencode(folder).decode("utf-8")
    except UnicodeDecodeError:
        with TemporaryDirectory() as beside:
            link = Path(beside) / "folder"
            link.symlink_to(folder.resolve(), target_is_directory=True)
            yield str(link)
    else:
        yield str(folder)
