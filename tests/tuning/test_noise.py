"""Dropout and DropHead on every shape, against values computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import AutoModel

from mirror_index.errors import TuningError
from mirror_index.tuning.noise import drophead, dropout, head_mask, output_projections
from tests.tiny import SHAPES

Tiny = Callable[[str], Path]
PROJECTIONS = {
    "bert": "encoder.layer.{}.attention.output.dense",
    "roberta": "encoder.layer.{}.attention.output.dense",
    "xlm-roberta": "encoder.layer.{}.attention.output.dense",
    "electra": "encoder.layer.{}.attention.output.dense",
    "deberta-v2": "encoder.layer.{}.attention.output.dense",
    "mpnet": "encoder.layer.{}.attention.attn.o",
    "distilbert": "transformer.layer.{}.attention.out_lin",
    "modernbert": "layers.{}.attn.Wo",
    "albert": "encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
}
IDS = torch.tensor([[2, 10, 11, 12, 3], [2, 20, 21, 3, 0]])
MASK = (IDS != 0).long()


def load(folder: Path, **settings: object) -> nn.Module:
    return AutoModel.from_pretrained(folder, **settings).eval()


def hidden(model: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=IDS, attention_mask=MASK).last_hidden_state


@pytest.mark.parametrize("shape", SHAPES)
def test_output_projections_are_the_ones_of_the_architecture(tiny: Tiny, shape: str) -> None:
    model = load(tiny(shape)).train()
    names = {id(module): name for name, module in model.named_modules()}
    found = [names[id(linear)] for linear in output_projections(model)]
    layers = 1 if shape == "albert" else 2
    assert found == [PROJECTIONS[shape].format(layer) for layer in range(layers)]
    assert model.training


@pytest.mark.parametrize("shape", SHAPES)
def test_dropping_a_head_equals_removing_its_columns(
    tiny: Tiny, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads 1 and 3 of 4 are dropped for every text: the projection must lose their columns."""
    model = load(tiny(shape))
    kept = torch.tensor([2.0, 0.0, 2.0, 0.0]).repeat_interleave(8)
    monkeypatch.setattr(
        "mirror_index.tuning.noise.head_mask",
        lambda context, heads, probability: kept.expand(len(context), 1, -1),
    )
    with drophead(model, 0.5):
        dropped = hidden(model)
    for linear in output_projections(model):
        linear.weight.data *= kept
    assert torch.allclose(dropped, hidden(model), atol=1e-5)


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_drophead_is_the_same_for_every_attention_kernel(tiny: Tiny, implementation: str) -> None:
    model = load(tiny("bert"), attn_implementation=implementation)
    with drophead(model, 0.5):
        torch.manual_seed(0)
        first = hidden(model)
        torch.manual_seed(0)
        again = hidden(model)
        other = hidden(model)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    reference = load(tiny("bert"), attn_implementation="eager")
    torch.manual_seed(0)
    with drophead(reference, 0.5):
        torch.manual_seed(0)
        assert torch.allclose(hidden(reference), first, atol=1e-5)


def test_drophead_leaves_nothing_behind(tiny: Tiny) -> None:
    model = load(tiny("bert"))
    before = hidden(model)
    with drophead(model, 0.9):
        assert not torch.equal(hidden(model), before)
    assert torch.equal(hidden(model), before)
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())


def test_head_mask_never_drops_all_and_keeps_the_scale() -> None:
    torch.manual_seed(0)
    mask = head_mask(torch.zeros(500, 7, 32), heads=4, probability=0.95)
    assert mask.shape == (500, 1, 32)
    by_head = mask.reshape(500, 4, 8)
    assert (by_head == by_head[..., :1]).all()
    assert torch.allclose(by_head[..., 0].sum(dim=1), torch.tensor(4.0))
    assert ((by_head[..., 0] > 0).sum(dim=1) >= 1).all()


def test_head_mask_drops_with_the_probability_asked() -> None:
    torch.manual_seed(0)
    dropped = (head_mask(torch.zeros(4_000, 1, 12), heads=12, probability=0.2) == 0).float().mean()
    assert 0.19 < float(dropped) < 0.21


def test_drophead_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TuningError, match="--drophead 0"), drophead(nn.Linear(4, 4), 0.1):
        pass


@pytest.mark.parametrize("shape", SHAPES)
def test_dropout_reaches_every_place_and_is_restored(tiny: Tiny, shape: str) -> None:
    model = load(tiny(shape))
    modules = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    settings = dict(vars(model.config))
    before = [module.p for module in modules]
    with dropout(model, 0.37):
        assert {module.p for module in modules} == {0.37}
        changed = {key for key in settings if vars(model.config)[key] != settings[key]}
    assert any("dropout" in key for key in changed)
    assert not any("classif" in key for key in changed)
    assert [module.p for module in modules] == before
    assert vars(model.config) == settings


@pytest.mark.parametrize("shape", SHAPES)
def test_dropout_of_zero_makes_training_deterministic(tiny: Tiny, shape: str) -> None:
    model = load(tiny(shape))
    expected = hidden(model)
    model.train()
    with dropout(model, 0.0):
        assert torch.allclose(hidden(model), expected, atol=1e-5)
    with dropout(model, 0.5):
        assert not torch.allclose(hidden(model), expected, atol=1e-3)


def test_dropout_none_keeps_the_models_own(tiny: Tiny) -> None:
    model = load(tiny("bert"))
    with dropout(model, None):
        assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.1}


def test_dropout_is_restored_after_a_failure(tiny: Tiny) -> None:
    model = load(tiny("bert"))

    def fail() -> None:
        with dropout(model, 0.5):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.1}


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_heads_go_and_no_number_breaks(tiny: Tiny, shape: str, implementation: str) -> None:
    """What enters each output projection: a head of a text is all there, or all zero."""
    if implementation == "sdpa" and shape in {"deberta-v2", "mpnet"}:
        pytest.skip("transformers has no sdpa attention for this model")
    model = load(tiny(shape), attn_implementation=implementation).train()
    assert model.config._attn_implementation == implementation
    seen: list[torch.Tensor] = []
    projections = output_projections(model)
    torch.manual_seed(3)
    with dropout(model, 0.0), drophead(model, 0.6):
        for linear in projections:
            linear.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
        rows = model(input_ids=IDS.repeat(8, 1), attention_mask=MASK.repeat(8, 1))
        rows.last_hidden_state.sum().backward()
    layers = 2 if shape == "albert" else len(projections)  # ALBERT runs one block twice
    assert len(seen) == layers
    dropped = []
    for context in seen:
        heads = context.reshape(16, -1, 4, 8).abs().sum(dim=(1, 3))
        flat = context.reshape(16, -1, 4, 8).abs().sum(dim=3)[MASK.repeat(8, 1).bool()]
        zero = heads == 0
        real = zero[:, None].expand(-1, IDS.shape[1], -1)[MASK.repeat(8, 1).bool()]
        assert torch.equal(flat == 0, real)
        assert not zero.all(dim=1).any()
        dropped.append(zero.float().mean())
    assert 0.3 < float(torch.stack(dropped).mean()) < 0.7
    assert torch.isfinite(rows.last_hidden_state).all()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert len(gradients) > 10
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
