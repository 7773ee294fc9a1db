"""The encoder an open collection answers queries with."""

from __future__ import annotations

from pathlib import Path

from mirror_index.collection import probes
from mirror_index.collection.unencoded import load_unencoded
from mirror_index.collection.view import View
from mirror_index.store.generations import Generation
from mirror_index.vectors import EncoderLike

_QUICK_PROBES = 2


class EncoderSlot:
    """Holds the caller's encoder or loads the collection's own, and checks it before use.

    Args:
        folder: the collection's folder.
        encoder: the caller's encoder, None for the collection's own.
    """

    def __init__(self, folder: Path, encoder: EncoderLike | None) -> None:
        self._folder = folder
        self._given = encoder
        self._ready: EncoderLike | None = None
        self._checked: str | None = None

    def check(self, generation: Generation) -> None:
        """Refuse the caller's encoder when it is not the collection's.

        Raises:
            EncoderMismatchError: another fingerprint or dimension.
        """
        if self._given is not None:
            self._match(self._given, generation)

    def get(self, view: View) -> EncoderLike:
        """Return the encoder for a committed state.

        Raises:
            EncoderError: the collection's own encoder cannot be loaded.
            EncoderMismatchError: wrong fingerprint, dimension or probe vectors.
        """
        generation = view.generation
        if self._ready is None or self._checked != generation.encoder_fingerprint:
            encoder = self._given or load_own(self._folder, generation)
            self._match(encoder, generation)
            stored = probes.read(view.store.connection, generation.dim, limit=_QUICK_PROBES)
            probes.check(encoder, stored, str(self._folder))
            self._ready, self._checked = encoder, generation.encoder_fingerprint
        return self._ready

    def _match(self, encoder: EncoderLike, generation: Generation) -> None:
        probes.check_fingerprint(
            encoder, generation.encoder_fingerprint, generation.dim, str(self._folder)
        )


def load_own(folder: Path, generation: Generation) -> EncoderLike:
    """Load the query-time copy of the encoder that lies in the collection, or what stands in."""
    unencoded = load_unencoded(folder / generation.encoder_folder)
    if unencoded is not None:
        return unencoded
    from mirror_index.encoding import load_query_encoder  # the runtime loads with the first query

    encoder: EncoderLike = load_query_encoder(folder / generation.encoder_folder)
    return encoder
