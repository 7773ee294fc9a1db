"""Text to unit vectors: loading, pooling, batching and the ways to run a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mirror_index.config import EncoderConfig
from mirror_index.encoding.stating import stated

if TYPE_CHECKING:
    from mirror_index.encoding.adaptive import AdaptiveEncoder
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.vectors import EncoderLike

__all__ = ["load_encoder", "load_query_encoder", "load_stored_encoder", "open_encoder"]


def load_encoder(
    source: str | Path | None = None, config: EncoderConfig | None = None
) -> TransformerEncoder:
    """Load an encoder for bulk work; see `mirror_index.encoding.loading.load_encoder`."""
    from mirror_index.encoding.loading import load_encoder as load  # torch, transformers: seconds

    with stated(source):
        return load(source, config)


def load_query_encoder(folder: Path, threads: int | None = None) -> EncoderLike:
    """Load a saved encoder for queries; see `mirror_index.encoding.onnx.load_query_encoder`."""
    from mirror_index.encoding.onnx import load_query_encoder as load  # onnxruntime

    with stated(folder):
        return load(folder, threads)


def load_stored_encoder(folder: Path, config: EncoderConfig | None = None) -> EncoderLike:
    """Load a saved encoder for writing: its ONNX copy for a few texts, torch for many."""
    from mirror_index.encoding.adaptive import AdaptiveEncoder  # onnxruntime
    from mirror_index.encoding.onnx import OnnxEncoder

    config = config or EncoderConfig()
    light = load_query_encoder(folder, config.threads)
    return AdaptiveEncoder(light, config) if isinstance(light, OnnxEncoder) else light


def open_encoder(
    source: str | Path | None = None, config: EncoderConfig | None = None
) -> AdaptiveEncoder | TransformerEncoder:
    """Load an encoder for work of unknown size: seconds sooner than `load_encoder`, where it can.

    The default encoder, and a folder of BERT's shape saved by this library, run without torch as
    long as they are asked for few texts at a time; any other is what `load_encoder` returns.

    Raises:
        EncoderError: as `load_encoder`.
    """
    from mirror_index.encoding.adaptive import AdaptiveEncoder  # onnxruntime
    from mirror_index.encoding.known import open_known

    config = config or EncoderConfig()
    with stated(source):
        known = open_known(source, config)
    return load_encoder(source, config) if known is None else AdaptiveEncoder(known, config)
