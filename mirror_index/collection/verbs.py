"""The changes that a source brings, each under the writer lock: build, add, update, sync."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mirror_index.collection.changing import Change
from mirror_index.collection.overwriting import old_state_is_sound
from mirror_index.collection.probes import check_fingerprint
from mirror_index.collection.report import ChangeReport
from mirror_index.collection.starting import (
    ChangeOptions,
    occupied,
    require_generation,
    writing,
)
from mirror_index.config import IndexSpec
from mirror_index.records import SourceItem
from mirror_index.store.locking import writer_lock
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike


def build(
    folder: Path,
    items: Iterable[SourceItem],
    encoder: EncoderLike,
    options: ChangeOptions,
    *,
    spec: IndexSpec,
    overwrite: bool,
    timeout: float,
) -> ChangeReport:
    """Build a collection, or go on with a build that was interrupted; see `Collection.build`."""
    with writer_lock(folder, timeout):
        sound = old_state_is_sound(folder) if overwrite else True
        with WriteStore(folder) as store:
            if store.generation() is not None and not overwrite:
                raise occupied(folder)
            change = Change(folder, store, encoder, options, spec=spec, fresh=True, sound=sound)
            return change.run(items)


def change(
    folder: Path,
    items: Iterable[SourceItem],
    encoder: EncoderLike,
    options: ChangeOptions,
    *,
    timeout: float,
) -> ChangeReport:
    """Change a finished collection; see `Collection.add`, `update` and `sync`."""
    with writing(folder, timeout) as store:
        current = require_generation(store, folder)
        check_fingerprint(encoder, current.encoder_fingerprint, current.dim, str(folder))
        return Change(folder, store, encoder, options).run(items)
