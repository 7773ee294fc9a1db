"""Building and adding with given vectors: what takes the place of source and encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mirror_index.collection.collection import Collection
from mirror_index.collection.starting import writing
from mirror_index.collection.unencoded import is_unencoded
from mirror_index.config import EncoderConfig, ReadOptions
from mirror_index.encoding import open_encoder
from mirror_index.errors import UsageError
from mirror_index.given.pairing import survey
from mirror_index.given.vectors import (
    GivenVectors,
    StoredVectors,
    check_agreement,
    given_encoder,
    matched,
)
from mirror_index.index.vectorfile import map_rows
from mirror_index.readers import read
from mirror_index.readers.source import STDIN
from mirror_index.readers.vectorfiles import VectorRows, open_vectors
from mirror_index.records import Record, SourceItem
from mirror_index.store.layout import DATABASE, text_hash
from mirror_index.store.reading import ReadStore
from mirror_index.vectors import EncoderLike, FloatVector

Source = Callable[[], Iterable[SourceItem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The items whose vectors are sound, and what hands those vectors out."""

    items: Iterator[SourceItem]
    encoder: GivenVectors


def give_to_new(
    source: str | Path,
    options: ReadOptions,
    file: str | Path,
    encoder: str | Path | None,
    config: EncoderConfig,
) -> Given:
    """Pair a source with a file of vectors for a new collection.

    Args:
        source: a file, which is read twice.
        options: how it becomes records.
        file: ``FILE.npy``, ``FILE.parquet`` or ``FILE.parquet:column``. In a parquet source itself
            the column of vectors does not become metadata.
        encoder: what made the vectors, checked on a sample; None when nobody knows.
        config: how the encoder runs.

    Raises:
        SourceError: no file of vectors, or one of another dimension or number of rows.
        CollectionError: one text with two different vectors.
        EncoderMismatchError: the encoder did not make these vectors.
        UsageError: settings of an encoder without one, or standard input as a source.
    """
    _refuse_stdin(source)
    vectors = open_vectors(file)
    again = _reading(source, options, vectors)
    if encoder is not None:
        return _give(again, vectors, open_encoder(encoder, config), _nothing_stored)
    for name in ("pooling", "max_length", "prompt"):
        if getattr(config, name) is not None:
            raise UsageError(
                f"the option {name} means nothing for vectors without their encoder",
                value=getattr(config, name),
                remedy="Leave it out, or name the encoder that made them",
            )
    return _give(again, vectors, given_encoder(vectors), _nothing_stored)


def give_to(
    collection: Collection, source: str | Path, options: ReadOptions, file: str | Path
) -> Given:
    """Pair a source with a file of vectors for a collection that is there.

    Args:
        collection: open with the encoder that writes to it.
        source: a file, which is read twice.
        options: how it becomes records.
        file: as for `give_to_new`.

    Raises:
        SourceError: as `give_to_new`.
        CollectionError: one text with two different vectors, one of which may be stored.
        EncoderMismatchError: the collection's encoder did not make these vectors.
    """
    _refuse_stdin(source)
    vectors = open_vectors(file)
    if is_unencoded(collection.encoder.fingerprint):
        # What an interrupted add left may be of another file of vectors.
        with writing(collection.folder) as store:
            store.drop_pending(0)
    stored = _stored_in(collection.folder)
    return _give(_reading(source, options, vectors), vectors, collection.encoder, stored)


def _refuse_stdin(source: str | Path) -> None:
    if str(source) == STDIN:
        raise UsageError(
            "given vectors need the source once more than standard input can be read",
            remedy="Save it to a file and name that",
        )


def _reading(source: str | Path, options: ReadOptions, vectors: VectorRows) -> Source:
    """Return a function that reads a source, without the column its vectors stand in."""
    column = vectors.column
    if column is None or Path(source).resolve() != Path(vectors.where).resolve():
        return lambda: read(source, options)
    return lambda: (_without(item, column) for item in read(source, options))


def _without(item: SourceItem, column: str) -> SourceItem:
    if not isinstance(item, Record) or column not in item.metadata:
        return item
    metadata = {name: value for name, value in item.metadata.items() if name != column}
    return replace(item, metadata=metadata)


def _give(
    source: Source, vectors: VectorRows, encoder: EncoderLike, stored: StoredVectors
) -> Given:
    found = survey(source(), vectors)
    given = GivenVectors(vectors, found, encoder)
    check_agreement(encoder, found, vectors)
    return Given(items=matched(source(), found, vectors, stored), encoder=given)


def _nothing_stored(texts: Sequence[str]) -> dict[str, FloatVector]:
    del texts
    return {}


def _stored_in(folder: Path) -> StoredVectors:
    """Return a function that looks up the vectors of those texts that a collection has."""

    def look_up(texts: Sequence[str]) -> dict[str, FloatVector]:
        by_hash = {text_hash(text): text for text in texts if _is_unicode(text)}
        store = ReadStore(folder / DATABASE)
        try:
            with store.snapshot() as generation:
                path = folder / generation.vector_file
                vectors = map_rows(path, generation.vector_rows, generation.dim)
                found = store.rows_of_hashes(list(by_hash))
                return {by_hash[key]: vectors[row] for key, row in found}
        finally:
            store.close()

    return look_up


def _is_unicode(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text
