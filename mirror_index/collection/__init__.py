"""A collection: one folder that holds records, their vectors, an index, and their encoder."""

from mirror_index.collection.collection import Collection
from mirror_index.collection.nearest import NearestRows
from mirror_index.collection.report import (
    ChangeReport,
    CommittedState,
    Problem,
    TextAudit,
    VerifyReport,
)
from mirror_index.store.concepts import StoredName

__all__ = [
    "ChangeReport",
    "Collection",
    "CommittedState",
    "NearestRows",
    "Problem",
    "StoredName",
    "TextAudit",
    "VerifyReport",
]
