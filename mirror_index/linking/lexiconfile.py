"""The lexicon of a collection: kept in memory, and in a file beside the collection.

Arranging the names of a large dictionary takes longer than linking a mention, so a calibration
leaves the arrays in ``lexicon/``, as a plain ``.npz``. The file is a convenience: one that is
missing, of another state or version, or damaged (the CRC-32 of its parts tells) is passed over, and
the next writer clears it away.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from mirror_index import durable
from mirror_index.linking.lexicon import Array, Lexicon
from mirror_index.names import NAME_KEY_VERSION
from mirror_index.store.layout import lexicon_file

if TYPE_CHECKING:
    from mirror_index.collection import Collection

WORTH = 5_000
"""Names from which on reading the file is quicker than arranging them."""

_VERSION = 1
"""To be raised with any change of the arrays, or of how words are folded (`words`)."""

_ABOUT = "about"
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)

_KEPT: WeakKeyDictionary[Collection, Lexicon] = WeakKeyDictionary()


def lexicon_of(collection: Collection, generation: int | None = None) -> Lexicon:
    """Return the lexicon of a collection, read or made once for each committed state.

    Args:
        collection: a dictionary.
        generation: the state wanted; None takes the one at hand, if any.
    """
    held = _KEPT.get(collection)
    if held is None or (generation is not None and held.generation != generation):
        held = _stored(collection) or Lexicon.of(collection.keyed_names())
        _KEPT[collection] = held
    return held


def keep_lexicon(collection: Collection, lexicon: Lexicon, *, timeout: float = 10.0) -> bool:
    """Store a lexicon beside its collection, where that saves time.

    Returns:
        Whether it was stored: not when it is small, nor when the collection has moved on.

    Raises:
        CollectionBusyError: another writer holds the collection for longer than `timeout` seconds.
        CollectionError: the disk refused the file; what was there before is gone.
    """
    if len(lexicon.keys) < WORTH:
        return False
    from mirror_index.store.locking import writer_lock  # not on the path of linking

    with writer_lock(collection.folder, timeout):
        about = _about(collection)
        if about["generation"] != lexicon.generation:
            return False
        path = collection.folder / lexicon_file(lexicon.generation)
        durable.make_folder(path.parent)
        _write(path, {_ABOUT: np.frombuffer(_packed(about), dtype=np.uint8), **lexicon.arrays})
    return True


def _write(path: Path, arrays: Mapping[str, Array]) -> None:
    partial = path.with_suffix(".part")
    try:
        with durable.stated("write", partial), partial.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        durable.sync_file(partial)
        durable.rename(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _stored(collection: Collection) -> Lexicon | None:
    about = _about(collection)
    path = collection.folder / lexicon_file(about["generation"])
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if file[_ABOUT].tobytes() != _packed(about):
                return None
            arrays = {name: file[name] for name in file.files if name != _ABOUT}
        return Lexicon(about["generation"], about["texts"], arrays)
    except _UNREADABLE:
        return None


def _about(collection: Collection) -> dict[str, Any]:
    """Return what tells a committed state from all others, and the versions of the content."""
    state = collection.committed()
    return {
        "version": _VERSION,
        "name_key_version": NAME_KEY_VERSION,
        "generation": state.number,
        "committed_at": state.committed_at,
        "texts": state.live_texts,
    }


def _packed(about: dict[str, Any]) -> bytes:
    return json.dumps(about, sort_keys=True).encode()
