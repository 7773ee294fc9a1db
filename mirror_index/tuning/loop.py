"""The training loop: batches of pairs through the encoder, InfoNCE, AdamW."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch

from mirror_index.config import Loss, MirrorConfig, Precision
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import UsageError
from mirror_index.progress import Reporter
from mirror_index.tuning.checkpoint import Checkpoint, go_on
from mirror_index.tuning.noise import drophead, dropout
from mirror_index.tuning.objective import mirror_loss, multi_similarity_loss
from mirror_index.tuning.pairs import Pair, PairSampler
from mirror_index.tuning.passes import Pass
from mirror_index.tuning.processes import ALONE, Team
from mirror_index.tuning.stepping import Optimisation, Stepper


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What happened in training: the loss of every step, and whether all numbers stayed finite."""

    losses: tuple[float, ...]
    finite: bool


def plan(sampler: PairSampler, config: MirrorConfig, device: torch.device) -> Optimisation:
    """Choose the settings of a run.

    The synonym settings are used where synonyms lead (`PairSampler.synonyms_lead`); fewer would not
    carry a learning rate that is made for them.

    Raises:
        UsageError: a precision that cannot be trained in.
    """
    synonyms = sampler.synonyms_lead
    pairs = sampler.synonym_pairs + sampler.identity_pairs
    return Optimisation(
        tau=config.synonym_tau if synonyms else config.tau,
        learning_rate=config.synonym_learning_rate if synonyms else config.learning_rate,
        warmup=config.synonym_warmup if synonyms else config.warmup,
        batch_size=min(config.batch_size, pairs),
        steps=config.epochs * len(batch_bounds(pairs, config.batch_size)),
        dtype=_training_dtype(config.precision, device),
    )


def batch_bounds(pairs: int, batch_size: int) -> list[tuple[int, int]]:
    """Return start and stop of every batch; a single pair left over joins the batch before it."""
    starts = list(range(0, pairs, batch_size))
    if len(starts) > 1 and pairs - starts[-1] < 2:
        starts.pop()
    return list(zip(starts, [*starts[1:], pairs], strict=True))


def train(
    encoder: TransformerEncoder,
    sampler: PairSampler,
    config: MirrorConfig,
    optimisation: Optimisation,
    reporter: Reporter,
    *,
    team: Team = ALONE,
    checkpoint: Checkpoint | None = None,
) -> Trace:
    """Tune the encoder's model in place.

    Seeded: on the CPU two runs give the same weights bit for bit, one that was interrupted and
    went on from its checkpoint too; the caller's random state is left as it was. Several processes
    give the loss curve of one, up to the order of sums. Training stops at the first loss that is
    not finite.

    Raises:
        TuningError: the device has too little memory, drophead does not know the model, or a
            checkpoint cannot be written or read.
        UsageError: the checkpoint is of another run.
    """
    devices = [encoder.device] if encoder.device.type == "cuda" else []
    generator = np.random.default_rng(config.seed)
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices))
        stack.enter_context(dropout(encoder.model, config.dropout))
        stack.enter_context(drophead(encoder.model, config.drophead))
        stack.callback(encoder.model.eval)
        step = _Step(encoder, sampler, config, optimisation, team)
        losses = go_on(
            checkpoint,
            encoder.model,
            step.optimiser,
            optimisation.steps,
            team=team,
            reporter=reporter,
        )
        advance = stack.enter_context(reporter.stage("tune", optimisation.steps, "steps"))
        advance(len(losses))
        for batch in islice(_batches(sampler, config, generator), len(losses), None):
            losses.append(step(batch, len(losses)))
            advance(1)
            if not math.isfinite(losses[-1]):
                break
            if checkpoint is not None and team.leads and checkpoint.due(len(losses)):
                checkpoint.save(encoder.model, step.optimiser, losses)
    finite = math.isfinite(losses[-1]) and all(
        bool(torch.isfinite(weights).all()) for weights in encoder.model.parameters()
    )
    return Trace(losses=tuple(losses), finite=finite)


