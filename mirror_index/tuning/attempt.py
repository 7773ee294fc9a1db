"""One training run on a copy of the base encoder, from a checkpoint where there is one."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mirror_index.config import MirrorConfig, Pooling
from mirror_index.encoding.masked import load_prediction_head
from mirror_index.encoding.recipe import Recipe
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.progress import Reporter
from mirror_index.tuning.augment import Span
from mirror_index.tuning.checkpoint import MLM_FILE, Checkpoint, partial_folder
from mirror_index.tuning.loop import Trace, plan, train
from mirror_index.tuning.mlm import warm_up
from mirror_index.tuning.pairs import PairSampler
from mirror_index.tuning.processes import Team
from mirror_index.tuning.strings import Split

_NOT_THE_RUN = {"device", "threads", "precision", "checkpoint_every", "require_gain", "keep"}
"""Settings that do not change what is computed, or only through `Optimisation`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A finished training run; `tuned` is None when numbers stopped being finite.

    `mlm_losses` are those of the warm-up by masked language modelling; where that broke down,
    `losses` are empty.
    """

    tuned: TransformerEncoder | None
    losses: tuple[float, ...]
    mlm_losses: tuple[float, ...]
    synonym_pairs: int
    identity_pairs: int
    used: Mapping[str, Any]
    checkpoint: Checkpoint


def attempt(
    base: TransformerEncoder,
    folder: Path,
    parts: Split,
    config: MirrorConfig,
    output: Path,
    team: Team,
    reporter: Reporter,
) -> Attempt:
    """Train a copy of the base, which came from `folder`, with the pooling that `config` says.

    The checkpoint lies beside `output`.

    Raises:
        EncoderError: a warm-up is asked for, and the base has no head or no mask token for it.
        TuningError: what `train` raises.
        UsageError: a precision that is not for training; another run's checkpoint.
    """
    recipe = replace(base.recipe, pooling=Pooling(config.pooling))
    student = _student(base, recipe, config.max_length)
    sampler = PairSampler(parts, config, base.tokenizer.mask_token, _token_spans(base))
    optimisation = plan(sampler, config, base.device)
    checkpoint = Checkpoint(
        folder=partial_folder(output),
        every=config.checkpoint_every,
        request=_request(base, parts, config, asdict(optimisation)),
    )
    warm = Trace(losses=(), finite=True)
    if config.mlm_steps:
        head = load_prediction_head(folder, student.model)
        part = replace(checkpoint, file=MLM_FILE)
        texts = parts.strings
        warm = warm_up(
            student, head, texts, config, optimisation, reporter, team=team, checkpoint=part
        )
    trace = Trace(losses=(), finite=False)
    if warm.finite:
        trace = train(
            student, sampler, config, optimisation, reporter, team=team, checkpoint=checkpoint
        )
    tuned = TransformerEncoder(student.model, base.tokenizer, recipe, base.config)
    return Attempt(
        tuned=tuned if trace.finite else None,
        losses=trace.losses,
        mlm_losses=warm.losses,
        synonym_pairs=sampler.synonym_pairs,
        identity_pairs=sampler.identity_pairs,
        used=asdict(optimisation),
        checkpoint=checkpoint,
    )


def _student(base: TransformerEncoder, recipe: Recipe, max_length: int) -> TransformerEncoder:
    """Return a copy of the base to train, on as many tokens as a training text may have."""
    shortened = replace(recipe, max_length=min(recipe.max_length, max_length))
    return TransformerEncoder(copy.deepcopy(base.model), base.tokenizer, shortened, base.config)


def _token_spans(base: TransformerEncoder) -> Any:  # noqa: ANN401 - Callable[[str], list[Span]]
    def spans(text: str) -> list[Span]:
        encoded = base.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        return [(start, stop) for start, stop in encoded.offsets if stop > start]

    return spans


def _request(
    base: TransformerEncoder, parts: Split, config: MirrorConfig, used: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what makes two runs the same: settings, arithmetic, base encoder, texts."""
    settings = {k: v for k, v in config.to_json().items() if k not in _NOT_THE_RUN}
    texts = json.dumps([parts.strings, parts.concepts, parts.held_strings], ensure_ascii=True)
    return {
        **settings,
        "arithmetic": used["dtype"],
        "encoder": base.fingerprint,
        "texts": hashlib.sha256(texts.encode("ascii")).hexdigest(),
    }
