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
    from mirror_index.annotation.annotator import AnnotateOptions, Annotation, Annotator, annotate
    from mirror_index.annotation.files import AnnotateReport, annotate_documents
    from mirror_index.collection import (
        ChangeReport,
        Collection,
        CommittedState,
        NearestRows,
        Problem,
        VerifyReport,
    )
    from mirror_index.collection.confusables import Confusable, confusables
    from mirror_index.collection.repairing import RepairReport, repair_collection
    from mirror_index.config import (
        Dtype,
        EncoderConfig,
        IndexSpec,
        LinkOptions,
        Loss,
        MaskUnit,
        MirrorConfig,
        OnDuplicate,
        OnTruncate,
        Pooling,
        Precision,
        Preset,
        ReadOptions,
        SearchOptions,
    )
    from mirror_index.curation.diffing import LinksDiff, diff_links
    from mirror_index.curation.exporting import export_overrides, override_states
    from mirror_index.curation.importing import OverridesReport, import_overrides
    from mirror_index.curation.releases import ReleaseReport, compare_releases, read_release
    from mirror_index.encoding import load_encoder
    from mirror_index.encoding.transformer import TransformerEncoder as Encoder
    from mirror_index.errors import MirrorIndexError
    from mirror_index.export.records import ExportReport, export_collection
    from mirror_index.linking import calibrate, evaluate_linking, link
    from mirror_index.linking.abbreviations import Definition, definitions
    from mirror_index.linking.refitting import roll_back_collection
    from mirror_index.pipeline import (
        add_to_collection,
        build_collection,
        encode_source,
        sync_collection,
    )
    from mirror_index.readers import read
    from mirror_index.readers.lint import LintReport, lint
    from mirror_index.records import (
        Candidate,
        Concept,
        Hit,
        Link,
        Name,
        Record,
        Rejected,
        Scope,
        SourceSize,
    )
    from mirror_index.tables.linking import LinkTableReport, link_table
    from mirror_index.tables.sssom import SssomOptions
    from mirror_index.tuning import TuneResult, tune

_HOMES = {
    "ChangeReport": "collection",
    "Confusable": "collection.confusables",
    "confusables": "collection.confusables",
    "Collection": "collection",
    "CommittedState": "collection",
    "NearestRows": "collection",
    "Problem": "collection",
    "VerifyReport": "collection",
    "ExportReport": "export.records",
    "export_collection": "export.records",
    "RepairReport": "collection.repairing",
    "repair_collection": "collection.repairing",
    "Dtype": "config",
    "EncoderConfig": "config",
    "IndexSpec": "config",
    "LinkOptions": "config",
    "Loss": "config",
    "MaskUnit": "config",
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
    "Definition": "linking.abbreviations",
    "definitions": "linking.abbreviations",
    "AnnotateReport": "annotation.files",
    "annotate_documents": "annotation.files",
    "AnnotateOptions": "annotation.annotator",
    "Annotation": "annotation.annotator",
    "Annotator": "annotation.annotator",
    "annotate": "annotation.annotator",
    "add_to_collection": "pipeline",
    "build_collection": "pipeline",
    "encode_source": "pipeline",
    "roll_back_collection": "linking.refitting",
    "export_overrides": "curation.exporting",
    "override_states": "curation.exporting",
    "OverridesReport": "curation.importing",
    "import_overrides": "curation.importing",
    "LinksDiff": "curation.diffing",
    "diff_links": "curation.diffing",
    "ReleaseReport": "curation.releases",
    "compare_releases": "curation.releases",
    "read_release": "curation.releases",
    "SssomOptions": "tables.sssom",
    "LinkTableReport": "tables.linking",
    "link_table": "tables.linking",
    "sync_collection": "pipeline",
    "read": "readers",
    "LintReport": "readers.lint",
    "lint": "readers.lint",
    "Candidate": "records",
    "Concept": "records",
    "Hit": "records",
    "Link": "records",
    "Name": "records",
    "Record": "records",
    "Rejected": "records",
    "Scope": "records",
    "SourceSize": "records",
    "TuneResult": "tuning",
    "tune": "tuning",
}
_OTHER_NAMES = {"Encoder": "TransformerEncoder"}

__all__ = [  # noqa: RUF022 - by room, as above
    "ChangeReport", "Collection", "CommittedState", "NearestRows", "Problem", "VerifyReport",
    "Confusable", "confusables",
    "ExportReport", "export_collection", "RepairReport", "repair_collection",
    "Dtype", "EncoderConfig", "IndexSpec", "LinkOptions", "Loss", "MaskUnit", "MirrorConfig",
    "OnDuplicate", "OnTruncate", "Pooling", "Precision", "Preset", "ReadOptions", "SearchOptions",
    "load_encoder", "Encoder", "MirrorIndexError",
    "calibrate", "evaluate_linking", "link", "Definition", "definitions", "AnnotateReport",
    "annotate_documents", "AnnotateOptions", "Annotation", "Annotator", "annotate",
    "link_table", "LinkTableReport", "SssomOptions", "diff_links", "LinksDiff",
    "import_overrides", "export_overrides", "override_states", "OverridesReport",
    "compare_releases", "read_release", "ReleaseReport",
    "add_to_collection", "build_collection", "encode_source", "roll_back_collection",
    "sync_collection", "read", "LintReport", "lint",
    "Candidate", "Concept", "Hit", "Link", "Name", "Record", "Rejected", "Scope", "SourceSize",
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
