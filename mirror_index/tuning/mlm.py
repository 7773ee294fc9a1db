"""A warm-up of masked language modelling on the collection, before the contrastive stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mirror_index.config import MirrorConfig
from mirror_index.encoding.batching import Batch
from mirror_index.encoding.masked import PredictionHead
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import EncoderError
from mirror_index.progress import Reporter
from mirror_index.tuning.checkpoint import Checkpoint, go_on
from mirror_index.tuning.loop import Trace
from mirror_index.tuning.noise import dropout
from mirror_index.tuning.passes import Pass
from mirror_index.tuning.processes import ALONE, Team
from mirror_index.tuning.stepping import Optimisation, Stepper
from mirror_index.vectors import BoolVector

SHARE = 0.15
"""Of the tokens of a text that are to be predicted; at least one is."""

MASKED, REPLACED = 0.8, 0.1
"""Shares of those that become the mask token, and some other token; the rest stay as they are."""

LEARNING_RATE = 1e-4
WARMUP = 0.1
_STREAM = 1
"""Keeps the random numbers of this stage apart from those of the contrastive one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What masking needs to know of a tokenizer.

    Attributes:
        mask: id of the mask token.
        special: ids that are never predicted.
        ordinary: (tokens,) int64 ids that may replace a token.
    """

    mask: int
    special: frozenset[int]
    ordinary: NDArray[np.int64]


def vocabulary_of(encoder: TransformerEncoder) -> Vocabulary:
    """Return what masking needs to know of the encoder's tokenizer.

    Raises:
        EncoderError: it has no mask token.
    """
    tokenizer = encoder.tokenizer
    if tokenizer.mask_token_id is None:
        raise EncoderError(
            "this tokenizer has no mask token",
            value=type(tokenizer).__name__,
            remedy="Use a masked language model as --encoder, or leave --mlm-steps out",
        )
    special = frozenset(tokenizer.all_special_ids)
    size = min(len(tokenizer), int(encoder.model.config.vocab_size))
    ordinary = np.array([token for token in range(size) if token not in special], dtype=np.int64)
    return Vocabulary(mask=int(tokenizer.mask_token_id), special=special, ordinary=ordinary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """Token ids with some hidden.

    Attributes:
        ids: (texts, length) int64, what the model reads.
        hidden: (texts, length) bool, the tokens it is asked for.
    """

    ids: NDArray[np.int64]
    hidden: BoolVector


def mask_tokens(batch: Batch, vocabulary: Vocabulary, generator: np.random.Generator) -> Masked:
    """Hide tokens as BERT does (Devlin et al., NAACL 2019, arXiv 1810.04805, section 3.1).

    Of each text 15% of the tokens, at least one, are to be predicted: 80% of them become the mask
    token, 10% another token, 10% stay. Special tokens and padding are left alone; a text without
    other tokens hides none.
    """
    ids = batch.ids.copy()
    hidden = np.zeros(ids.shape, dtype=np.bool_)
    special = np.array(sorted(vocabulary.special), dtype=np.int64)
    free = (batch.mask == 1) & ~np.isin(ids, special)
    for row in range(len(ids)):
        places = np.flatnonzero(free[row])
        count = max(1, round(SHARE * len(places)))
        hidden[row, generator.permutation(places)[:count]] = True
    lot = generator.random(ids.shape)
    ids[hidden & (lot < MASKED)] = vocabulary.mask
    swapped = hidden & (lot >= MASKED) & (lot < MASKED + REPLACED)
    ids[swapped] = generator.choice(vocabulary.ordinary, int(swapped.sum()))
    return Masked(ids=ids, hidden=hidden)


def texts_of_step(texts: Sequence[str], size: int, step: int, seed: int) -> list[str]:
    """Return the texts of a step: all in random order, then all in another order, and so on."""
    chosen: list[str] = []
    position = step * size
    while len(chosen) < size:
        epoch, start = divmod(position, len(texts))
        order = np.random.default_rng([seed, _STREAM, 0, epoch]).permutation(len(texts))
        some = order[start : start + size - len(chosen)]
        chosen += [texts[index] for index in some]
        position += len(some)
    return chosen


def warm_up(
    encoder: TransformerEncoder,
    head: PredictionHead,
    texts: Sequence[str],
    config: MirrorConfig,
    optimisation: Optimisation,
    reporter: Reporter,
    *,
    team: Team = ALONE,
    checkpoint: Checkpoint | None = None,
) -> Trace:
    """Train the encoder's model, in place, to predict masked tokens of `texts`.

    `config.mlm_steps` steps of `config.batch_size` texts, AdamW at 1e-4, 10% warm-up, then linear
    to 0. Seeded, resumed and shared among processes like `loop.train`.

    Raises:
        EncoderError: the tokenizer has no mask token.
        TuningError: too little memory; a checkpoint that cannot be written or read.
        UsageError: the checkpoint is of another run.
    """
    settings = replace(
        optimisation,
        learning_rate=LEARNING_RATE,
        warmup=WARMUP,
        batch_size=min(config.batch_size, len(texts)),
        steps=config.mlm_steps,
    )
    devices = [encoder.device] if encoder.device.type == "cuda" else []
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices))
        stack.enter_context(dropout(encoder.model, config.dropout))
        stack.callback(encoder.model.eval)
        step = _MaskedStep(encoder, head, config, settings, team)
        losses = go_on(
            checkpoint, step.model, step.optimiser, settings.steps, team=team, reporter=reporter
        )
        advance = stack.enter_context(reporter.stage("warm up", settings.steps, "steps"))
        advance(len(losses))
        while len(losses) < settings.steps and math.isfinite(sum(losses)):
            losses.append(step(texts, len(losses)))
            advance(1)
            _save(checkpoint, team, step, losses, settings.steps)
    return Trace(losses=tuple(losses), finite=math.isfinite(sum(losses)))


def _save(
    checkpoint: Checkpoint | None, team: Team, step: _MaskedStep, losses: list[float], steps: int
) -> None:
    """Save now and then, and at the end: a run that goes on later does not warm up again."""
    if checkpoint is None or not team.leads or not math.isfinite(losses[-1]):
        return
    if checkpoint.due(len(losses)) or (checkpoint.every and len(losses) == steps):
        checkpoint.save(step.model, step.optimiser, losses)


class _MaskedStep:
    """One optimiser step on the masked tokens of a batch.

    The loss is a sum over tokens, so that each pass goes back as soon as it is made. Passes are
    dealt out to the processes of the team.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        head: PredictionHead,
        config: MirrorConfig,
        settings: Optimisation,
        team: Team,
    ) -> None:
        self._head = head
        self._settings = settings
        self._seed = config.seed
        self._team = team
        self._vocabulary = vocabulary_of(encoder)
        self.model = nn.ModuleDict({"body": encoder.model, "head": head})
        seed = int(np.random.SeedSequence([config.seed, _STREAM]).generate_state(1)[0])
        self._stepper = Stepper(encoder, self.model, config, settings, team, seed=seed)
        self._passes = self._stepper.passes
        self.optimiser = self._stepper.optimiser

    def __call__(self, texts: Sequence[str], number: int) -> float:
        chosen = texts_of_step(texts, self._settings.batch_size, number, self._seed)
        return self._stepper.take(number, lambda: self._backward(chosen, number))

    def _backward(self, texts: Sequence[str], number: int) -> float:
        """Add the gradients of the mean loss over the hidden tokens; return that loss."""
        passes = self._passes.cut(texts, number)
        generator = np.random.default_rng([self._seed, _STREAM, 1, number])
        masked = [mask_tokens(one.batch, self._vocabulary, generator) for one in passes]
        count = max(1, sum(int(part.hidden.sum()) for part in masked))
        total = torch.zeros(1, device=self._passes.encoder.device)
        mine = slice(self._team.rank, None, self._team.size)
        with self._passes.arithmetic():
            for one, part in zip(passes[mine], masked[mine], strict=True):
                loss = self._loss(one, part) / count
                with self._passes.plain_arithmetic():
                    loss.backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
        self._team.add_up(total)
        return float(total)

    def _loss(self, one: Pass, masked: Masked) -> torch.Tensor:
        """Return the summed cross-entropy of the hidden tokens of a pass."""
        batch = one.batch
        states = self._passes.states(replace(one, batch=Batch(batch.rows, masked.ids, batch.mask)))
        hidden = torch.from_numpy(masked.hidden).to(states.device)
        wanted = torch.from_numpy(batch.ids[masked.hidden]).to(states.device)
        logits = self._head(states[hidden])
        return nn.functional.cross_entropy(logits.float(), wanted, reduction="sum")
