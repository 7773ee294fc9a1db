"""Text to unit vectors: loading, pooling, batching and the ways to run a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mirror_index.config import EncoderConfig

if TYPE_CHECKING:
    from mirror_index.encoding.adaptive import AdaptiveEncoder
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.vectors import EncoderLike

__all__ = ["load_encoder", "load_query_encoder", "load_stored_encoder"]


def load_encoder(
    source: str | Path | None = None, config: EncoderConfig | None = None
) -> TransformerEncoder:
    """Load an encoder for bulk work; see `mirror_index.encoding.loading.load_encoder`."""
    from mirror_index.encoding.loading import load_encoder as load  # torch, transformers: seconds

    return load(source, config)


def load_query_encoder(folder: Path) -> EncoderLike:
    """Load a saved encoder for queries; see `mirror_index.encoding.onnx.load_query_encoder`."""
    from mirror_index.encoding.onnx import load_query_encoder as load  # onnxruntime

    return load(folder)


def load_stored_encoder(folder: Path, config: EncoderConfig | None = None) -> AdaptiveEncoder:
    """Load a saved encoder for writing: its ONNX copy for a few texts, torch for many."""
    from mirror_index.encoding.adaptive import AdaptiveEncoder as Adaptive  # onnxruntime

    return Adaptive(folder, config)
