"""Vectors that come with a source instead of being made: row i belongs to record i.

The source is read twice. `pairing.survey` looks at every row first; `GivenVectors` then hands the
rows out by text, in the place of an encoder. In memory lie 25 bytes a record, never the vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mirror_index.collection.probes import CANARIES
from mirror_index.collection.unencoded import GIVEN, NoEncoder, unaudited
from mirror_index.errors import CollectionError, EncoderMismatchError, SourceError
from mirror_index.given.pairing import (
    SAME_COSINE,
    Survey,
    records_of,
    row_cosines,
    text_key,
)
from mirror_index.readers.vectorfiles import Flaw, VectorRows
from mirror_index.records import Concept, Record, Rejected, SourceItem, normalise_text
from mirror_index.vectors import Encoded, EncoderLike, FloatMatrix, FloatVector

AGREEMENT = 0.99
"""A vector encoded for comparison must be as near as this to the given one."""
_BLOCK = 4096

StoredVectors = Callable[[Sequence[str]], dict[str, FloatVector]]


class GivenVectors:
    """Hands out the given vector of each text; an `EncoderLike`.

    Args:
        vectors: the file.
        found: its survey with the source.
        encoder: what made the vectors, for queries and the audit of tokens; `NoEncoder` otherwise.

    Raises:
        SourceError: vectors of another dimension than the encoder's.
    """

    def __init__(self, vectors: VectorRows, found: Survey, encoder: EncoderLike) -> None:
        if vectors.rows and vectors.dim != encoder.dim:
            raise SourceError(
                f"the vectors have {vectors.dim} dimensions, the collection's have {encoder.dim}",
                where=vectors.where,
                remedy="Give vectors of the same encoder",
            )
        self._vectors = vectors
        self._encoder = encoder
        sound = np.flatnonzero(found.flaws == Flaw.NONE)
        order = sound[np.argsort(found.keys[sound], kind="stable")]
        self._keys, self._rows = found.keys[order], found.rows[order]
        export: Callable[[Path], object] | None = getattr(encoder, "export_onnx", None)
        if export is not None:
            self.export_onnx = export
        exactly: Callable[[str], FloatVector] | None = getattr(encoder, "encode_reference", None)
        if exactly is not None:
            self.encode_reference = exactly  # the collection's probes are not in bulk arithmetic
        self.probe_texts: Sequence[str] = getattr(encoder, "probe_texts", CANARIES)

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return self._encoder.dim

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder that made the vectors, or of the vectors themselves."""
        return self._encoder.fingerprint

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (n, dim) float32 unit rows of n queries, by the encoder that is bound."""
        return self._encoder.encode(texts)

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Return the given vectors of texts of the source, with the encoder's audit of tokens.

        Raises:
            SourceError: a text that was not there when the source was read first.
        """
        wanted = np.fromiter((text_key(text) for text in texts), np.uint64, len(texts))
        places = np.searchsorted(self._keys, wanted)
        known = places < len(self._keys)
        known[known] = self._keys[places[known]] == wanted[known]
        if not known.all():
            raise changed_source(texts[int(np.flatnonzero(~known)[0])])
        vectors = self._vectors.unit(self._rows[places])
        tokenise: Callable[[Sequence[str]], Any] | None = getattr(self._encoder, "tokenise", None)
        if tokenise is None:
            return unaudited(vectors)
        audit = tokenise(texts)
        return Encoded(
            vectors=vectors, tokens=audit.tokens, truncated=audit.truncated, unknown=audit.unknown
        )

    def save(self, folder: Path) -> None:
        """Save the encoder, or the note that there is none."""
        self._encoder.save(folder)


def changed_source(value: object = None) -> SourceError:
    """Return the error for a source that is another one when it is read again."""
    return SourceError(
        "the source changed while it was read", value=value, remedy="Run it again when it is still"
    )


def matched(
    items: Iterable[SourceItem], found: Survey, vectors: VectorRows, stored: StoredVectors
) -> Iterator[SourceItem]:
    """Yield the items of a source, read again, without the records whose vector has a flaw.

    A flaw rejects the record with its line, and a concept with all its names.

    Args:
        items: the source.
        found: its survey.
        vectors: the file.
        stored: returns the vectors of those texts that the collection has already.

    Raises:
        CollectionError: a text that is stored with a different vector.
        SourceError: the source is not what it was.
    """
    place = 0
    source = iter(items)
    while block := list(islice(source, _BLOCK)):
        taken = [record for item in block for record in records_of(item)]
        if place + len(taken) > len(found.keys):
            raise changed_source()
        _refuse_stored(taken, place, found, vectors, stored)
        for item in block:
            count = len(records_of(item))
            yield _without_flaw(item, found, place, count)
            place += count
    if place != len(found.keys):
        raise changed_source()


def _without_flaw(item: SourceItem, found: Survey, place: int, count: int) -> SourceItem:
    bad = np.flatnonzero(found.flaws[place : place + count])
    if not len(bad) or isinstance(item, Rejected):
        return item
    at = place + int(bad[0])
    text = item.label if isinstance(item, Concept) else item.text
    return Rejected(
        line=item.line or 0,
        reason=f"vector row {found.rows[at]} {Flaw(int(found.flaws[at])).words}",
        content=f"{item.id}\t{text}".replace("\0", "\ufffd")[:200],
    )


def _refuse_stored(
    records: Sequence[Record],
    place: int,
    found: Survey,
    vectors: VectorRows,
    stored: StoredVectors,
) -> None:
    texts = [normalise_text(record.text) for record in records]
    known = stored(texts)
    for offset, text in enumerate(texts):
        at = place + offset
        if text not in known or found.flaws[at]:
            continue
        cosine = float(row_cosines(vectors.unit(found.rows[at : at + 1]), known[text][None, :])[0])
        if cosine <= SAME_COSINE:
            raise CollectionError(
                f"the collection has another vector for this text, cosine {cosine:.4f}",
                value=text,
                where=f"{vectors.where}, row {found.rows[at]} of line {found.lines[at]}",
                remedy="Give the vector that is stored, or another text",
            )


def check_agreement(encoder: EncoderLike, found: Survey, vectors: VectorRows) -> None:
    """Refuse vectors that the encoder did not make, by a sample of the records.

    Raises:
        EncoderMismatchError: a cosine below `AGREEMENT`.
    """
    if not found.sample or isinstance(encoder, NoEncoder):
        return
    places = np.asarray([place for place, _ in found.sample], dtype=np.int64)
    fresh = encoder.encode([text for _, text in found.sample])
    cosines = row_cosines(fresh, vectors.unit(found.rows[places]))
    low = int(np.sum(cosines < AGREEMENT))
    if low:
        worst = int(np.argmin(cosines))
        raise EncoderMismatchError(
            f"this encoder did not make these vectors: of {len(cosines)} encoded for comparison, "
            f"{low} have a cosine below {AGREEMENT}, the least is {cosines[worst]:.4f}",
            where=f"{vectors.where}, row {found.rows[places[worst]]} of line "
            f"{found.lines[places[worst]]}",
            remedy="Name the encoder that made them, or check that row i belongs to record i",
        )


def given_encoder(vectors: VectorRows) -> NoEncoder:
    """Return the stand-in for the encoder of vectors of which nobody says what made them."""
    fingerprint = f"{GIVEN}, {vectors.dim} dimensions, {vectors.digest()[:16]}"
    return NoEncoder(vectors.dim, fingerprint)
