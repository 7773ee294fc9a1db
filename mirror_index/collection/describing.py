"""What a collection is and holds, as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mirror_index.collection.view import View
from mirror_index.index.vectorfile import dtype_of
from mirror_index.store.auditing import audit_counts
from mirror_index.store.layout import ANN, DATABASE, VECTORS

READING = "reading"
"""The document (`Collection.load_state`) of how sources are read, where not by default."""


def describe(folder: Path, view: View) -> dict[str, Any]:
    """Return the facts `mirror-index info` shows."""
    generation, store = view.generation, view.store
    return {
        "name": folder.resolve().name,
        "path": str(folder.resolve()),
        "format_version": store.format_version(),
        "generation": generation.number,
        "created_at": store.meta("created_at"),
        "committed_at": generation.committed_at,
        "last_verb": generation.verb,
        "sources": store.meta("sources") or [],
        "reading": store.meta(f"state.{READING}") or {},
        "records": generation.live_records,
        "texts": generation.live_texts,
        "dead_texts": generation.dead_texts,
        "concepts": generation.concepts,
        "dim": generation.dim,
        "dtype": dtype_of(generation.vector_file).value,
        **audit_counts(store.connection),
        "index": {
            "kind": generation.ann_kind,
            "rows": generation.ann_rows,
            "tail_rows": generation.vector_rows - generation.ann_rows if generation.ann_file else 0,
            **generation.ann_parameters,
        },
        "encoder_fingerprint": generation.encoder_fingerprint,
        "encoder_folder": generation.encoder_folder,
        "bytes": _sizes(folder, generation.encoder_folder),
    }


def _sizes(folder: Path, encoder: str) -> dict[str, int]:
    sizes = {
        "database": sum(_size(path) for path in folder.glob(f"{DATABASE}*")),
        "vectors": _tree_size(folder / VECTORS),
        "index": _tree_size(folder / ANN),
        "encoder": _tree_size(folder / encoder),
    }
    return {**sizes, "total": sum(sizes.values())}


def _tree_size(folder: Path) -> int:
    return sum(_size(path) for path in folder.rglob("*"))


def _size(path: Path) -> int:
    """A file may be gone by the time it is looked at, when a writer is at work."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except FileNotFoundError:
        return 0
