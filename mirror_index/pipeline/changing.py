"""Changing a collection by a source: add, update, sync; linking is calibrated again when due."""

from __future__ import annotations

from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.collection.unencoded import load_unencoded
from mirror_index.config import EncoderConfig, OnDuplicate, OnTruncate, ReadOptions
from mirror_index.encoding import load_stored_encoder
from mirror_index.given.building import give_to
from mirror_index.linking.refitting import refit_when_due
from mirror_index.pipeline.remembering import as_before, remember
from mirror_index.progress import SILENT, Reporter
from mirror_index.readers import read


def open_for_writing(folder: Path, encoder_config: EncoderConfig | None = None) -> Collection:
    """Open a collection with an encoder that is light for a few texts and fast for many."""
    with Collection.open(folder) as reader:
        encoder_folder = reader.encoder_folder
    encoder = load_unencoded(encoder_folder) or load_stored_encoder(encoder_folder, encoder_config)
    return Collection.open(folder, encoder=encoder)


def add_to_collection(
    source: str | Path,
    folder: Path,
    *,
    update: bool = False,
    vectors: str | Path | None = None,
    read_options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    encoder_config: EncoderConfig = EncoderConfig(),  # noqa: B008 (frozen)
    on_duplicate: OnDuplicate = OnDuplicate.ERROR,
    on_truncate: OnTruncate = OnTruncate.REPORT,
    reporter: Reporter = SILENT,
) -> Collection:
    """Add the records of a source to a collection, or with `update` add and replace by id.

    `vectors` is a file with the vector of each record, as for `build_collection`. Where
    `read_options` are the default, a source that was read before is read as it was then.

    Returns:
        The collection, open; its `last_change` says what was done.

    Raises:
        MirrorIndexError: whatever reading, encoding or writing cannot do.
    """
    read_options = as_before(folder, source, read_options, reporter)
    items = read(source, read_options)
    collection = open_for_writing(folder, encoder_config)
    if vectors is not None:
        given = give_to(collection, source, read_options, vectors)
        collection.close()
        items, collection = given.items, Collection.open(folder, encoder=given.encoder)
    change = collection.update if update else collection.add
    change(
        items,
        on_duplicate=on_duplicate,
        on_truncate=on_truncate,
        source=str(source),
        reporter=reporter,
    )
    remember(collection, source, read_options, reporter)
    refit_when_due(collection, reporter)
    return collection


def sync_collection(
    source: str | Path,
    folder: Path,
    *,
    read_options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    encoder_config: EncoderConfig = EncoderConfig(),  # noqa: B008 (frozen)
    on_duplicate: OnDuplicate = OnDuplicate.ERROR,
    on_truncate: OnTruncate = OnTruncate.REPORT,
    allow_empty: bool = False,
    allow_quarantine: bool = False,
    reporter: Reporter = SILENT,
) -> Collection:
    """Make a collection equal to a source, and return it open; see `Collection.sync`.

    Where `read_options` are the default, a source that was read before is read as it was then.

    Raises:
        MirrorIndexError: whatever reading, encoding, writing cannot do; a forbidden removal.
    """
    read_options = as_before(folder, source, read_options, reporter)
    items = read(source, read_options)
    collection = open_for_writing(folder, encoder_config)
    collection.sync(
        items,
        on_duplicate=on_duplicate,
        on_truncate=on_truncate,
        source=str(source),
        allow_empty=allow_empty,
        allow_quarantine=allow_quarantine,
        reporter=reporter,
    )
    remember(collection, source, read_options, reporter, anew=True)
    refit_when_due(collection, reporter)
    return collection
