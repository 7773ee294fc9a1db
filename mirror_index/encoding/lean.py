"""Bulk encoding in torch without transformers, for encoders of BERT's shape on a CPU."""

from __future__ import annotations

from safetensors.torch import load_file

from mirror_index import durable
from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding.arithmetic import resolve_precision
from mirror_index.encoding.bulk import BulkEncoder, resolve_device
from mirror_index.encoding.fastpath import lean_forward
from mirror_index.encoding.known import bert_fields, has_fingerprint, keeps_recipe
from mirror_index.encoding.onnx import OnnxEncoder
from mirror_index.encoding.recipe import WEIGHTS_FILE


def open_lean(light: OnnxEncoder, config: EncoderConfig) -> BulkEncoder | None:
    """Open the folder of an encoder for bulk work; importing transformers takes two seconds.

    Returns:
        The same encoder as `light`, or None where transformers is needed: another shape, device or
        arithmetic, or files that are not those of `light`.
    """
    device = resolve_device(config.device)
    precision = resolve_precision(config.precision, device)
    if device.type != "cpu" or precision not in {Precision.BFLOAT16, Precision.INT8}:
        return None
    fields = bert_fields(light.folder) if keeps_recipe(config) else None
    if fields is None or not has_fingerprint(light.folder, light.recipe, light.fingerprint):
        return None
    with durable.utf8_folder(light.folder) as place:
        weights = load_file(f"{place}/{WEIGHTS_FILE}")
    return BulkEncoder(
        forward=lean_forward(weights, fields, precision, light.tokeniser([""]).ids[0]),
        tokenise=light.tokeniser,
        recipe=light.recipe,
        dim=light.dim,
        device=device,
        config=config,
    )
