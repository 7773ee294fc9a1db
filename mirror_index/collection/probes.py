"""Fingerprint and canary vectors: how a collection knows its encoder again.

Canaries are a few fixed texts whose vectors are stored at build time. An encoder that claims the
right fingerprint must also reproduce them, which catches damaged weights and a broken query
runtime.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np

from mirror_index.errors import CollectionCorruptError, EncoderMismatchError
from mirror_index.index.exact import rescore
from mirror_index.vectors import EncoderLike, FloatMatrix

CANARIES = (
    "acute kidney failure",
    "The committee approved the budget after a long debate.",
    "αβγ-Überprüfung 12.5 mg",
    "x",
)
CANARY_COSINE = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Canary texts and their stored (n, dim) float32 vectors."""

    texts: list[str]
    vectors: FloatMatrix


def read(connection: sqlite3.Connection, dim: int, limit: int | None = None) -> Probes:
    """Read the stored canaries, the first `limit` of them.

    Raises:
        CollectionCorruptError: a vector of another length than `dim`.
    """
    rows = connection.execute(
        "SELECT text, vector FROM canaries ORDER BY rowid LIMIT ?",
        (-1 if limit is None else limit,),
    ).fetchall()
    if any(len(row[1]) != dim * 4 for row in rows):
        raise CollectionCorruptError(
            "the stored probe vectors are damaged",
            where="canaries",
            remedy="Restore the database from a copy, or build it all again with --overwrite",
        )
    vectors = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(-1, dim)
    return Probes(texts=[row[0] for row in rows], vectors=vectors)


def check_fingerprint(encoder: EncoderLike, stored: str, dim: int, where: str) -> None:
    """Refuse an encoder other than the collection's.

    Raises:
        EncoderMismatchError: another fingerprint, or another number of dimensions.
    """
    if encoder.fingerprint == stored and encoder.dim == dim:
        return
    raise EncoderMismatchError(
        f"the collection was built with encoder {stored} ({dim} dimensions), "
        f"this is encoder {encoder.fingerprint} ({encoder.dim} dimensions)",
        where=where,
        remedy="Open it with the encoder in its own folder, or build the collection again",
    )


def cosines(encoder: EncoderLike, probes: Probes) -> list[float]:
    """Return how near the encoder's vectors of the canaries are to the stored ones."""
    if not probes.texts:
        return []
    fresh = encoder.encode(probes.texts)
    pairs = zip(fresh, probes.vectors, strict=True)
    return [float(rescore(one, stored[None, :])[0]) for one, stored in pairs]


def check(encoder: EncoderLike, probes: Probes, where: str) -> None:
    """Refuse an encoder that does not reproduce the stored canary vectors.

    Raises:
        EncoderMismatchError: a cosine below `CANARY_COSINE`.
    """
    for text, cosine in zip(probes.texts, cosines(encoder, probes), strict=True):
        if not cosine >= CANARY_COSINE:
            raise EncoderMismatchError(
                "the encoder has the right fingerprint but gives other vectors: "
                f"cosine {cosine:.4f} for a stored probe",
                value=text,
                where=where,
                remedy="Its files are damaged or its runtime differs; see `mirror-index verify`",
            )
