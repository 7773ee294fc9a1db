"""Which files belong to a collection, and removing those that an interrupted change left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mirror_index import durable
from mirror_index.errors import CollectionError
from mirror_index.store.generations import Generation
from mirror_index.store.layout import ANN, DATABASE, ENCODER, LEXICON, LOCK, VECTORS, lexicon_file

_OWN_FILES = frozenset(
    {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", LOCK, "writer.pid"}
)
_LEXICON_NAME = re.compile(r"\d{6,}\.npz")
_ENCODER_NAME = re.compile(rf"{ENCODER}(-\d{{6,}})?")


def encoder_folder(current: Generation | None, number: int) -> str:
    """Return the folder for a new encoder: plain at first, numbered when it is replaced."""
    return ENCODER if current is None else f"{ENCODER}-{number:06d}"


def leftovers(folder: Path, current: Generation | None) -> Iterator[Path]:
    """Yield vector, index and encoder files that the committed state does not use."""
    used = set() if current is None else {current.vector_file, current.ann_file}
    used.update(path.relative_to(folder).as_posix() for path in _lexicons(folder))
    for part in (VECTORS, ANN, LEXICON):
        for path in sorted((folder / part).glob("*")):
            if path.relative_to(folder).as_posix() not in used:
                yield path
    for path in sorted(folder.glob(f"{ENCODER}*")):
        ours = _ENCODER_NAME.fullmatch(path.name)
        if ours and (current is None or path.name != current.encoder_folder):
            yield path


def _lexicons(folder: Path) -> list[Path]:
    """Return the lexicons of any state; a stale one is no sign of an interrupted change."""
    found = (folder / LEXICON).glob("*")
    return sorted(path for path in found if _LEXICON_NAME.fullmatch(path.name))


def strangers(folder: Path) -> Iterator[Path]:
    """Yield files in the folder that no collection makes; they are reported and never touched."""
    for path in sorted(folder.iterdir()):
        own = path.name in _OWN_FILES or path.name in (VECTORS, ANN, LEXICON)
        if not own and not _ENCODER_NAME.fullmatch(path.name):
            yield path


def remove_leftovers(
    folder: Path, current: Generation | None, keep: set[str] | None = None
) -> None:
    """Remove what earlier writers left; only a holder of the writer lock may call this."""
    for path in list(leftovers(folder, current)):
        if path.relative_to(folder).as_posix() not in (keep or set()):
            durable.remove(path)
    for path in _lexicons(folder):
        if current is None or path != folder / lexicon_file(current.number):
            durable.remove(path)


def claim_folder(folder: Path) -> None:
    """Make sure a build may use `folder`: missing, empty, or a collection.

    Raises:
        CollectionError: it is a file, or holds something else. Whether a finished collection may be
            replaced is decided later, under the writer lock.
    """
    if folder.exists() and not folder.is_dir():
        raise CollectionError(
            "the place for the collection is a file", where=str(folder), remedy="Give a folder"
        )
    if folder.is_dir() and not (folder / DATABASE).exists():
        # Without a lock file no writer was ever here: not even "encoder" is ours to remove then.
        foreign = strangers(folder) if (folder / LOCK).exists() else folder.iterdir()
        for path in foreign:
            raise CollectionError(
                "the folder holds other things than a collection",
                value=path.name,
                where=str(folder),
                remedy="Give a new or empty folder",
            )
    durable.make_folder(folder)
