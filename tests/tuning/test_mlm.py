"""The warm-up by masked language modelling."""

from __future__ import annotations

import copy
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, MirrorConfig, Precision
from mirror_index.encoding import load_encoder
from mirror_index.encoding.batching import Batch
from mirror_index.encoding.masked import load_prediction_head
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import EncoderError, TuningError, UsageError
from mirror_index.progress import SILENT
from mirror_index.tuning import mlm, stepping, tune
from mirror_index.tuning.checkpoint import FILE, MLM_FILE, Checkpoint, partial_folder
from mirror_index.tuning.loop import Trace
from mirror_index.tuning.mlm import Vocabulary, mask_tokens, texts_of_step, vocabulary_of, warm_up
from mirror_index.tuning.stepping import Optimisation, rate_factor
from tests.tiny import SHAPES, tiny_tokenizer, write_tiny_mlm

VOCABULARY = Vocabulary(
    mask=4, special=frozenset(range(5)), ordinary=np.arange(5, 40, dtype=np.int64)
)
CONFIG = MirrorConfig(
    mlm_steps=6,
    batch_size=30,
    precision=Precision.FLOAT32,
    device="cpu",
    threads=1,
    checkpoint_every=2,
    keep=True,
)
PLAN = Optimisation(tau=0.04, learning_rate=2e-5, warmup=0, batch_size=30, steps=1, dtype="float32")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_mlm(tmp_path_factory.mktemp("raw") / "mlm")


def batch_of(lengths: list[int]) -> Batch:
    """Texts of [CLS] tokens [SEP] padding; a token tells its row."""
    width = max(lengths) + 2
    ids = np.zeros((len(lengths), width), dtype=np.int64)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = [2, *[10 + row % 20] * length, 3]
    return Batch(np.arange(len(lengths)), ids, (ids > 0).astype(np.int64))


def trained(
    folder: Path, texts: list[str], config: MirrorConfig, **rest: Any
) -> tuple[TransformerEncoder, Trace]:
    settings = EncoderConfig(device="cpu", precision=Precision.FLOAT32)
    encoder = load_encoder(folder, settings)
    head = load_prediction_head(folder, encoder.model)
    before = torch.random.get_rng_state()
    trace = warm_up(encoder, head, texts, config, PLAN, SILENT, **rest)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not encoder.model.training
    return encoder, trace


def test_a_share_of_the_tokens_is_hidden_at_least_one_a_text() -> None:
    lengths = [1, 3, 10, 20, 40] * 90
    batch = batch_of(lengths)
    masked = mask_tokens(batch, VOCABULARY, np.random.default_rng(1))
    assert masked.hidden.sum(axis=1).tolist() == [max(1, round(0.15 * n)) for n in lengths]
    assert not masked.hidden[batch.ids < 5].any()  # special tokens and padding
    assert np.array_equal(masked.ids[~masked.hidden], batch.ids[~masked.hidden])
    assert batch.ids.max() < 40
    places = np.argwhere(masked.hidden[4::5])[:, 1]
    assert set(places) == set(range(1, 41))  # anywhere


def test_of_the_hidden_most_are_masked_some_replaced_some_kept() -> None:
    batch = batch_of([100] * 400)
    masked = mask_tokens(batch, VOCABULARY, np.random.default_rng(2))
    now, before = masked.ids[masked.hidden], batch.ids[masked.hidden]
    assert len(now) == 400 * 15
    assert np.mean(now == 4) == pytest.approx(0.8, abs=0.02)
    assert np.mean(now == before) == pytest.approx(0.1 + 0.1 / 35, abs=0.015)
    replaced = now[(now != 4) & (now != before)]
    assert set(replaced) == set(range(5, 40))


def test_a_text_without_tokens_hides_none() -> None:
    masked = mask_tokens(batch_of([0, 2]), VOCABULARY, np.random.default_rng(1))
    assert masked.hidden.sum(axis=1).tolist() == [0, 1]


