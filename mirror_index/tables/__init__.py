"""Tables of mentions, linked row by row: read, answered, written; also as SSSOM."""

from mirror_index.tables.linking import LinkTableReport, link_table
from mirror_index.tables.sssom import SssomOptions

__all__ = [
    "LinkTableReport",
    "SssomOptions",
    "link_table",
]
