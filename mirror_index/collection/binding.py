"""Writing an encoder into a collection: the saved folder, its file hashes, and canary vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mirror_index import durable
from mirror_index.collection.probes import CANARIES
from mirror_index.store.layout import checksum
from mirror_index.store.writing import WriteStore
from mirror_index.vectors import EncoderLike, FloatMatrix, FloatVector


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundEncoder:
    """A saved encoder: its folder in the collection, file hashes, and canary texts and vectors."""

    folder: str
    files: Mapping[str, str]
    texts: Sequence[str]
    canaries: FloatMatrix

    def store(self, store: WriteStore) -> None:
        """Record the bond; the caller has opened the committing transaction."""
        store.set_meta("encoder_files", dict(self.files))
        store.connection.execute("DELETE FROM canaries")
        store.connection.executemany(
            "INSERT INTO canaries (text, vector, checksum) VALUES (?, ?, ?)",
            (
                (text, data, checksum((text, data)))
                for text, data in zip(self.texts, _bytes_of(self.canaries), strict=True)
            ),
        )


def write_encoder(encoder: EncoderLike, folder: Path, name: str) -> BoundEncoder:
    """Save an encoder, with its query-time copy when it can make one, and sync it to disk."""
    target = folder / name
    durable.remove(target)
    durable.reached("save", target)
    target.mkdir(parents=True)
    encoder.save(target)
    export: Callable[[Path], object] | None = getattr(encoder, "export_onnx", None)
    if export is not None:
        export(target)
    durable.sync_tree(target)
    durable.sync_folder(folder)
    texts: Sequence[str] = getattr(encoder, "probe_texts", CANARIES)
    return BoundEncoder(
        folder=name,
        files=hash_tree(target),
        texts=texts,
        canaries=_exactly(encoder, texts),
    )


def _exactly(encoder: EncoderLike, texts: Sequence[str]) -> FloatMatrix:
    """Return the vectors in the arithmetic of queries, whatever bulk encoding runs in."""
    one: Callable[[str], FloatVector] | None = getattr(encoder, "encode_reference", None)
    return encoder.encode(list(texts)) if one is None else np.stack([one(text) for text in texts])


def _bytes_of(vectors: FloatMatrix) -> list[bytes]:
    return [vector.astype("<f4").tobytes() for vector in vectors]


def hash_tree(folder: Path) -> dict[str, str]:
    """Return the SHA-256 (hex) of every file below a folder, by relative name."""
    return {
        path.relative_to(folder).as_posix(): durable.sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
