"""Names of files, the format version, and hashes of texts and rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mirror_index.errors import CollectionCorruptError, CollectionError

Json = Any
"""What `json.loads` gives."""

FORMAT_VERSION = 2
_PARAMETERS = 30_000
DATABASE = "collection.db"
LOCK = "writer.lock"
VECTORS = "vectors"
ANN = "ann"
ENCODER = "encoder"
LEXICON = "lexicon"
STATE = "state."
"""What the key of a document in `meta` begins with."""
DOCUMENTS = "documents"
"""Key in `meta` of the list of documents that were saved apart from any commit."""
SHORT_TEXT = 100
"""Characters up to which a text is found by its spelling, like a name; see store/trigrams.py."""
WORD_INDEXES = {"texts_fts": "1", "texts_trigrams": f"length(text) <= {SHORT_TEXT}"}
"""FTS5 tables over `texts`, each with which of them it holds; kept, checked, rebuilt in step."""


def vector_file(number: int, suffix: str = ".f32") -> str:
    """Return the relative name of the `number`-th vector file; its ending says what it holds."""
    return f"{VECTORS}/{number:06d}{suffix}"


def ann_file(generation: int) -> str:
    """Return the relative name of the approximate index made for a generation."""
    return f"{ANN}/{generation:06d}.faiss"


def lexicon_file(generation: int) -> str:
    """Return the relative name of the names of a generation, arranged; see linking/lexiconfile."""
    return f"{LEXICON}/{generation:06d}.npz"


def refuse_newer_format(version: int, path: Path) -> None:
    """Raise when a database was written by a newer format than this code knows.

    Raises:
        CollectionError: `version` is above `FORMAT_VERSION`.
    """
    if version > FORMAT_VERSION:
        raise CollectionError(
            f"the collection has format {version}, this version of mirror-index reads up to "
            f"{FORMAT_VERSION}",
            where=str(path),
            remedy="Upgrade mirror-index",
        )


def refuse_unknown_row(words: str, row: int, rows: int) -> None:
    """Raise when a word index names a text that is not there.

    Raises:
        CollectionCorruptError: `row` is not from 0 to `rows` - 1.
    """
    if not 0 <= row < rows:
        raise CollectionCorruptError(
            "the word index names a text that is not there",
            value=row,
            where=f"{DATABASE}, {words}",
            remedy="Run `mirror-index repair`, which makes it again",
        )


def text_hash(text: str) -> bytes:
    """Return the 16-byte hash under which a normalised text is stored once."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def checksum(values: Iterable[object]) -> int:
    """Return a 63-bit checksum over the fields of one row, which `verify` recomputes."""
    digest = hashlib.blake2b("\x1f".join(map(repr, values)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def chunked(values: Sequence[Any], size: int = _PARAMETERS) -> Iterator[Sequence[Any]]:
    """Yield slices small enough for the bound parameters of one statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
