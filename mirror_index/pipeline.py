"""The main job as one call: read, tune if asked, encode, index, calibrate linking."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mirror_index.collection import Collection
from mirror_index.collection.starting import occupied
from mirror_index.collection.unencoded import load_unencoded
from mirror_index.config import (
    EncoderConfig,
    IndexSpec,
    MirrorConfig,
    OnDuplicate,
    OnTruncate,
    Preset,
    ReadOptions,
)
from mirror_index.durable import sha256_of
from mirror_index.encoding import load_stored_encoder, open_encoder
from mirror_index.errors import CollectionError, UsageError
from mirror_index.given.building import give_to, give_to_new
from mirror_index.linking.refitting import refit_when_due
from mirror_index.npy import NpyWriter
from mirror_index.progress import SILENT, Reporter
from mirror_index.readers import read
from mirror_index.readers.measuring import size_of_source
from mirror_index.readers.source import STDIN, source_file
from mirror_index.records import Record, Rejected, SourceItem, normalise_text
from mirror_index.vectors import EncoderLike

REQUEST_FILE = "made-for.json"
PHRASES = MirrorConfig.for_preset(Preset.PHRASE)
ENCODE_WINDOW = 16_384
"""Records encoded at a time by `encode_source`; bounds its memory."""


def build_collection(
    source: str | Path,
    folder: Path,
    *,
    encoder: str | Path | None = None,
    vectors: str | Path | None = None,
    tuned: bool | MirrorConfig = False,
    read_options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    encoder_config: EncoderConfig = EncoderConfig(),  # noqa: B008 (frozen)
    spec: IndexSpec = IndexSpec(),  # noqa: B008 (frozen)
    on_duplicate: OnDuplicate = OnDuplicate.ERROR,
    on_truncate: OnTruncate = OnTruncate.REPORT,
    overwrite: bool = False,
    reporter: Reporter = SILENT,
) -> Collection:
    """Make a collection from a source and return it open.

    Args:
        source: a file, or "-" for standard input (which cannot be tuned on: it is read twice).
        folder: the collection's folder.
        encoder: model folder or hub name; None for the default encoder.
        vectors: a .npy or .parquet file with the vector of each record, which then is not encoded.
            They are bound to `encoder`, or to none when that is None; see docs/storage.md.
        tuned: tune the encoder on the source first: True for the phrase preset, or the settings.
            The tuned encoder lies beside the collection in ``<name>.encoder`` and is used again
            when an interrupted build is repeated.
        read_options: how the source becomes records.
        encoder_config: how texts are encoded.
        spec: the index wanted.
        on_duplicate: what to do with an id that comes twice with different content.
        on_truncate: whether texts longer than the encoder reads fail the build.
        overwrite: replace a finished collection.
        reporter: receives progress.

    Raises:
        MirrorIndexError: whatever reading, tuning, encoding or building cannot do.
    """
    items = read(source, read_options)  # first: a source that is not there must cost no training
    if tuned:
        if vectors is not None:
            raise UsageError(
                "given vectors are not those of a tuned encoder",
                value=str(vectors),
                remedy="Leave out the vectors or the tuning",
            )
        if str(source) == STDIN:
            raise UsageError(
                "tuning reads the source once more than standard input can be read",
                remedy="Save it to a file and name that",
            )
        _refuse_several_processes()
        if not overwrite:
            _refuse_finished(folder)
        config = tuned if isinstance(tuned, MirrorConfig) else PHRASES
        encoder = _tuned_encoder(source, folder, encoder, config, read_options, reporter)
    model: EncoderLike
    if vectors is None:
        model = open_encoder(encoder, encoder_config)
    else:
        given = give_to_new(source, read_options, vectors, encoder, encoder_config)
        items, model = given.items, given.encoder
    collection = Collection.build(
        folder,
        items,
        encoder=model,
        spec=spec,
        on_duplicate=on_duplicate,
        on_truncate=on_truncate,
        overwrite=overwrite,
        source=str(source),
        expected=size_of_source(source, read_options),
        reporter=reporter,
    )
    refit_when_due(collection, reporter)
    return collection


def _refuse_several_processes() -> None:
    """Several processes can tune together, but one alone builds a collection."""
    from mirror_index.tuning.processes import launched  # torch, which tuning needs in any case

    if launched():
        raise UsageError(
            "a launcher started several processes, and only one can build a collection",
            remedy="Launch `tune` with several, then build with --encoder and its folder",
        )


def _refuse_finished(folder: Path) -> None:
    """Say at once, before minutes of tuning, that a finished collection is in the way."""
    try:
        Collection.open(folder).close()
    except CollectionError:
        return  # none, or one that `Collection.build` goes on with or reports on
    raise occupied(folder)


def _tuned_encoder(
    source: str | Path,
    folder: Path,
    base: str | Path | None,
    config: MirrorConfig,
    read_options: ReadOptions,
    reporter: Reporter,
) -> Path:
    """Tune beside the collection, or take what the same request has tuned before."""
    from mirror_index.tuning import tune  # torch and transformers

    output = folder.with_name(folder.name + ".encoder")
    request = {
        "source": Path(source).name,
        "source_sha256": sha256_of(Path(source_file(source))),
        "synonyms_sha256": read_options.synonyms and sha256_of(Path(read_options.synonyms)),
        "base": None if base is None else str(base),
        "config": config.to_json(),
        "read_options": asdict(read_options),
    }
    request = json.loads(json.dumps(request))  # tuples are lists once written and read
    note = output / REQUEST_FILE
    if note.is_file() and json.loads(note.read_text(encoding="utf-8")) == request:
        reporter.note(f"Using the encoder tuned before: {output}")
        return output
    if output.exists():
        raise UsageError(
            "an encoder tuned for another source or with other settings is in the way",
            value=str(output),
            remedy="Remove it, or give it as --encoder instead of --tune",
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    result = tune(
        read(source, read_options), output, encoder=base, config=config, reporter=reporter
    )
    note.write_text(json.dumps(request, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    reporter.note(result.card.render())
    return output


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

    `vectors` is a file with the vector of each record, as for `build_collection`.

    Returns:
        The collection, open; its `last_change` says what was done.

    Raises:
        MirrorIndexError: whatever reading, encoding or writing cannot do.
    """
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

    Raises:
        MirrorIndexError: whatever reading, encoding, writing cannot do; a forbidden removal.
    """
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
    refit_when_due(collection, reporter)
    return collection


def encode_source(
    source: str | Path,
    output: Path,
    *,
    encoder: str | Path | None = None,
    read_options: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
    encoder_config: EncoderConfig = EncoderConfig(),  # noqa: B008 (frozen)
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Write one float32 unit row per record of a source to a ``.npy`` file.

    Record ids go to ``<output>.ids.txt``, one a line, in the order of the rows. Both files appear
    whole or not at all; memory does not grow with the source.

    Returns:
        Counts: rows, dim, truncated, unknown, skipped, quarantined; and the encoder's fingerprint.

    Raises:
        MirrorIndexError: whatever reading and encoding cannot do, or an empty source.
    """
    items = read(source, read_options)
    model = open_encoder(encoder, encoder_config)
    counts = dict.fromkeys(("rows", "truncated", "unknown", "skipped", "quarantined"), 0)
    with NpyWriter(output, model.dim) as writer, reporter.stage("encode") as advance:
        for window in _record_windows(items, counts):
            encoded = model.encode_audited([normalise_text(record.text) for record in window])
            writer.append([record.id for record in window], encoded.vectors)
            counts["rows"] += len(window)
            counts["truncated"] += int(encoded.truncated.sum())
            counts["unknown"] += int(encoded.unknown.sum())
            advance(len(window))
    return {**counts, "dim": model.dim, "encoder": model.fingerprint, "output": str(output)}


def _record_windows(items: Iterable[SourceItem], counts: dict[str, int]) -> Iterator[list[Record]]:
    """Yield records in windows, concepts flattened to their names, rejected rows counted."""
    window: list[Record] = []
    for item in items:
        if isinstance(item, Rejected):
            counts["skipped" if item.skipped else "quarantined"] += 1
            continue
        window.extend([item] if isinstance(item, Record) else item.records())
        if len(window) >= ENCODE_WINDOW:
            yield window
            window = []
    if window:
        yield window
