"""Tune an encoder on your own texts without labels, index them, search them, link to them.

>>> from pathlib import Path
>>> import mirror_index
>>> with mirror_index.build_collection("names.txt", Path("names")) as collection:
...     hits = collection.search(["heart attack"])

Importing this package loads nothing heavy; each name below loads what it needs when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirror_index.collection import ChangeReport, Collection, Problem, VerifyReport
    from mirror_index.config import (
        EncoderConfig,
        IndexSpec,
        LinkOptions,
        MirrorConfig,
        OnDuplicate,
        OnTruncate,
        Pooling,
        Precision,
        Preset,
        ReadOptions,
        SearchOptions,
    )
    from mirror_index.encoding import load_encoder
    from mirror_index.encoding.transformer import TransformerEncoder as Encoder
    from mirror_index.errors import MirrorIndexError
    from mirror_index.linking import calibrate, evaluate_linking, link
    from mirror_index.pipeline import add_to_collection, build_collection, encode_source
    from mirror_index.readers import read
    from mirror_index.records import Candidate, Concept, Hit, Link, Name, Record, Rejected, Scope
    from mirror_index.tuning import TuneResult, tune

_HOMES = {
    "ChangeReport": "collection",
    "Collection": "collection",
    "Problem": "collection",
    "VerifyReport": "collection",
    "EncoderConfig": "config",
    "IndexSpec": "config",
    "LinkOptions": "config",
    "MirrorConfig": "config",
    "OnDuplicate": "config",
    "OnTruncate": "config",
    "Pooling": "config",
    "Precision": "config",
    "Preset": "config",
    "ReadOptions": "config",
    "SearchOptions": "config",
    "load_encoder": "encoding",
    "Encoder": "encoding.transformer",
    "MirrorIndexError": "errors",
    "calibrate": "linking",
    "evaluate_linking": "linking",
    "link": "linking",
    "add_to_collection": "pipeline",
    "build_collection": "pipeline",
    "encode_source": "pipeline",
    "read": "readers",
    "Candidate": "records",
    "Concept": "records",
    "Hit": "records",
    "Link": "records",
    "Name": "records",
    "Record": "records",
    "Rejected": "records",
    "Scope": "records",
    "TuneResult": "tuning",
    "tune": "tuning",
}
_OTHER_NAMES = {"Encoder": "TransformerEncoder"}

__all__ = [  # noqa: RUF022 - by room, as above
    "ChangeReport", "Collection", "Problem", "VerifyReport",
    "EncoderConfig", "IndexSpec", "LinkOptions", "MirrorConfig", "OnDuplicate", "OnTruncate",
    "Pooling", "Precision", "Preset", "ReadOptions", "SearchOptions",
    "load_encoder", "Encoder", "MirrorIndexError",
    "calibrate", "evaluate_linking", "link",
    "add_to_collection", "build_collection", "encode_source", "read",
    "Candidate", "Concept", "Hit", "Link", "Name", "Record", "Rejected", "Scope",
    "TuneResult", "tune",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Load a public name from its room when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mirror_index' has no attribute {name!r}")
    room = importlib.import_module(f"mirror_index.{_HOMES[name]}")
    value: object = getattr(room, _OTHER_NAMES.get(name, name))
    globals()[name] = value
    return value