class _Step:
    """One optimiser step on a batch of pairs.

    The loss needs all rows of the batch at once, the model does not: rows are cut off from the
    passes that made them, and the gradient of the loss by the rows is what goes back through each
    pass. Passes that would not fit into memory together are run again for that, under the same
    noise (gradient caching, Gao et al. 2021, arXiv 2101.06983). Passes are dealt out to the
    processes of the team.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        sampler: PairSampler,
        config: MirrorConfig,
        optimisation: Optimisation,
        team: Team = ALONE,
    ) -> None:
        self._sampler = sampler
        self._config = config
        self._settings = optimisation
        self._team = team
        self._stepper = Stepper(
            encoder, encoder.model, config, optimisation, team, seed=config.seed
        )
        self.passes = self._stepper.passes
        self.optimiser = self._stepper.optimiser

    def __call__(self, batch: list[Pair], number: int) -> float:
        return self._stepper.take(number, lambda: self.backward(batch, number))

    def backward(self, batch: list[Pair], number: int) -> float:
        """Add the gradients of this process's passes to the parameters; return the batch's loss."""
        texts = [pair.left for pair in batch] + [pair.right for pair in batch]
        mine = self.passes.cut(texts, number)[self._team.rank :: self._team.size]
        twice = self.passes.too_large(mine)
        with torch.set_grad_enabled(not twice), self.passes.arithmetic():
            kept = [self.passes.run(one) for one in mine]
        rows = self._all_rows(mine, kept, len(texts)).requires_grad_()
        loss = self._loss(rows, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        with self.passes.arithmetic():
            for one in reversed(mine):
                part = kept.pop()
                part = self.passes.run(one) if twice else part
                with self.passes.plain_arithmetic():
                    part.backward(rows.grad[one.rows])  # type: ignore[no-untyped-call, index]
        return float(loss.detach())

    def _all_rows(
        self, mine: Sequence[Pass], kept: Sequence[torch.Tensor], texts: int
    ) -> torch.Tensor:
        """Return the (texts, dim) rows of all processes, without gradient."""
        encoder = self.passes.encoder
        rows = torch.zeros(texts, encoder.dim, device=encoder.device)
        for one, part in zip(mine, kept, strict=True):
            rows[one.rows] = part.detach()
        self._team.add_up(rows)
        return rows

    def _loss(self, rows: torch.Tensor, batch: list[Pair]) -> torch.Tensor:
        relations = self._sampler.relations(batch)
        positives = torch.from_numpy(relations.positives).to(rows.device)
        negatives = torch.from_numpy(relations.negatives).to(rows.device)
        if self._config.loss is Loss.MULTI_SIMILARITY:
            return multi_similarity_loss(rows, positives, negatives)
        return mirror_loss(rows, positives, negatives, self._settings.tau)


def _batches(
    sampler: PairSampler, config: MirrorConfig, generator: np.random.Generator
) -> Iterator[list[Pair]]:
    for _ in range(config.epochs):
        pairs = sampler.epoch(generator)
        for start, stop in batch_bounds(len(pairs), config.batch_size):
            yield pairs[start:stop]


def _training_dtype(precision: Precision, device: torch.device) -> str:
    if precision in {Precision.FLOAT16, Precision.INT8}:
        raise UsageError(
            "tuning runs in float32 or bfloat16",
            value=precision.value,
            remedy="Use --precision auto, float32 or bfloat16",
        )
    if precision is Precision.AUTO:
        return "bfloat16" if _has_bfloat16(device) else "float32"
    return str(precision.value)


def _has_bfloat16(device: torch.device) -> bool:
    """Whether the hardware itself multiplies bfloat16 matrices; emulation is slow."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    ask: Callable[[], dict[str, object]] = getattr(
        torch.cpu, "get_capabilities", dict
    )  # new in 2.9
    capabilities = ask()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_tile"))