def test_steps_take_all_texts_before_any_twice() -> None:
    texts = [f"t{number}" for number in range(10)]
    taken = [text for step in range(10) for text in texts_of_step(texts, 4, step, seed=1)]
    epochs = [taken[start : start + 10] for start in range(0, 40, 10)]
    assert all(sorted(epoch) == texts for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert texts_of_step(texts, 4, 7, seed=1) == taken[28:32]
    assert texts_of_step(texts, 10, 0, seed=2) != epochs[0]


def test_the_vocabulary_is_the_tokenizers(raw: Path) -> None:
    encoder = load_encoder(raw, EncoderConfig(device="cpu"))
    found = vocabulary_of(encoder)
    assert found.mask == encoder.tokenizer.mask_token_id
    assert found.special == {0, 1, 2, 3, 4}
    assert found.ordinary.tolist() == list(range(5, len(tiny_tokenizer())))
    encoder.tokenizer.mask_token = None
    with pytest.raises(EncoderError, match="no mask token"):
        vocabulary_of(encoder)


def test_a_step_equals_plain_torch(
    raw: Path, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise: one padded forward pass of transformers' own model, its loss, AdamW."""
    from transformers import AutoModelForMaskedLM

    config = replace(CONFIG, mlm_steps=1, dropout=0.0, weight_decay=0.0, micro_batch=5)
    seen: list[tuple[Batch, mlm.Masked]] = []
    original = mlm.mask_tokens

    def watched(batch: Batch, *rest: Any) -> mlm.Masked:
        seen.append((batch, original(batch, *rest)))
        return seen[-1][1]

    monkeypatch.setattr(mlm, "mask_tokens", watched)
    encoder, trace = trained(raw, phrases[:30], config)

    model = AutoModelForMaskedLM.from_pretrained(raw).eval()  # so without dropout
    width = max(batch.ids.shape[1] for batch, _ in seen)
    ids, mask, labels = (np.full((30, width), fill) for fill in (0, 0, -100))
    for batch, masked in seen:
        place = (batch.rows, slice(batch.ids.shape[1]))
        ids[place], mask[place] = masked.ids, batch.mask
        labels[place] = np.where(masked.hidden, batch.ids, -100)
    inputs = (torch.from_numpy(value.astype(np.int64)) for value in (ids, mask, labels))
    ids_in, mask_in, labels_in = inputs
    loss = model(input_ids=ids_in, attention_mask=mask_in, labels=labels_in).loss
    loss.backward()
    torch.optim.AdamW(model.parameters(), lr=mlm.LEARNING_RATE, weight_decay=0.0).step()

    assert trace.losses == (pytest.approx(float(loss.detach()), rel=1e-4),)
    assert [len(batch.rows) for batch, _ in seen] == [10, 10, 10]
    for name, wanted in model.bert.named_parameters():
        if wanted.grad is None:
            continue
        clear = wanted.grad.abs() > 1e-4  # Adam's first step is the sign of the gradient
        assert torch.allclose(encoder.model.get_parameter(name)[clear], wanted[clear], atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_learns_to_predict(
    shape: str, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_mlm(tmp_path / "mlm", shape)
    monkeypatch.setattr(mlm, "LEARNING_RATE", 3e-3)
    _, trace = trained(folder, phrases[:90], replace(CONFIG, mlm_steps=24))
    assert trace.finite
    assert np.mean(trace.losses[-4:]) < 0.9 * np.mean(trace.losses[:2])


def test_the_rate_rises_and_falls(
    raw: Path, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, Optimisation]] = []

    def watched(step: int, settings: Optimisation) -> float:
        asked.append((step, settings))
        return rate_factor(step, settings)

    monkeypatch.setattr(stepping, "rate_factor", watched)
    trained(raw, phrases[:20], CONFIG)
    assert [step for step, _ in asked] == list(range(6))
    (settings,) = {replace(settings) for _, settings in asked}
    assert (settings.learning_rate, settings.warmup, settings.steps) == (1e-4, 0.1, 6)
    assert settings.batch_size == 20


def test_runs_repeat(raw: Path, phrases: list[str]) -> None:
    runs = []
    for _ in range(2):
        encoder, trace = trained(raw, phrases[:60], CONFIG)
        runs.append((trace.losses, copy.deepcopy(encoder.model.state_dict())))
        torch.rand(3)
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(value, runs[1][1][name]) for name, value in runs[0][1].items())
    assert trained(raw, phrases[:60], replace(CONFIG, seed=1))[1].losses != runs[0][0]


def test_micro_batches_change_no_loss(
    raw: Path, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(CONFIG, dropout=0.0, mlm_steps=2)

    def same(batch: Batch, vocabulary: Vocabulary, _: object) -> mlm.Masked:
        """Masks by text, however the batch is cut."""
        parts = [
            mask_tokens(
                Batch(batch.rows[i : i + 1], batch.ids[i : i + 1], batch.mask[i : i + 1]),
                vocabulary,
                np.random.default_rng(batch.ids[i][batch.mask[i] == 1]),
            )
            for i in range(len(batch.rows))
        ]
        return mlm.Masked(
            ids=np.concatenate([part.ids for part in parts]),
            hidden=np.concatenate([part.hidden for part in parts]),
        )

    monkeypatch.setattr(mlm, "mask_tokens", same)
    whole = trained(raw, phrases[:30], config)[1].losses
    cut = trained(raw, phrases[:30], replace(config, micro_batch=2))[1].losses
    assert cut == pytest.approx(whole, rel=1e-4)


def test_numbers_that_break_end_the_warm_up(
    raw: Path, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlm, "LEARNING_RATE", 1e30)
    result = tune(phrases, tmp_path / "tuned", encoder=raw, config=CONFIG)
    assert not result.kept
    assert "stopped being finite by step 2 of the warm-up" in result.reason
    settings = json.loads((tmp_path / "tuned" / "tuning.json").read_text())
    assert settings["losses"] == []
    assert settings["mlm_losses"][-1] is None
    assert result.card.loss == {"first": None, "last": None}
    assert [path.name for path in tmp_path.iterdir()] == ["tuned"]


def test_too_little_memory_says_what_to_do(
    raw: Path, phrases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> torch.Tensor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(stepping.Passes, "states", full)
    with pytest.raises(TuningError, match="smaller batch"):
        trained(raw, phrases[:20], CONFIG)


class Plug(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize("after", [1, 3, 5])
def test_an_interrupted_warm_up_goes_on_bit_for_bit(
    raw: Path, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    whole = tune(phrases, tmp_path / "whole", encoder=raw, config=CONFIG)
    original = mlm._MaskedStep.__call__

    def step(self: Any, texts: Any, number: int) -> float:
        if number == after:
            raise Plug
        return original(self, texts, number)

    with monkeypatch.context() as patch:
        patch.setattr(mlm._MaskedStep, "__call__", step)
        with pytest.raises(Plug):
            tune(phrases, tmp_path / "tuned", encoder=raw, config=CONFIG)
    left = partial_folder(tmp_path / "tuned")
    assert (left / MLM_FILE).is_file() is (after > 1)
    again = tune(phrases, tmp_path / "tuned", encoder=raw, config=CONFIG)
    assert again.card.tuned == whole.card.tuned
    losses = [
        json.loads((tmp_path / name / "tuning.json").read_text()) for name in ("whole", "tuned")
    ]
    assert losses[0]["mlm_losses"] == losses[1]["mlm_losses"]
    assert len(losses[0]["mlm_losses"]) == 6
    assert not left.exists()


def test_a_finished_warm_up_is_not_repeated(
    raw: Path, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror_index.tuning import loop

    whole = tune(phrases, tmp_path / "whole", encoder=raw, config=CONFIG)
    original = loop._Step.__call__

    def step(self: Any, batch: Any, number: int) -> float:
        if number == 3:
            raise Plug
        return original(self, batch, number)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Step, "__call__", step)
        with pytest.raises(Plug):
            tune(phrases, tmp_path / "tuned", encoder=raw, config=CONFIG)
    left = partial_folder(tmp_path / "tuned")
    assert sorted(path.name for path in left.iterdir()) == sorted([FILE, MLM_FILE])
    monkeypatch.setattr(mlm._MaskedStep, "__call__", lambda *_: pytest.fail("warmed up again"))
    again = tune(phrases, tmp_path / "tuned", encoder=raw, config=CONFIG)
    assert again.card.tuned == whole.card.tuned
    assert not left.exists()


def test_without_checkpoints_nothing_is_written(
    raw: Path, phrases: list[str], tmp_path: Path
) -> None:
    point = Checkpoint(folder=tmp_path / "x", every=0, request={}, file=MLM_FILE)
    trained(raw, phrases[:40], CONFIG, checkpoint=point)
    assert list(tmp_path.iterdir()) == []


def test_it_changes_the_result_and_is_counted(
    raw: Path, phrases: list[str], tmp_path: Path
) -> None:
    plain = tune(phrases, tmp_path / "plain", encoder=raw, config=replace(CONFIG, mlm_steps=0))
    warm = tune(phrases, tmp_path / "warm", encoder=raw, config=CONFIG)
    assert plain.card.tuned != warm.card.tuned
    assert warm.card.counts["mlm_steps"] == 6
    assert "mlm_steps" not in plain.card.counts


def test_a_base_without_a_head_is_refused_before_any_step(
    tiny: Callable[[str], Path], phrases: list[str], tmp_path: Path
) -> None:
    with pytest.raises(EncoderError, match="leave --mlm-steps out"):
        tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=CONFIG)
    assert list(tmp_path.iterdir()) == []


def test_steps_are_not_negative() -> None:
    with pytest.raises(UsageError, match="mlm_steps"):
        MirrorConfig(mlm_steps=-1)


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8 are Linux's")
def test_a_folder_may_have_any_name(raw: Path, phrases: list[str], tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff \xfe"))
    shutil.copytree(raw, folder)
    _, trace = trained(folder, phrases[:20], replace(CONFIG, mlm_steps=1))
    assert trace.finite
