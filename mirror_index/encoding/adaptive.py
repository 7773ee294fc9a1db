"""An encoder for writers: light for a few texts, fast for many."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mirror_index.config import EncoderConfig
from mirror_index.encoding.onnx import OnnxEncoder
from mirror_index.encoding.stating import stated
from mirror_index.encoding.tokenising import Tokenised
from mirror_index.errors import EncoderMismatchError
from mirror_index.vectors import Encoded, FloatMatrix

if TYPE_CHECKING:
    from mirror_index.encoding.bulk import BulkEncoder

MANY = 2000
"""Texts from which on loading torch (seconds) pays for itself."""


class AdaptiveEncoder:
    """One encoder with two engines: its ONNX copy for small calls, torch from `MANY` texts on.

    Args:
        light: the engine for few texts.
        config: how torch runs; must not change the recipe.
    """

    def __init__(self, light: OnnxEncoder, config: EncoderConfig | None = None) -> None:
        self.folder = light.folder
        self.config = config or EncoderConfig()
        self._light = light

    @cached_property
    def _heavy(self) -> BulkEncoder:
        return self._load()

    def _load(self) -> BulkEncoder:
        from mirror_index.encoding.lean import open_lean  # torch, only when it pays

        with stated(self.folder):
            lean = open_lean(self._light, self.config)
            return self._by_transformers() if lean is None else lean

    def _by_transformers(self) -> BulkEncoder:
        from mirror_index.encoding.loading import load_encoder

        heavy = load_encoder(self.folder, self.config)
        if heavy.fingerprint != self.fingerprint:
            raise EncoderMismatchError(
                f"the weights have fingerprint {heavy.fingerprint}, the query copy belongs to "
                f"{self.fingerprint}",
                where=str(self.folder),
                remedy="Leave pooling, length and prompt as they are; see `mirror-index verify`",
            )
        return heavy

    @property
    def dim(self) -> int:
        """Number of columns of a vector."""
        return self._light.dim

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder."""
        return self._light.fingerprint

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """Return (len(texts), dim) float32 unit rows in the order of `texts`."""
        return self.encode_audited(texts).vectors

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        """Like `encode`, with token counts, truncation and unknown-token flags."""
        if len(texts) >= MANY:
            return self._heavy.encode_audited(texts)
        return self._light.encode_audited(texts)

    def tokenise(self, texts: Sequence[str]) -> Tokenised:
        """Return token ids within the limit, with the audit columns."""
        return self._light.tokenise(texts)

    def save(self, folder: Path) -> None:
        """Write the encoder folder, with its ONNX copy."""
        self._light.save(folder)

    def export_onnx(self, folder: Path) -> None:
        """Do nothing more: `save` has written the query-time copy already."""
