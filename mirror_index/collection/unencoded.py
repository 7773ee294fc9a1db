"""What stands in the place of an encoder in a collection whose vectors were given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mirror_index.errors import EncoderError
from mirror_index.vectors import Encoded, FloatMatrix

GIVEN_FILE = "given-vectors.json"
GIVEN = "given vectors"
"""How the fingerprint of such vectors begins."""
PROBE = "no encoder\x1f"
"""The probe text of such a collection; a separator, being white space, is in no query."""


class NoEncoder:
    """Knows dimension and origin of given vectors and encodes nothing; an `EncoderLike`.

    Args:
        dim: columns of the vectors.
        fingerprint: tells the vectors of one build from those of another.
    """

    def __init__(self, dim: int, fingerprint: str) -> None:
        self.dim = dim
        self.fingerprint = fingerprint
        self.probe_texts = (PROBE,)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return a fixed row for the probe text of a collection.

        Raises:
            EncoderError: any other text.
        """
        if any(text != PROBE for text in texts):
            raise EncoderError(
                "this collection was made of given vectors, without the encoder that made them: "
                "it cannot encode a text",
                remedy="Search with vectors (--vector-file), add with --vectors, or build it "
                "again with --vectors and --encoder",
            )
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows[:, 0] = 1.0
        return rows

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`."""
        return unaudited(self.encode(texts))

    def save(self, folder: Path) -> None:
        """Write what is known about the vectors."""
        folder.mkdir(parents=True, exist_ok=True)
        facts = {"kind": GIVEN, "dim": self.dim, "fingerprint": self.fingerprint}
        (folder / GIVEN_FILE).write_text(json.dumps(facts) + "\n", encoding="utf-8")


def load_unencoded(folder: Path) -> NoEncoder | None:
    """Return what stands in for the encoder, None when the folder holds one.

    Raises:
        EncoderError: the file is damaged.
    """
    path = folder / GIVEN_FILE
    if not path.is_file():
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return NoEncoder(int(facts["dim"]), str(facts["fingerprint"]))
    except (ValueError, KeyError, TypeError) as error:
        raise EncoderError(
            "the note about given vectors is damaged",
            where=str(path),
            remedy="Restore it from a copy, or build the collection again with --overwrite",
        ) from error


def is_unencoded(fingerprint: str) -> bool:
    """Return whether a collection's fingerprint is that of given vectors."""
    return fingerprint.startswith(GIVEN)


def unaudited(vectors: FloatMatrix) -> Encoded:
    """Return vectors with nothing known about tokens: none counted, none cut, none unknown."""
    flags = np.zeros(len(vectors), dtype=np.bool_)
    return Encoded(
        vectors=vectors,
        tokens=np.zeros(len(vectors), dtype=np.int64),
        truncated=flags,
        unknown=flags,
    )
