"""The training loop: schedules, batches, and one optimiser step against plain torch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Precision
from mirror_index.encoding import load_encoder
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import TuningError, UsageError
from mirror_index.progress import SILENT
from mirror_index.tuning import loop
from mirror_index.tuning.loop import batch_bounds, plan, train
from mirror_index.tuning.pairs import PairSampler
from mirror_index.tuning.stepping import Optimisation, parameter_groups, rate_factor
from mirror_index.tuning.strings import Split
from tests.tiny import SHAPES

Tiny = Callable[[str], Path]
CPU = torch.device("cpu")


def encoder_of(folder: Path) -> TransformerEncoder:
    return load_encoder(folder, EncoderConfig(device="cpu", precision=Precision.FLOAT32))


def sampler_of(
    strings: list[str], config: MirrorConfig, concepts: dict[str, tuple[str, ...]] | None = None
) -> PairSampler:
    parts = Split(
        strings=tuple(strings),
        concepts=concepts or {},
        dictionary={},
        held_strings=(),
        held_names=(),
    )
    return PairSampler(parts, config, "[MASK]")


def weights(encoder: TransformerEncoder) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in encoder.model.state_dict().items()}


@pytest.mark.parametrize(
    ("pairs", "size", "bounds"),
    [
        (10, 4, [(0, 4), (4, 8), (8, 10)]),
        (9, 4, [(0, 4), (4, 9)]),
        (8, 4, [(0, 4), (4, 8)]),
        (50, 200, [(0, 50)]),
        (3, 2, [(0, 3)]),
        (1, 4, [(0, 1)]),
    ],
)
def test_batches_use_every_pair_and_never_leave_one_alone(
    pairs: int, size: int, bounds: list[tuple[int, int]]
) -> None:
    assert batch_bounds(pairs, size) == bounds


def test_learning_rate_rises_and_falls_or_is_constant() -> None:
    settings = Optimisation(
        tau=0.1, learning_rate=1.0, warmup=0.2, batch_size=2, steps=10, dtype="float32"
    )
    factors = [rate_factor(step, settings) for step in range(11)]
    expected = [0.5, 1, 8 / 8, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0]
    assert factors == pytest.approx(expected)
    assert {rate_factor(step, replace(settings, warmup=0.0)) for step in range(10)} == {1.0}


def test_only_matrices_decay(tiny: Tiny) -> None:
    model = encoder_of(tiny("bert")).model
    decayed, spared = parameter_groups(model, 0.01)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)
    assert all(
        names[id(p)].endswith("bias") or "LayerNorm" in names[id(p)] for p in spared["params"]
    )
    assert not any(
        names[id(p)].endswith("bias") or "LayerNorm" in names[id(p)] for p in decayed["params"]
    )
    assert len(decayed["params"]) + len(spared["params"]) == len(names)


@pytest.mark.parametrize("shape", SHAPES)
def test_forward_equals_plain_encoding(tiny: Tiny, shape: str, phrases: list[str]) -> None:
    """Cutting a batch into passes of like length changes no row and no order."""
    encoder = encoder_of(tiny(shape))
    config = MirrorConfig()
    settings = plan(sampler_of(phrases, config), config, CPU)
    step = loop._Step(
        encoder, sampler_of(phrases, config), config, replace(settings, dtype="float32")
    )
    encoder.model.eval()
    texts = phrases[:60]
    rows = torch.zeros(60, encoder.dim)
    with torch.no_grad():
        for one in step.passes.cut(texts, 0):
            rows[one.rows] = step.passes.run(one)
    assert np.allclose(rows.numpy(), encoder.encode(texts), atol=1e-5)


def test_a_masked_span_is_one_mask_token_wherever_it_stands(tiny: Tiny) -> None:
    encoder = encoder_of(tiny("bert"))
    for text in ("[MASK]ver", "fe[MASK]er", "fev[MASK]", "high fe[MASK]rash"):
        (ids,) = encoder.tokenise([text]).ids
        assert ids.count(encoder.tokenizer.mask_token_id) == 1
        assert encoder.tokenizer.unk_token_id not in ids


def test_one_step_equals_plain_torch(tiny: Tiny, phrases: list[str]) -> None:
    """A step without noise, against AdamW on the loss of the paper with one padded forward pass."""
    encoder = encoder_of(tiny("bert"))
    model = copy.deepcopy(encoder.model).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    strings = phrases[:20]
    config = MirrorConfig(span_mask=0, dropout=0.0, weight_decay=0.0, tau=0.1, learning_rate=1e-3)
    sampler = sampler_of(strings, config)
    settings = replace(plan(sampler, config, CPU), dtype="float32")
    trace = train(encoder, sampler, config, settings, SILENT)

    inputs = encoder.tokenizer(strings * 2, padding=True, return_tensors="pt")
    mask = inputs["attention_mask"]
    hidden = model(input_ids=inputs["input_ids"], attention_mask=mask).last_hidden_state
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    rows = torch.nn.functional.normalize(mean, dim=1)
    logits = (rows @ rows.T / 0.1).masked_fill(torch.eye(40, dtype=torch.bool), -torch.inf)
    loss = torch.nn.functional.cross_entropy(logits, torch.arange(40).roll(20))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    loss.backward()
    optimiser.step()

    assert trace.losses == (pytest.approx(float(loss.detach()), rel=1e-4),)
    for name, parameter in model.named_parameters():
        got = encoder.model.get_parameter(name)
        gradient = parameter.grad
        # Adam's first step is the sign of the gradient: compare where that is beyond rounding.
        clear = gradient.abs() > 1e-5 if gradient is not None else torch.tensor(True)
        assert torch.allclose(
            got[clear.expand(got.shape)], parameter[clear.expand(got.shape)], atol=1e-5
        )


def test_training_is_the_same_run_to_run_and_leaves_the_random_state(
    tiny: Tiny, phrases: list[str]
) -> None:
    config = MirrorConfig(batch_size=50, drophead=0.1)
    sampler = sampler_of(phrases[:120], config)
    runs = []
    for _ in range(2):
        encoder = encoder_of(tiny("bert"))
        before = torch.random.get_rng_state()
        trace = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert not encoder.model.training
        runs.append((trace.losses, weights(encoder)))
        torch.rand(3)
    assert runs[0][0] == runs[1][0]
    assert len(runs[0][0]) == 3
    assert all(torch.equal(value, runs[1][1][name]) for name, value in runs[0][1].items())
    encoder = encoder_of(tiny("bert"))
    other = replace(config, seed=1)
    losses = train(
        encoder, sampler_of(phrases[:120], other), other, plan(sampler, other, CPU), SILENT
    )
    assert losses.losses != runs[0][0]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_learns(tiny: Tiny, shape: str, phrases: list[str]) -> None:
    encoder = encoder_of(tiny(shape))
    config = MirrorConfig(batch_size=30, epochs=8, learning_rate=2e-3, drophead=0.1, tau=0.2)
    sampler = sampler_of(phrases[:60], config)
    trace = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT)
    assert trace.finite
    assert len(trace.losses) == 16
    assert np.mean(trace.losses[-4:]) < 0.95 * np.mean(trace.losses[:4])
    assert {value.dtype for value in encoder.model.state_dict().values()} >= {torch.float32}


def test_cls_pooling_is_trained_as_such(tiny: Tiny, phrases: list[str]) -> None:
    losses = {}
    for pooling in (Pooling.MEAN, Pooling.CLS):
        encoder = load_encoder(tiny("bert"), EncoderConfig(device="cpu", pooling=pooling))
        config = MirrorConfig(precision=Precision.FLOAT32)
        sampler = sampler_of(phrases[:30], config)
        losses[pooling] = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT).losses
    assert losses[Pooling.MEAN] != losses[Pooling.CLS]


def test_broken_numbers_stop_training(tiny: Tiny, phrases: list[str]) -> None:
    encoder = encoder_of(tiny("bert"))
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight[50:] = torch.inf
        encoder.model.get_input_embeddings().weight[:50] = torch.nan
    config = MirrorConfig(batch_size=10)
    sampler = sampler_of(phrases[:60], config)
    trace = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT)
    assert not trace.finite
    assert len(trace.losses) == 1


def test_weights_that_break_in_the_last_step_are_noticed(
    tiny: Tiny, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = encoder_of(tiny("bert"))

    class Breaking(torch.optim.AdamW):
        def step(self, closure: None = None) -> None:
            with torch.no_grad():
                self.param_groups[0]["params"][0][0, 0] = torch.nan

    monkeypatch.setattr(torch.optim, "AdamW", Breaking)
    config = MirrorConfig()
    sampler = sampler_of(phrases[:20], config)
    trace = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT)
    assert np.isfinite(trace.losses).all()
    assert not trace.finite


def test_too_little_memory_says_what_to_do(
    tiny: Tiny, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> torch.Tensor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(loop, "mirror_loss", full)
    config = MirrorConfig()
    sampler = sampler_of(phrases[:20], config)
    with pytest.raises(TuningError, match="smaller batch"):
        train(encoder_of(tiny("bert")), sampler, config, plan(sampler, config, CPU), SILENT)


def test_plan_follows_synonyms_and_the_size_of_the_source(phrases: list[str]) -> None:
    config = MirrorConfig(epochs=3)
    few = plan(sampler_of(phrases[:50], config), config, CPU)
    assert (few.batch_size, few.steps, few.tau, few.learning_rate, few.warmup) == (
        50,
        3,
        config.tau,
        config.learning_rate,
        config.warmup,
    )
    concepts = {f"C{i}": (f"l{i}", f"r{i}") for i in range(100)}
    led = plan(sampler_of(phrases[:50], config, concepts), config, CPU)
    assert (led.batch_size, led.steps, led.tau, led.learning_rate, led.warmup) == (
        120,
        3,
        config.synonym_tau,
        config.synonym_learning_rate,
        config.synonym_warmup,
    )


@pytest.mark.parametrize(
    ("capabilities", "wish", "dtype"),
    [
        ({"avx512_bf16": True}, Precision.AUTO, "bfloat16"),
        ({"amx_tile": True}, Precision.AUTO, "bfloat16"),
        ({"avx512_bf16": False}, Precision.AUTO, "float32"),
        ({}, Precision.AUTO, "float32"),
        ({}, Precision.BFLOAT16, "bfloat16"),
        ({"avx512_bf16": True}, Precision.FLOAT32, "float32"),
    ],
)
def test_arithmetic_follows_the_machine(
    capabilities: dict[str, bool],
    wish: Precision,
    dtype: str,
    phrases: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    config = MirrorConfig(precision=wish)
    assert plan(sampler_of(phrases, config), config, CPU).dtype == dtype


def test_older_torch_without_capabilities_trains_in_float32(
    phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    config = MirrorConfig()
    assert plan(sampler_of(phrases, config), config, CPU).dtype == "float32"


def test_float16_is_refused(phrases: list[str]) -> None:
    config = MirrorConfig(precision=Precision.FLOAT16)
    with pytest.raises(UsageError, match="float32 or bfloat16"):
        plan(sampler_of(phrases, config), config, CPU)


def test_mixed_precision_keeps_float32_weights(tiny: Tiny, phrases: list[str]) -> None:
    encoder = encoder_of(tiny("bert"))
    config = MirrorConfig(precision=Precision.BFLOAT16, dropout=0.0)
    sampler = sampler_of(phrases[:30], config)
    mixed = train(encoder, sampler, config, plan(sampler, config, CPU), SILENT)
    assert {p.dtype for p in encoder.model.parameters()} == {torch.float32}
    exact_config = replace(config, precision=Precision.FLOAT32)
    exact_encoder = encoder_of(tiny("bert"))
    exact = train(exact_encoder, sampler, exact_config, plan(sampler, exact_config, CPU), SILENT)
    assert mixed.losses != exact.losses
    assert mixed.losses == pytest.approx(exact.losses, rel=0.05)
