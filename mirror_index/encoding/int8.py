"""The lean forward pass with linear layers in 8-bit integers, calibrated without texts.

A linear layer reads its input as unsigned integers of one scale, and its weights as signed ones of
one scale an output. A few columns of an encoder's inputs are a hundred times as large as the rest
and would take the scale for themselves; their size is therefore moved into the weights beforehand
(SmoothQuant, Xiao et al. 2023, arXiv 2211.10438). The ranges of the inputs are seen on random
tokens, always the same, so that a text has one vector whatever is encoded beside it.

The projection after GELU stays in floating point: it loses more than all others together, and its
wide input takes most of what it would save to be read as integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn import functional

from mirror_index.encoding.arithmetic import cpu_has_bfloat16
from mirror_index.encoding.fastpath import FloatLinear, Forward, LeanBert, Linear, Weights
from mirror_index.encoding.shapes import positions
from mirror_index.encoding.workers import one_thread
from mirror_index.errors import EncoderError

SMOOTHING = 0.7
"""Share of the size of a column that moves into the weights (alpha of SmoothQuant)."""

FAITHFUL = 0.995
"""Least mean cosine to the float32 pass over drawn sequences, below which int8 is refused."""

_LENGTHS = (1, 2, 4, 6, 10, 14, 22, 30, 46, 62)
_TOKENS = 400  # a length
_LEVELS = 255
_ZERO = 128
_TINY = 1e-6


def quantised(
    weights: Weights,
    config: Any,  # noqa: ANN401 - a transformers config, or an object with its fields
    frame: Sequence[int],
) -> Forward:
    """Return the 8-bit forward pass of a BERT-shaped encoder, as `LeanBert` is one.

    Args:
        weights: the float32 weights of the body, by their names in a checkpoint.
        config: its transformers config, or an object with the same fields.
        frame: token ids of the empty text: drawn tokens are put before the last of them.

    Raises:
        EncoderError: the encoder loses too much in 8 bits, or its weights are damaged.
    """
    watched: dict[tuple[str, ...], _Watched] = {}

    def watch(weights: Weights, *layers: str, gelu: bool = False) -> Linear:
        watched[layers] = _Watched(weights, *layers, gelu=gelu)
        return watched[layers]

    def ready(weights: Weights, *layers: str, gelu: bool = False) -> Linear:
        outputs, inputs = watched[layers].weight.shape
        if inputs > outputs:
            return FloatLinear(weights, *layers, gelu=gelu, dtype=dtype)
        return Int8Linear(watched[layers], dtype)

    dtype = torch.bfloat16 if cpu_has_bfloat16() else torch.float32
    exact = LeanBert(weights, config, watch, torch.float32)
    with torch.inference_mode(), one_thread():
        for ids in _draw(config, frame, seed=0):
            exact(ids, torch.ones_like(ids))
        lean = LeanBert(weights, config, ready, dtype)
        _check(lean, exact, list(_draw(config, frame, seed=1))[::3])
    return lean


def _draw(config: Any, frame: Sequence[int], seed: int) -> Iterator[torch.Tensor]:  # noqa: ANN401
    """Yield (batch, length) ids of random tokens within the frame, of growing length."""
    generator = torch.Generator().manual_seed(seed)
    before, after = frame[:-1], frame[-1:]
    for length in _LENGTHS:
        room = max(0, min(length, positions(config) - len(frame)))
        shape = (-(-_TOKENS // (room + len(frame))), room)
        drawn = torch.randint(config.vocab_size, shape, generator=generator)
        ends = [torch.tensor(list(ids)).expand(shape[0], -1) for ids in (before, after)]
        yield torch.cat([ends[0], drawn, ends[1]], dim=1)


def _check(lean: Forward, exact: Forward, batches: Sequence[torch.Tensor]) -> None:
    """Refuse an encoder whose 8-bit vectors are not those of its float32 pass."""
    found, expected = (
        torch.cat([forward(ids, torch.ones_like(ids)).float().mean(dim=1) for ids in batches])
        for forward in (lean, exact)
    )
    cosine = float(functional.cosine_similarity(found, expected).mean())
    if not cosine >= FAITHFUL:
        raise EncoderError(
            f"this encoder loses too much in int8: mean cosine {cosine:.4f} to float32 over "
            "random tokens",
            value="int8",
            remedy="Use --precision auto",
        )


class _Watched:
    """A float32 linear layer that keeps the least and largest value of each input column."""

    def __init__(self, weights: Weights, *layers: str, gelu: bool = False) -> None:
        self.weight = torch.cat([weights[f"{layer}.weight"] for layer in layers]).float()
        self.bias = torch.cat([weights[f"{layer}.bias"] for layer in layers]).float()
        self.gelu = gelu
        self.low = torch.zeros(self.weight.shape[1])
        self.high = torch.zeros(self.weight.shape[1])

    def __call__(self, rows: torch.Tensor, plus: torch.Tensor | None = None) -> torch.Tensor:
        self.low = torch.minimum(self.low, rows.amin(dim=0))
        self.high = torch.maximum(self.high, rows.amax(dim=0))
        out = functional.linear(rows, self.weight, self.bias)
        if plus is not None:
            out += plus
        return functional.gelu(out) if self.gelu else out


class Int8Linear:
    """A linear layer in 8-bit integers, with fused GELU, made from a watched one.

    Args:
        watched: weights, bias and the ranges of the input.
        dtype: of its input and output.

    Raises:
        EncoderError: no range: the weights hold NaN or Inf.
    """

    def __init__(self, watched: _Watched, dtype: torch.dtype) -> None:
        size = torch.maximum(-watched.low, watched.high).clamp(min=_TINY)
        reach = watched.weight.abs().amax(dim=0).clamp(min=_TINY)
        smooth = size**SMOOTHING / reach ** (1 - SMOOTHING)
        low, high = float((watched.low / smooth).min()), float((watched.high / smooth).max())
        if not math.isfinite(high - low):
            raise EncoderError(
                "the encoder returns NaN or Inf for random tokens",
                value="int8",
                remedy="Try --precision float32; if it stays, the weights are damaged",
            )
        self.scale = max(high - low, _TINY) / _LEVELS
        self.zero = round(-low / self.scale)
        weight = watched.weight * smooth
        self.weight_scale = weight.abs().amax(dim=1).clamp(min=_TINY) / 127
        rounded = (weight / self.weight_scale[:, None]).round().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.weight_zero = torch.zeros(len(rounded), dtype=torch.int64)
        self.bias = watched.bias
        self.post: tuple[str, list[float], str]
        self.post = ("gelu", [], "none") if watched.gelu else ("none", [], "")
        self.dtype = dtype
        self.factor = (1 / (smooth * self.scale)).to(dtype)
        self.shift = torch.full_like(self.factor, self.zero - _ZERO)

    def __call__(self, rows: torch.Tensor, plus: torch.Tensor | None = None) -> torch.Tensor:
        """Return (rows, outputs) for (rows, inputs), with `plus` added."""
        out: torch.Tensor = torch.ops.onednn.qlinear_pointwise(
            self._integers(rows),
            self.scale,
            self.zero,
            self.weight,
            self.weight_scale,
            self.weight_zero,
            self.bias,
            1.0,
            0,
            self.dtype,
            *self.post,
        )
        return out if plus is None else out.add_(plus)

    def _integers(self, rows: torch.Tensor) -> torch.Tensor:
        """Return uint8 rows; by way of int8, which torch converts to five times as fast."""
        scaled = torch.addcmul(self.shift, rows, self.factor).round_()
        signed = scaled.clamp_(-_ZERO, _ZERO - 1).to(torch.int8)
        return signed.view(torch.uint8).bitwise_xor_(_ZERO)
