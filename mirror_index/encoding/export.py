"""The float32 ONNX copy of an encoder: ids and mask in, unit rows out."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from mirror_index import durable
from mirror_index.config import Pooling
from mirror_index.encoding.onnx import ONNX_FILE, OnnxEncoder, note_copy
from mirror_index.encoding.pooling import pool
from mirror_index.encoding.recipe import WEIGHTS_FILE
from mirror_index.encoding.shapes import is_bert_shaped
from mirror_index.errors import EncoderError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from mirror_index.encoding.transformer import TransformerEncoder

TOLERANCE = 0.99999
"""Lowest cosine of the copy to the float32 model that is accepted at export."""

_PROBES = ("a", "What the copy says must be what the model says.", "α-synuclein (SNCA), 3.5 mg")


class _Pooled(torch.nn.Module):
    def __init__(self, model: PreTrainedModel, pooling: Pooling) -> None:
        super().__init__()
        self.model = model
        self.pooling = pooling

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return pool(hidden, mask, self.pooling)


def export_onnx(encoder: TransformerEncoder, folder: Path) -> None:
    """Write ``model.onnx`` into a folder that `encoder.save` wrote, and check it against the model.

    Raises:
        EncoderError: the model cannot be exported, or the copy disagrees with it.
    """
    target = folder / ONNX_FILE
    if is_bert_shaped(encoder.model.config):
        from mirror_index.encoding.bertgraph import bert_graph  # loads onnx

        weights = folder / WEIGHTS_FILE
        target.write_bytes(bert_graph(encoder.model.config, encoder.recipe.pooling, weights))
    else:
        _export_any(encoder, target)
    note_copy(folder)
    _check(encoder, OnnxEncoder.open(folder), target)


def _export_any(encoder: TransformerEncoder, target: Path) -> None:
    model = encoder.model.to("cpu")
    try:
        _export(_Pooled(model, encoder.recipe.pooling).eval(), target)
    finally:
        model.to(encoder.device)


def _export(module: torch.nn.Module, target: Path) -> None:
    ids = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 0]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    size = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.inference_mode(False), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                module,
                (ids, mask),
                dynamo=True,
                input_names=["ids", "mask"],
                output_names=["vectors"],
                dynamic_shapes=(size, size),
                verbose=False,
            )
        if program is None:
            raise EncoderError("the ONNX exporter returned nothing", where=str(target))
        with durable.utf8_folder(target.parent) as place:
            program.save(f"{place}/{target.name}", external_data=True)  # mapped when opened
    except torch.onnx.errors.OnnxExporterError as error:
        raise EncoderError(
            f"this model cannot be exported to ONNX: {str(error).splitlines()[0]}",
            where=str(target),
        ) from error
    finally:
        logger.setLevel(level)


def _check(encoder: TransformerEncoder, copy: OnnxEncoder, target: Path) -> None:
    with torch.inference_mode():
        expected = [encoder.encode_reference(text) for text in _PROBES]
    cosines = np.einsum("ij,ij->i", np.stack(expected), copy.encode(_PROBES))
    if not cosines.min() >= TOLERANCE:
        raise EncoderError(
            f"the ONNX copy disagrees with the model: cosine {cosines.min():.6f}",
            where=str(target),
            remedy="Report the model type; queries need a faithful copy",
        )
