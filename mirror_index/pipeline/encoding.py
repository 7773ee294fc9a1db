"""From a source to a file of vectors, without a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mirror_index.config import EncoderConfig, ReadOptions
from mirror_index.encoding import open_encoder
from mirror_index.npy import NpyWriter
from mirror_index.progress import SILENT, Reporter
from mirror_index.readers import read
from mirror_index.records import Record, Rejected, SourceItem, normalise_text

ENCODE_WINDOW = 16_384
"""Records encoded at a time by `encode_source`; bounds its memory."""


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
    with NpyWriter(Path(output), model.dim) as writer, reporter.stage("encode") as advance:
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
