"""What people decide and see change: overrides, past links and releases compared."""

from mirror_index.curation.diffing import LinkChange, LinksDiff, PastLink, diff_links, read_links
from mirror_index.curation.exporting import OverrideState, export_overrides, override_states
from mirror_index.curation.importing import OverridesReport, import_overrides
from mirror_index.curation.releases import Release, ReleaseReport, compare_releases, read_release
from mirror_index.curation.touching import (
    TouchedLink,
    TouchedOverride,
    release_of,
    touched_links,
    touched_overrides,
)

__all__ = [
    "LinkChange",
    "LinksDiff",
    "OverrideState",
    "OverridesReport",
    "PastLink",
    "Release",
    "ReleaseReport",
    "TouchedLink",
    "TouchedOverride",
    "compare_releases",
    "diff_links",
    "export_overrides",
    "import_overrides",
    "override_states",
    "read_links",
    "read_release",
    "release_of",
    "touched_links",
    "touched_overrides",
]
