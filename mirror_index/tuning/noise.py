"""The noise that makes two views of one string differ: dropout, and dropping whole heads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from mirror_index.errors import TuningError

_HEADS_OF_TASKS = ("classif", "cls_", "pooler", "qa_", "summary", "seq_")


@contextmanager
def dropout(model: nn.Module, probability: float | None) -> Iterator[None]:
    """Set every dropout of the body to `probability` while inside, and restore all of them after.

    Covers dropout modules, probabilities that modules keep as numbers (ModernBERT's attention) and
    the configuration fields that some models read at each forward pass; dropout of task heads
    stays.

    Args:
        model: a transformers model.
        probability: None changes nothing.
    """
    if probability is None:
        yield
        return
    changed: list[tuple[Any, str, float]] = []
    for holder in (*model.modules(), getattr(model, "config", None)):
        for name, value in _probabilities(holder):
            changed.append((holder, name, value))
            setattr(holder, name, probability)
    try:
        yield
    finally:
        for holder, name, value in changed:
            setattr(holder, name, value)


def _probabilities(holder: Any) -> list[tuple[str, float]]:  # noqa: ANN401 - module or config
    if isinstance(holder, nn.Dropout):
        return [("p", holder.p)]
    return [
        (name, value)
        for name, value in vars(holder).items()
        if "dropout" in name
        and not name.startswith(_HEADS_OF_TASKS)
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ]


@contextmanager
def drophead(model: nn.Module, probability: float) -> Iterator[None]:
    """Drop attention heads of each text while inside (DropHead, Zhou et al., arXiv 2004.13342).

    Each head of each layer is dropped with `probability`, independently for every text of the
    batch; what is left is scaled by heads / heads left. At least one head stays. The slice of a
    head is taken out of the vector that enters the attention block's output projection, which works
    the same for every attention kernel.

    Args:
        model: a transformers encoder.
        probability: in [0, 1); 0 changes nothing.

    Raises:
        TuningError: no attention block of a known form.
    """
    if probability == 0:
        yield
        return
    heads = int(getattr(getattr(model, "config", None), "num_attention_heads", 0))
    projections = output_projections(model) if heads else []
    if not projections or any(linear.in_features % heads for linear in projections):
        raise TuningError(
            "drophead cannot find the attention heads of this model",
            value=type(model).__name__,
            remedy="Use dropout instead: --drophead 0",
        )

    def drop(_: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (inputs[0] * head_mask(inputs[0], heads, probability), *inputs[1:])

    with ExitStack() as stack:
        for linear in projections:
            stack.callback(linear.register_forward_pre_hook(drop).remove)
        yield


def head_mask(context: torch.Tensor, heads: int, probability: float) -> torch.Tensor:
    """Return a (batch, 1, width) mask: 0 over dropped heads, heads / heads left over the others."""
    draw = torch.rand(context.shape[0], heads, device=context.device)
    kept = (draw >= probability) | (draw == draw.amax(dim=1, keepdim=True))
    scale = kept * (heads / kept.sum(dim=1, keepdim=True))
    return scale.repeat_interleave(context.shape[-1] // heads, dim=1)[:, None].to(context.dtype)


def output_projections(model: nn.Module) -> list[nn.Linear]:
    """Return the output projection of every attention block, found by running the model once.

    It is the linear map that an attention block applies last, whatever the architecture calls it.
    """
    blocks: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        inner = any(name.startswith(f"{outer}.") for outer in blocks)
        if type(module).__name__.endswith("Attention") and not inner:
            blocks[name] = module
    last: dict[str, nn.Linear] = {}
    with ExitStack() as stack:
        for name, block in blocks.items():
            for linear in (part for part in block.modules() if isinstance(part, nn.Linear)):
                stack.callback(linear.register_forward_hook(_remember(last, name)).remove)
        _run_once(model)
    return list(dict.fromkeys(last.values()))


def _remember(last: dict[str, nn.Linear], name: str) -> Any:  # noqa: ANN401 - a torch hook
    def hook(module: nn.Linear, *_: object) -> None:
        last[name] = module

    return hook


def _run_once(model: nn.Module) -> None:
    training = model.training
    device = next(model.parameters()).device
    token: Any = getattr(model, "config", None)
    ids = torch.full((1, 4), int(token.vocab_size) - 1, device=device)
    model.eval()
    try:
        with torch.no_grad():
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
    finally:
        model.train(training)
