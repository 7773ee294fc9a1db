"""The main jobs as one call each: from a source to a collection, a changed one, or vectors."""

from __future__ import annotations

from mirror_index.pipeline.building import build_collection
from mirror_index.pipeline.changing import add_to_collection, open_for_writing, sync_collection
from mirror_index.pipeline.encoding import encode_source

__all__ = [
    "add_to_collection",
    "build_collection",
    "encode_source",
    "open_for_writing",
    "sync_collection",
]
