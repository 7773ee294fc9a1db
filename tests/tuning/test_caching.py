"""Gradient caching: the gradients of a big batch in the memory of a small one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, Loss, MirrorConfig, Precision
from mirror_index.encoding import load_encoder
from mirror_index.encoding.batching import Batch
from mirror_index.tuning import passes
from mirror_index.tuning.loop import _Step, plan
from mirror_index.tuning.noise import drophead, dropout
from mirror_index.tuning.objective import mirror_loss
from mirror_index.tuning.pairs import Pair, PairSampler
from mirror_index.tuning.passes import Pass, Passes, activation_bytes, noise_seed
from mirror_index.tuning.strings import Split
from tests.tiny import SHAPES

Tiny = Callable[[str], Path]
CPU = torch.device("cpu")
PLAIN = MirrorConfig(precision=Precision.FLOAT32, dropout=0.0, tau=0.1)


def steps_of(
    folder: Path, strings: list[str], config: MirrorConfig, concepts: int | None = None
) -> tuple[_Step, list[Pair], PairSampler]:
    """One step over one batch; by default two thirds of the strings are names of one of two."""
    count = len(strings) // 3 if concepts is None else concepts
    names = {f"C{i}": (strings[2 * i], strings[2 * i + 1]) for i in range(count)}
    parts = Split(
        strings=tuple(strings), concepts=names, dictionary={}, held_strings=(), held_names=()
    )
    encoder = load_encoder(folder, EncoderConfig(device="cpu", precision=Precision.FLOAT32))
    sampler = PairSampler(parts, config, "[MASK]")
    batch = sampler.epoch(np.random.default_rng(1))
    return _Step(encoder, sampler, config, plan(sampler, config, CPU)), batch, sampler


def gradients(step: _Step) -> dict[str, torch.Tensor]:
    model = step.passes.encoder.model
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def plain(step: _Step, batch: list[Pair], sampler: PairSampler, tau: float) -> float:
    """The loss of the whole batch in one padded forward pass and one backward pass."""
    encoder = step.passes.encoder
    texts = [pair.left for pair in batch] + [pair.right for pair in batch]
    inputs = encoder.tokenizer(
        texts, padding=True, truncation=True, max_length=64, return_tensors="pt"
    )
    mask = inputs["attention_mask"]
    hidden = encoder.model(input_ids=inputs["input_ids"], attention_mask=mask).last_hidden_state
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    relations = sampler.relations(batch)
    loss = mirror_loss(
        torch.nn.functional.normalize(mean, dim=1),
        torch.from_numpy(relations.positives),
        torch.from_numpy(relations.negatives),
        tau,
    )
    loss.backward()
    return float(loss.detach())


def close(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], atol: float) -> bool:
    return first.keys() == second.keys() and all(
        torch.allclose(value, second[name], atol=atol, rtol=1e-4) for name, value in first.items()
    )


def check(
    step: _Step, batch: list[Pair], sampler: PairSampler, tau: float
) -> dict[str, torch.Tensor]:
    """Compare loss and gradients with those of one pass, without noise; return the gradients."""
    with dropout(step.passes.encoder.model, 0.0):
        loss = step.backward(batch, 0)
        found = {name: value.clone() for name, value in gradients(step).items()}
        step.optimiser.zero_grad()
        assert loss == pytest.approx(plain(step, batch, sampler, tau), abs=1e-5)
    assert close(found, gradients(step), 1e-5)
    return found


def test_a_batch_of_2048_has_the_loss_and_gradients_of_one_pass(tiny: Tiny) -> None:
    rng = random.Random(2)
    drawn = ("".join(rng.choices("abcdefgh ij", k=9)).strip() for _ in range(2100))
    strings = list(dict.fromkeys(drawn))[:2048]
    config = replace(PLAIN, batch_size=4096, micro_batch=64)
    step, batch, sampler = steps_of(tiny("bert"), strings, config, concepts=100)
    assert len(batch) == 2148
    found = check(step, batch, sampler, config.tau)
    assert max(float(value.abs().max()) for value in found.values()) > 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_gradients_of_one_pass(
    tiny: Tiny, shape: str, phrases: list[str]
) -> None:
    step, batch, sampler = steps_of(tiny(shape), phrases[:24], replace(PLAIN, micro_batch=5))
    check(step, batch, sampler, 0.05)


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize("mixed", [Precision.FLOAT32, Precision.BFLOAT16])
def test_noise_is_the_same_in_both_runs_of_a_pass(
    tiny: Tiny, phrases: list[str], mixed: Precision, loss: Loss
) -> None:
    """Under dropout and DropHead: passes run twice against the same passes kept."""
    results = []
    for free in (0, 1 << 40):
        config = replace(PLAIN, precision=mixed, batch_size=400, loss=loss)
        step, batch, _ = steps_of(tiny("bert"), phrases[:200], config)
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setattr(passes, "free_memory", lambda device, free=free: free)
            patch.setattr(passes, "CPU_TOKENS", 512)
            stack.enter_context(dropout(step.passes.encoder.model, 0.1))
            stack.enter_context(drophead(step.passes.encoder.model, 0.2))
            results.append((step.backward(batch, 3), gradients(step)))
    assert results[0][0] == results[1][0]
    assert close(results[0][1], results[1][1], 0.0)


def test_noise_differs_between_passes_and_steps(tiny: Tiny, phrases: list[str]) -> None:
    step, _, _ = steps_of(tiny("bert"), phrases[:20], PLAIN)
    with dropout(step.passes.encoder.model, 0.3), torch.no_grad():
        first, other = step.passes.cut(phrases[:8], 0)[0], step.passes.cut(phrases[:8], 1)[0]
        rows = step.passes.run(first)
        assert torch.equal(rows, step.passes.run(first))
        assert not torch.allclose(rows, step.passes.run(other), atol=1e-3)
    seeds = {noise_seed(33, step, place) for step in range(40) for place in range(40)}
    assert len(seeds) == 1600
    assert all(0 <= seed < 2**63 for seed in seeds)


@contextmanager
def watching_memory() -> Iterator[dict[str, int]]:
    """Count the bytes that autograd holds for backward passes, and their peak."""
    held = {"now": 0, "peak": 0}

    class Kept:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.tensor = tensor
            self.size = tensor.numel() * tensor.element_size()
            held["now"] += self.size
            held["peak"] = max(held["peak"], held["now"])

        def __del__(self) -> None:
            held["now"] -= self.size

    with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor):
        yield held


def test_a_micro_batch_bounds_the_memory(tiny: Tiny, phrases: list[str]) -> None:
    peaks: dict[int | None, int] = {}
    for micro in (None, 8, 2):
        config = replace(PLAIN, micro_batch=micro, batch_size=400)
        step, batch, _ = steps_of(tiny("bert"), phrases, config)
        with watching_memory() as held:
            step.backward(batch, 0)
        peaks[micro] = held["peak"]
    assert peaks[8] < peaks[None] / 5
    assert peaks[2] < peaks[8]


def a_pass(texts: int, length: int) -> Pass:
    shape = np.zeros((texts, length), dtype=np.int64)
    return Pass(Batch(np.arange(texts), shape, shape), 0)


def test_passes_are_run_twice_when_they_do_not_fit(
    tiny: Tiny, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(tiny("bert"), EncoderConfig(device="cpu"))
    automatic = Passes(encoder, mixed=True)
    one = a_pass(4, 10)
    # 40 tokens of 2 layers: 34 x 32 wide, and 5 x 4 heads x 10 tokens of attention
    assert activation_bytes(encoder.model.config, one, mixed=True) == 40 * 2 * (34 * 32 + 200)
    assert activation_bytes(encoder.model.config, one, mixed=False) == 2 * 40 * 2 * (1088 + 200)
    needed = 2 * 40 * 2 * 1288
    for free, expected in ((2 * needed - 1, True), (2 * needed + 1, False), (None, False)):
        monkeypatch.setattr(passes, "free_memory", lambda device, free=free: free)
        assert automatic.too_large([one, one]) is expected
    assert Passes(encoder, mixed=True, micro_batch=2).too_large([one])


def test_free_memory_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    found = passes.free_memory(CPU)
    assert found is None or found > 1 << 20
    monkeypatch.setattr(Path, "is_file", lambda self: False)
    other = passes.free_memory(CPU)
    assert other is None or other > 1 << 20
    monkeypatch.setattr(passes.os, "sysconf_names", {})
    assert passes.free_memory(CPU) is None


def test_cutting_keeps_every_text_once(tiny: Tiny, phrases: list[str]) -> None:
    encoder: Any = load_encoder(tiny("bert"), EncoderConfig(device="cpu"))
    for micro in (None, 1, 7):
        cut = Passes(encoder, mixed=False, micro_batch=micro).cut(phrases[:50], 0)
        rows = np.concatenate([one.batch.rows for one in cut])
        assert sorted(rows.tolist()) == list(range(50))
        assert micro is None or max(len(one.batch.rows) for one in cut) <= 2 * micro
