"""The forward pass of bulk encoding, a lean one for BERT-shaped models.

On a CPU with bfloat16 instructions most of the time of a small encoder goes into linear layers,
whose weights can be packed once, and much of the rest into attention over many very short texts,
where two plain batched products beat a fused kernel. The lean pass does just that; every other
model and device runs its transformers module in the chosen dtype. Tests hold both to the float32
module.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.nn import functional

from mirror_index.config import Precision
from mirror_index.encoding.shapes import counts_after_padding, is_bert_shaped
from mirror_index.errors import EncoderError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Weights = Mapping[str, torch.Tensor]

_DTYPES = {
    Precision.FLOAT32: torch.float32,
    Precision.BFLOAT16: torch.bfloat16,
    Precision.FLOAT16: torch.float16,
}
_LEAN = {Precision.BFLOAT16, Precision.INT8}
SAFE_EXPONENT = 64.0
"""Exponentials of scores within this of 0 neither overflow nor vanish, nor does a sum of them."""


def bulk_forward(model: PreTrainedModel, precision: Precision, frame: Sequence[int]) -> Forward:
    """Return a function from (ids, mask), both (batch, length) int64, to the last hidden layer.

    The hidden layer is (batch, length, dim) in the dtype of `precision`; `model` stays float32.

    Args:
        model: the body, float32.
        precision: as `resolve_precision` has it.
        frame: token ids of the empty text, see `int8.quantised`.

    Raises:
        EncoderError: int8, and the model is not of BERT's shape, or bears it badly.
    """
    if precision is Precision.FLOAT32:
        return _module_forward(model)
    if precision in _LEAN and model.device.type == "cpu" and is_bert_shaped(model.config):
        return lean_forward(model.state_dict(), model.config, precision, frame)
    if precision is Precision.INT8:
        raise EncoderError(
            "int8 is for encoders of BERT's shape",
            value=model.config.model_type,
            remedy="Use --precision auto",
        )
    return _module_forward(copy.deepcopy(model).to(_DTYPES[precision]).eval())


def lean_forward(
    weights: Weights,
    config: Any,  # noqa: ANN401 - a transformers config, or an object with its fields
    precision: Precision,
    frame: Sequence[int],
) -> Forward:
    """Return the lean pass of a BERT-shaped encoder in bfloat16 or int8; see `bulk_forward`."""
    if precision is Precision.INT8:
        from mirror_index.encoding.int8 import quantised  # which builds on this module

        return quantised(weights, config, frame)
    return LeanBert(weights, config)


def _module_forward(model: PreTrainedModel) -> Forward:
    def forward(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = model(input_ids=ids, attention_mask=mask).last_hidden_state
        return hidden

    return forward


class Linear(Protocol):
    """A linear layer: (rows, inputs) to (rows, outputs), with `plus` of that shape added."""

    def __call__(self, rows: torch.Tensor, plus: torch.Tensor | None = None) -> torch.Tensor:
        """Apply it."""


class FloatLinear:
    """A linear layer, its weights packed for oneDNN where torch can, with fused GELU.

    Several layers of the same input become one.
    """

    def __init__(
        self,
        weights: Weights,
        *layers: str,
        gelu: bool = False,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        weight = torch.cat([weights[f"{layer}.weight"] for layer in layers]).to(dtype)
        self.bias = torch.cat([weights[f"{layer}.bias"] for layer in layers]).to(dtype)
        self.gelu = gelu
        self.packed = hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight) if self.packed else weight

    def __call__(self, rows: torch.Tensor, plus: torch.Tensor | None = None) -> torch.Tensor:
        """Return (rows, outputs) for (rows, inputs), with `plus` added."""
        if self.packed and plus is not None:
            added: torch.Tensor = torch.ops.mkldnn._linear_pointwise.binary(
                rows, plus, self.weight, self.bias, "add"
            )
            return added
        if self.packed:
            post: tuple[str, list[float], str]
            post = ("gelu", [], "none") if self.gelu else ("none", [], "")
            out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
                rows, self.weight, self.bias, *post
            )
            return out
        out = functional.linear(rows, self.weight, self.bias)
        if plus is not None:
            out += plus
        return functional.gelu(out) if self.gelu else out


class _Norm:
    def __init__(self, weights: Weights, layer: str, epsilon: float, dtype: torch.dtype) -> None:
        self.weight = weights[f"{layer}.weight"].to(dtype)
        self.bias = weights[f"{layer}.bias"].to(dtype)
        self.epsilon = float(epsilon)  # from a file: no number fails here

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(rows, self.bias.shape, self.weight, self.bias, self.epsilon)


class _Embeddings:
    """Words, types and positions, normalised, in float32; (batch, length) ids to rows."""

    def __init__(self, weights: Weights, config: Any) -> None:  # noqa: ANN401 - see LeanBert
        self.words, types, self.places = (
            weights[f"embeddings.{kind}_embeddings.weight"]
            for kind in ("word", "token_type", "position")
        )
        self.type = types[0]
        self.norm = _Norm(weights, "embeddings.LayerNorm", config.layer_norm_eps, torch.float32)
        self.pad_id: int | None = config.pad_token_id if counts_after_padding(config) else None

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        rows = functional.embedding(ids, self.words) + self.type
        return self.norm(rows + self._places(ids))

    def _places(self, ids: torch.Tensor) -> torch.Tensor:
        if self.pad_id is None:
            return self.places[: ids.shape[1]]
        real = (ids != self.pad_id).long()
        return functional.embedding(real.cumsum(dim=1) * real + self.pad_id, self.places)


@dataclass(slots=True)
class Layer:
    """One block: its linear layers, those of query, key and value as one, and its norms."""

    query_key_value: Linear
    attention_out: Linear
    attention_norm: _Norm
    up: Linear
    down: Linear
    norm: _Norm


MakeLinear = Callable[..., Linear]
"""From weights, the names of layers of one input, and `gelu` (keyword) to a layer of all."""


class LeanBert:
    """Forward pass of a BERT-shaped encoder (arXiv 1810.04805): CPU, inference only.

    Embeddings stay float32 and are shared with the model; the layers are packed copies.

    Args:
        weights: the float32 weights of the body, by their names in a checkpoint.
        config: its transformers config, or an object with the same fields.
        linear: what makes a linear layer.
        dtype: of all that lies between linear layers.
    """

    def __init__(
        self,
        weights: Weights,
        config: Any,  # noqa: ANN401 - see above
        linear: MakeLinear = FloatLinear,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        self.dtype = dtype
        self.embeddings = _Embeddings(weights, config)
        self.heads = config.num_attention_heads
        self.head_dim = config.hidden_size // self.heads
        self.layers = [
            self._layer(weights, f"encoder.layer.{number}", config.layer_norm_eps, linear)
            for number in range(config.num_hidden_layers)
        ]

    def _layer(self, weights: Weights, name: str, epsilon: float, linear: MakeLinear) -> Layer:
        attention = f"{name}.attention"
        query_key_value = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
        return Layer(
            query_key_value=linear(weights, *query_key_value),
            attention_out=linear(weights, f"{attention}.output.dense"),
            attention_norm=_Norm(weights, f"{attention}.output.LayerNorm", epsilon, self.dtype),
            up=linear(weights, f"{name}.intermediate.dense", gelu=True),
            down=linear(weights, f"{name}.output.dense"),
            norm=_Norm(weights, f"{name}.output.LayerNorm", epsilon, self.dtype),
        )

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the last hidden layer, (batch, length, dim)."""
        batch, length = ids.shape
        rows = self.embeddings(ids).to(self.dtype).view(batch * length, -1)
        real = None if bool(mask.all()) else mask.to(self.dtype)
        for layer in self.layers:
            context = self._attend(layer.query_key_value(rows), real, batch, length)
            rows = layer.attention_norm(layer.attention_out(context, rows))
            rows = layer.norm(layer.down(layer.up(rows), rows))
        hidden: torch.Tensor = rows.view(batch, length, -1)
        return hidden

    def _attend(
        self, projected: torch.Tensor, real: torch.Tensor | None, batch: int, length: int
    ) -> torch.Tensor:
        heads, head_dim = self.heads, self.head_dim
        split = projected.view(batch, length, 3, heads, head_dim).permute(2, 0, 3, 1, 4)
        query, key, value = split.reshape(3, batch * heads, length, head_dim)
        scores = torch.baddbmm(
            projected.new_zeros(()), query, key.transpose(1, 2), beta=0, alpha=head_dim**-0.5
        )
        context = _weighted(scores, value, real)
        context = context.view(batch, heads, length, head_dim).transpose(1, 2)
        return context.reshape(batch * length, heads * head_dim)


def _weighted(scores: torch.Tensor, value: torch.Tensor, real: torch.Tensor | None) -> torch.Tensor:
    """Return ``softmax(scores) @ value``; `scores` is overwritten.

    Torch's bfloat16 softmax takes four times as long as its parts. It is needed only where an
    exponential could overflow or a whole row vanish.

    Args:
        scores: (batch * heads, length, length).
        value: (batch * heads, length, head_dim).
        real: (batch, length) 1 for tokens and 0 for padding, None where there is none.
    """
    low, high = torch.aminmax(scores)
    by_text = scores if real is None else scores.view(len(real), -1, *scores.shape[1:])
    if max(-float(low), float(high)) > SAFE_EXPONENT:
        if real is not None:
            by_text.masked_fill_(real[:, None, None, :] == 0, torch.finfo(scores.dtype).min)
        return torch.bmm(torch.softmax(scores, dim=-1), value)
    scores.exp_()
    if real is not None:
        by_text.mul_(real[:, None, None, :])
    return torch.bmm(scores, value).div_(scores.sum(dim=-1, keepdim=True))
