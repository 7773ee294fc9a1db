"""An ONNX graph for BERT-shaped encoders, written over the tensors of model.safetensors.

The general exporter takes seconds and a second copy of the weights. The commonest shape needs
neither: the graph names each tensor of the saved file by offset and length (ONNX external data), so
the copy for queries costs some kilobytes and is bound to the very weights it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from mirror_index.config import Pooling
from mirror_index.encoding.fingerprint import stored_weights
from mirror_index.encoding.shapes import counts_after_padding

OPSET = 20
IR_VERSION = 10


@dataclass(frozen=True, slots=True)
class _Shape:
    """Sizes of the model, as its config names them."""

    layers: int
    heads: int
    hidden: int
    epsilon: float
    pad_id: int | None  # set where positions are counted from padding + 1


def bert_graph(config: Any, pooling: Pooling, weights: Path) -> bytes:  # noqa: ANN401 - untyped
    """Return the graph of a BERT-shaped encoder over its float32 weights.

    Inputs are ids and mask, (batch, length) int64; the output is (batch, dim) float32 unit rows.

    Args:
        config: the transformers config, or an object with its fields.
        pooling: mean or CLS.
        weights: a safetensors file, which must lie beside the graph when that is opened.
    """
    shape = _Shape(
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        hidden=config.hidden_size,
        epsilon=config.layer_norm_eps,
        pad_id=config.pad_token_id if counts_after_padding(config) else None,
    )
    graph = _Graph(shape, _references(weights))
    graph.pool(graph.encode(), pooling)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "encoder",
            [
                helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "l"])
                for n in ("ids", "mask")
            ],
            [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["b", shape.hidden])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="mirror-index",
    )
    data: bytes = model.SerializeToString()
    return data


def _references(path: Path) -> dict[str, TensorProto]:
    """Return each float32 tensor of a safetensors file as a reference into that file."""
    tensors = {}
    for name, weight in stored_weights(path).items():
        if weight.dtype != "F32":
            continue
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=weight.shape)
        tensor.data_location = TensorProto.EXTERNAL
        length = weight.stop - weight.start
        place = {"location": path.name, "offset": weight.start, "length": length}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        tensors[name] = tensor
    return tensors


class _Graph:
    """Nodes and constants while they grow; every method returns the name of what it computed."""

    def __init__(self, shape: _Shape, tensors: dict[str, TensorProto]) -> None:
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self._tensors = tensors

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401
        name = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, name: str) -> str:
        self.constants.append(self._tensors.pop(name))
        return name

    def constant(self, values: list[int] | list[float], *, scalar: bool = False) -> str:
        name = f"constant_{len(self.constants)}"
        kind = TensorProto.FLOAT if isinstance(values[0], float) else TensorProto.INT64
        self.constants.append(
            helper.make_tensor(name, kind, [] if scalar else [len(values)], values)
        )
        return name

    def linear(self, rows: str, layer: str) -> str:
        weight, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.op("Gemm", rows, weight, bias, transB=1)

    def norm(self, rows: str, layer: str) -> str:
        weight, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.op("LayerNormalization", rows, weight, bias, epsilon=self.shape.epsilon)

    def encode(self) -> str:
        """Return the last hidden layer, (batch * length, hidden)."""
        size = self.op("Shape", "ids")
        self.tokens = self.op("Concat", size, self.constant([self.shape.hidden]), axis=0)
        heads = [self.shape.heads, self.shape.hidden // self.shape.heads]
        self.split = self.op("Concat", size, self.constant(heads), axis=0)
        self.flat = self.constant([-1, self.shape.hidden])
        real = self.op("Cast", "mask", to=TensorProto.FLOAT)
        absent = self.op("Sub", real, self.constant([1.0], scalar=True))
        blocked = self.op("Mul", absent, self.constant([3.0e38], scalar=True))
        blocked = self.op("Unsqueeze", blocked, self.constant([1, 2]))
        rows = self.op("Reshape", self._embed(), self.flat)
        for number in range(self.shape.layers):
            rows = self._block(rows, blocked, f"encoder.layer.{number}")
        return rows

    def _embed(self) -> str:
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "ids")
        places = self.weight("embeddings.position_embeddings.weight")
        places = self.op("Gather", places, self._positions())
        kinds = self.weight("embeddings.token_type_embeddings.weight")
        kind = self.op("Gather", kinds, self.constant([0], scalar=True))
        total = self.op("Add", self.op("Add", words, kind), places)
        return self.norm(total, "embeddings.LayerNorm")

    def _positions(self) -> str:
        if self.shape.pad_id is None:
            zero, one = self.constant([0], scalar=True), self.constant([1], scalar=True)
            length = self.op("Gather", self.op("Shape", "ids"), one)
            return self.op("Range", zero, length, one)
        pad = self.constant([self.shape.pad_id], scalar=True)
        real = self.op("Cast", self.op("Not", self.op("Equal", "ids", pad)), to=TensorProto.INT64)
        count = self.op("CumSum", real, self.constant([1], scalar=True))
        return self.op("Add", self.op("Mul", count, real), pad)

    def _block(self, rows: str, blocked: str, layer: str) -> str:
        query, key, value = (
            self._heads(self.linear(rows, f"{layer}.attention.self.{part}"), order)
            for part, order in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scale = self.constant([(self.shape.hidden // self.shape.heads) ** -0.5], scalar=True)
        scores = self.op("Mul", self.op("MatMul", query, key), scale)
        shares = self.op("Softmax", self.op("Add", scores, blocked), axis=-1)
        context = self.op("Transpose", self.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        context = self.op("Reshape", context, self.flat)
        attended = self.linear(context, f"{layer}.attention.output.dense")
        rows = self.norm(self.op("Add", attended, rows), f"{layer}.attention.output.LayerNorm")
        wide = self.op("Gelu", self.linear(rows, f"{layer}.intermediate.dense"))
        narrow = self.linear(wide, f"{layer}.output.dense")
        return self.norm(self.op("Add", narrow, rows), f"{layer}.output.LayerNorm")

    def _heads(self, rows: str, order: list[int]) -> str:
        return self.op("Transpose", self.op("Reshape", rows, self.split), perm=order)

    def pool(self, rows: str, pooling: Pooling) -> None:
        """Pool (batch * length, hidden) rows into the output, as `pooling.pool` does."""
        hidden = self.op("Reshape", rows, self.tokens)
        axis = self.constant([1])
        if pooling is Pooling.CLS:
            pooled = self.op("Gather", hidden, self.constant([0], scalar=True), axis=1)
        else:
            real = self.op("Unsqueeze", "mask", self.constant([2]))
            real = self.op("Cast", real, to=TensorProto.FLOAT)
            total = self.op("ReduceSum", self.op("Mul", hidden, real), axis, keepdims=0)
            pooled = self.op("Div", total, self.op("ReduceSum", real, axis, keepdims=0))
        length = self.op("ReduceL2", pooled, axis, keepdims=1)
        self.op("Div", pooled, length, output="vectors")
