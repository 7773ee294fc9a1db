"""Linking of mentions to the concepts of a dictionary, its calibration and its evaluation."""

from mirror_index.linking.abbreviations import Definition, definitions
from mirror_index.linking.annotated import AnnotateReport, annotate_documents
from mirror_index.linking.annotating import (
    AnnotateOptions,
    Annotation,
    Annotator,
    annotate,
)
from mirror_index.linking.calibration import Calibration, calibrate, load_calibration
from mirror_index.linking.comparing import compare_linking
from mirror_index.linking.curated import OverrideState, export_overrides, override_states
from mirror_index.linking.curating import OverridesReport, import_overrides
from mirror_index.linking.diffing import LinkChange, LinksDiff, PastLink, diff_links, read_links
from mirror_index.linking.documents import Document, read_documents
from mirror_index.linking.overrides import Override, OverrideAction
from mirror_index.linking.pipeline import link
from mirror_index.linking.releases import (
    Release,
    ReleaseReport,
    compare_releases,
    read_release,
)
from mirror_index.linking.scoring import (
    GoldMention,
    LinkingReport,
    evaluate_linking,
    read_gold,
)
from mirror_index.linking.sssom import SssomOptions
from mirror_index.linking.tables import LinkTableReport, link_table
from mirror_index.linking.touching import (
    TouchedLink,
    TouchedOverride,
    release_of,
    touched_links,
    touched_overrides,
)

__all__ = [
    "AnnotateOptions",
    "AnnotateReport",
    "Annotation",
    "Annotator",
    "Calibration",
    "Definition",
    "Document",
    "GoldMention",
    "LinkChange",
    "LinkTableReport",
    "LinkingReport",
    "LinksDiff",
    "Override",
    "OverrideAction",
    "OverrideState",
    "OverridesReport",
    "PastLink",
    "Release",
    "ReleaseReport",
    "SssomOptions",
    "TouchedLink",
    "TouchedOverride",
    "annotate",
    "annotate_documents",
    "calibrate",
    "compare_linking",
    "compare_releases",
    "definitions",
    "diff_links",
    "evaluate_linking",
    "export_overrides",
    "import_overrides",
    "link",
    "link_table",
    "load_calibration",
    "override_states",
    "read_documents",
    "read_gold",
    "read_links",
    "read_release",
    "release_of",
    "touched_links",
    "touched_overrides",
]
