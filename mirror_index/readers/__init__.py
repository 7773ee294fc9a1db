"""A file or a stream -> records, concepts and rejected rows; see `read`."""

from mirror_index.readers.registry import FORMATS, Format, detect_format, read

__all__ = ["FORMATS", "Format", "detect_format", "read"]
