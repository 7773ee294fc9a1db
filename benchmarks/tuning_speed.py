"""The paper's sentence recipe: a plain loop as published against ours, with the share of each gain.

The loops take the same steps in turns, so that a slow spell of the machine hits all of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data, tuning_gain
from benchmarks.harness import Spread, kept, say, seconds_of, threads
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import EncoderConfig, MirrorConfig
from mirror_index.encoding import load_encoder
from mirror_index.evaluation import evaluate_sts
from mirror_index.names import name_key

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.tuning.pairs import Pair, PairSampler

MODEL = "models/minilm-l6-mlm"
SENTENCES = "corpora/sts_train_10k_sentences.txt"
STS = "sts/stsb-dev.tsv"
MEASURE = "STS-B dev, Spearman"
MAX_LENGTH = 50
SHORTEST_MASKED = 30
"""The published code leaves shorter strings unmasked."""

LEVELS = ("published", "+ dynamic padding", "+ one forward pass", "+ bfloat16", "ours")
_SPEED = (
    Column(name="loop"),
    Column(name="s a step", spec=".2f"),
    Column(name="lowest", spec=".2f"),
    Column(name="highest", spec=".2f"),
    Column(name="times as fast as published", spec=".2f"),
    Column(name="times as fast as the line above", spec=".2f"),
)
_EPOCH = (
    Column(name="loop"),
    Column(name="sentences", spec=",d"),
    Column(name="steps an epoch", spec="d"),
    Column(name="s an epoch", spec=".0f"),
)
_QUALITY = (
    Column(name="loop"),
    Column(name="runs", spec="d"),
    Column(name="STS-B dev, Spearman x 100", spec=".2f"),
    Column(name="lowest", spec=".2f"),
    Column(name="highest", spec=".2f"),
)

Step = Callable[[list["Pair"], int], float]


def run(quick: bool) -> Result:
    """Time a step of every loop."""
    turns, size = (1, 20) if quick else (4, 200)
    config = MirrorConfig(batch_size=size)
    base = _base()
    sampler = _sampler(_sentences(), config, base)
    pairs = sampler.epoch(np.random.default_rng(data.SEED))
    loops = {level: _loop(level, base, sampler, config) for level in LEVELS}
    seconds: dict[str, list[float]] = {level: [] for level in LEVELS}
    for turn in range(turns + 1):
        batch = pairs[turn * size : (turn + 1) * size]
        for level, step in loops.items():
            taken = seconds_of(partial(step, batch, turn))
            if turn:  # the first step of each warms it up
                say(f"  {level}: {taken:.2f} s")
                seconds[level].append(taken)
    return Result(
        title="the published sentence recipe, a step of the loop",
        tables=(
            Table(title="Interleaved steps", columns=_SPEED, rows=_speeds(seconds)),
            Table(title="An epoch of the recipe", columns=_EPOCH, rows=_epochs(seconds, size)),
        ),
        note=(
            "Published: both views apart, padded to 50 tokens, float32. Each line adds one thing; "
            "ours cuts a batch into passes over texts of like length, with weights converted once "
            "a step. The same batches in turns; medians. Ours trains sentences that differ only "
            "in case, accents or punctuation once (the other loops all of them), and it holds a "
            "tenth of them out for its card."
        ),
        settings={"threads": threads(), "batch": size, "turns": turns, "model": MODEL},
    )


def run_quality(quick: bool) -> Result:
    """Train an epoch with the published loop and tune as a user would; compare what comes out."""
    published = [kept("tuning-published-33", quick, partial(_published, 33, quick))]
    ours = [one["scores"][MEASURE] for one in tuning_gain.runs_of("mlm-sentences", quick)]
    rows: list[Sequence[Cell]] = []
    for level, scores in ((LEVELS[0], published), (LEVELS[-1], ours)):
        spread = Spread.of(scores)
        rows.append([level, len(scores), spread.median, spread.low, spread.high])
    return Result(
        title="the published sentence recipe, what both loops bring",
        tables=(Table(title="After one epoch, a run a seed", columns=_QUALITY, rows=rows),),
        note=(
            "The published loop over all 10,000 sentences, run to its end; ours as `tune` runs it, "
            "which holds a tenth of the distinct ones out. Same batch size, rates and pooling "
            "(the masked mean); the median of runs."
        ),
        settings={"threads": threads(), "model": MODEL},
    )


def _published(seed: int, quick: bool) -> float:
    size = 20 if quick else 200
    config = MirrorConfig(batch_size=size, seed=seed)
    base = _base()
    sampler = _sampler(_sentences(), config, base)
    pairs = sampler.epoch(np.random.default_rng(seed))
    step = Published(base.model, base.tokenizer, 0, config)
    for number in range(2 if quick else len(pairs) // size):
        step(pairs[number * size : (number + 1) * size], number)
    tuned = type(base)(base.model.eval(), base.tokenizer, base.recipe, base.config)
    return evaluate_sts(data.find(STS), tuned).spearman.value


def _base() -> TransformerEncoder:
    settings = EncoderConfig(device="cpu", threads=threads(), max_length=MAX_LENGTH)
    return load_encoder(data.find(MODEL), settings)


def _sentences() -> list[str]:
    return [line for line in data.lines(SENTENCES) if line.strip()]


def _sampler(texts: Sequence[str], config: MirrorConfig, base: TransformerEncoder) -> PairSampler:
    from mirror_index.tuning.pairs import PairSampler
    from mirror_index.tuning.strings import Split

    parts = Split(strings=tuple(texts), concepts={}, dictionary={}, held_strings=(), held_names=())
    return PairSampler(parts, config, base.tokenizer.mask_token)


def _loop(
    level: str,
    base: TransformerEncoder,
    sampler: PairSampler,
    config: MirrorConfig,
) -> Step:
    """Return a step of one of the loops, over a copy of the base."""
    model = copy.deepcopy(base.model)
    if level != LEVELS[-1]:
        return Published(model, base.tokenizer, LEVELS.index(level), config)
    from mirror_index.tuning.loop import _Step, plan

    student = type(base)(model, base.tokenizer, base.recipe, base.config)
    return _Step(student, sampler, config, plan(sampler, config, base.device))


class Published:
    """The published loop, written plainly: tokenise, encode both views, InfoNCE, AdamW.

    Args:
        model: trained in place.
        tokenizer: its own.
        gains: how many of `LEVELS` beyond the first it has.
        config: batch size, rates and temperature.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - untyped for mypy
        tokenizer: Any,  # noqa: ANN401
        gains: int,
        config: MirrorConfig,
    ) -> None:
        import torch

        self._torch = torch
        self._model = model.train()
        self._tokenizer = tokenizer
        self._dynamic, self._joint, self._mixed = gains >= 1, gains >= 2, gains >= 3
        self._tau = config.tau
        self._optimiser = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self._random = np.random.default_rng(config.seed)
        self._span = config.span_mask

    def __call__(self, pairs: list[Pair], number: int) -> float:
        """Take a step on the left texts of `pairs`; return the loss."""
        torch = self._torch
        if number == 0:
            torch.manual_seed(data.SEED)
        left = [pair.left for pair in pairs]
        right = [self._mask(text) for text in left]
        views = [left + right] if self._joint else [left, right]
        rows = torch.cat([self._encode(texts) for texts in views])
        logits = rows @ rows.T / self._tau
        logits = logits.masked_fill(torch.eye(len(rows), dtype=torch.bool), -torch.inf)
        gold = torch.arange(len(rows)).roll(len(pairs))
        loss = torch.nn.functional.cross_entropy(logits, gold)
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        return float(loss.detach())

    def _encode(self, texts: list[str]) -> Any:  # noqa: ANN401 - a tensor
        torch = self._torch
        inputs = self._tokenizer(
            texts,
            padding=True if self._dynamic else "max_length",
            truncation=True,
            max_length=MAX_LENGTH,
            return_tensors="pt",
        )
        mixed = torch.autocast("cpu", dtype=torch.bfloat16) if self._mixed else nullcontext()
        with mixed:
            hidden = self._model(**inputs).last_hidden_state.float()
        mask = inputs["attention_mask"].unsqueeze(-1)
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)

    def _mask(self, text: str) -> str:
        """Mask as the published code does: where the drawn letters stand first, not short texts."""
        if len(text) <= SHORTEST_MASKED or not self._span:
            return text
        start = int(self._random.integers(len(text) - self._span))
        before, after = text.split(text[start : start + self._span], 1)
        return f"{before} [MASK] {after}"


def _speeds(seconds: dict[str, list[float]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    above = first = seconds[LEVELS[0]]
    for level, values in seconds.items():
        spread = Spread.of(values)
        gains = (
            Spread.of([b / a for a, b in zip(values, other, strict=True)]).median
            for other in (first, above)
        )
        rows.append([level, spread.median, spread.low, spread.high, *gains])
        above = values
    return rows


def _epochs(seconds: dict[str, list[float]], size: int) -> list[list[Cell]]:
    texts = _sentences()
    distinct = len({name_key(text) or text for text in texts})
    counts = {LEVELS[0]: len(texts), LEVELS[-1]: distinct - min(1000, round(0.1 * distinct))}
    return [
        [
            level,
            count,
            -(-count // size),
            -(-count // size) * Spread.of(seconds[level]).median,
        ]
        for level, count in counts.items()
    ]
