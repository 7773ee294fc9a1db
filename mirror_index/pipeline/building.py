"""From a source to a collection: read, tune if asked, encode, index, calibrate linking."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.collection.starting import occupied
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
from mirror_index.encoding import open_encoder
from mirror_index.errors import CollectionError, UsageError
from mirror_index.given.building import give_to_new
from mirror_index.linking.refitting import refit_when_due
from mirror_index.pipeline.remembering import remember
from mirror_index.progress import SILENT, Reporter
from mirror_index.readers import read
from mirror_index.readers.measuring import size_of_source
from mirror_index.readers.source import STDIN, source_file
from mirror_index.vectors import EncoderLike

REQUEST_FILE = "made-for.json"
PHRASES = MirrorConfig.for_preset(Preset.PHRASE)


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
        _refuse_tuning(source, folder, vectors, overwrite=overwrite)
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
    remember(collection, source, read_options, reporter, anew=True)
    refit_when_due(collection, reporter)
    return collection


def _refuse_tuning(
    source: str | Path, folder: Path, vectors: str | Path | None, *, overwrite: bool
) -> None:
    """Say at once, before minutes of tuning, what the build would stumble over."""
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


def _refuse_several_processes() -> None:
    """Several processes can tune together, but one alone builds a collection."""
    from mirror_index.tuning.processes import launched  # torch, which tuning needs in any case

    if launched():
        raise UsageError(
            "a launcher started several processes, and only one can build a collection",
            remedy="Launch `tune` with several, then build with --encoder and its folder",
        )


def _refuse_finished(folder: Path) -> None:
    """Say that a finished collection is in the way."""
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
