"""From a source to a tuned encoder folder, or to the base encoder and the reason why."""

from __future__ import annotations

import copy
import json
import math
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirror_index.config import EncoderConfig, MirrorConfig
from mirror_index.encoding import load_encoder
from mirror_index.errors import EncoderError, NoGainError, UsageError
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import SourceItem
from mirror_index.tuning.card import Card, compare
from mirror_index.tuning.guard import Verdict, judge
from mirror_index.tuning.pairs import PairSampler
from mirror_index.tuning.probes import Answers, Probes, answer, make_probes, texts_of
from mirror_index.tuning.strings import MAX_HELD_OUT, Corpus, Split, collect, split
from mirror_index.vectors import EncoderLike

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What `tune` did.

    Attributes:
        folder: the encoder folder: tuned, or the base when tuning did not help.
        card: before and after.
        kept: whether `folder` holds tuned weights.
        reason: of that, in a sentence.
        seconds: wall time in all.
    """

    folder: Path
    card: Card
    kept: bool
    reason: str
    seconds: float


def tune(
    items: Iterable[SourceItem | str],
    output: Path,
    *,
    encoder: str | Path | None = None,
    config: MirrorConfig | None = None,
    reporter: Reporter = SILENT,
) -> TuneResult:
    """Tune an encoder on a source without labels, and keep the result only if it helps.

    Mirror-BERT (Liu et al., EMNLP 2021, arXiv 2104.08027); when the source is a dictionary, pairs
    of names of one concept are positives too (SapBERT, Liu et al., NAACL 2021, arXiv 2010.11784).

    Args:
        items: records, concepts or plain strings; rejected rows are counted (`quarantined`: without
            those that were just skipped) and passed over.
        output: folder to make: an encoder, ``card.json``, ``card.txt`` and ``tuning.json``. It
            appears whole or not at all.
        encoder: base model: a folder, a hub name, or None for the default encoder.
        config: settings; None for the published ones at sentence level.
        reporter: receives the stages read, tune and measure.

    Raises:
        UsageError: `output` exists and is not an empty folder, or a precision that is not for
            training.
        TuningError: fewer than 16 distinct strings, too little memory.
        NoGainError: no gain, and `config.require_gain`.
        EncoderError: the base cannot be loaded.
    """
    config = config or MirrorConfig()
    _refuse_existing(output)
    clock = _Clock()
    corpus, parts = _read(items, config, reporter)
    clock.lap("read")
    settings = EncoderConfig(
        device=config.device, precision=config.precision, threads=config.threads
    )
    base = load_encoder(encoder, settings)
    attempt = _attempt(base, parts, config, reporter)
    clock.lap("tune")
    probes = make_probes(parts, config.seed)
    before, after = _answers(base, attempt.tuned, probes, reporter)
    measures = compare(probes, before, after, config.seed)
    clock.lap("measure")
    verdict = judge(measures) if after is not None else _broken(attempt)
    _require_gain(verdict, config)
    kept = attempt.tuned if after is not None and (verdict.gain or config.keep) else None
    card = Card(
        measures=measures,
        kept=kept is not None,
        gain=verdict.gain,
        reason=verdict.reason,
        counts=_counts(corpus, parts, attempt),
        loss=_first_and_last(attempt.losses),
        base=base.fingerprint,
        tuned=attempt.tuned.fingerprint if attempt.tuned else None,
        seconds=clock.laps,
    )
    _write(output, kept or base, card, {"config": config.to_json(), "used": attempt.used})
    return TuneResult(
        folder=output, card=card, kept=card.kept, reason=card.reason, seconds=clock.total()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A finished training run; `tuned` is None when numbers stopped being finite."""

    tuned: TransformerEncoder | None
    losses: tuple[float, ...]
    synonym_pairs: int
    identity_pairs: int
    used: Mapping[str, Any]


class _Clock:
    """Wall time by stage."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._start = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(now - self._last, 3)
        self._last = now

    def total(self) -> float:
        return round(time.perf_counter() - self._start, 3)


def _refuse_existing(output: Path) -> None:
    if output.is_dir() and not any(output.iterdir()):
        return
    if output.exists() or output.is_symlink():
        raise UsageError(
            "the output exists already", value=str(output), remedy="Name a new folder, or remove it"
        )


def _read(
    items: Iterable[SourceItem | str], config: MirrorConfig, reporter: Reporter
) -> tuple[Corpus, Split]:
    with reporter.stage("read", None, "rows") as advance:

        def counted() -> Iterator[SourceItem | str]:
            for item in items:
                yield item
                advance(1)

        corpus = collect(counted(), size=config.strings + MAX_HELD_OUT, seed=config.seed)
    return corpus, split(corpus, config)


def _attempt(
    base: TransformerEncoder, parts: Split, config: MirrorConfig, reporter: Reporter
) -> _Attempt:
    """Train a copy of the base."""
    from mirror_index.encoding.transformer import TransformerEncoder  # torch: seconds
    from mirror_index.tuning.loop import plan, train

    recipe = replace(base.recipe, pooling=config.pooling or base.recipe.pooling)
    shortened = replace(recipe, max_length=min(recipe.max_length, config.max_length))
    model = copy.deepcopy(base.model)
    student = TransformerEncoder(model, base.tokenizer, shortened, base.config)
    sampler = PairSampler(parts, config, base.tokenizer.mask_token)
    optimisation = plan(sampler, config, base.device)
    trace = train(student, sampler, config, optimisation, reporter)
    return _Attempt(
        tuned=TransformerEncoder(model, base.tokenizer, recipe, base.config)
        if trace.finite
        else None,
        losses=trace.losses,
        synonym_pairs=sampler.synonym_pairs,
        identity_pairs=sampler.identity_pairs,
        used=asdict(optimisation),
    )


def _answers(
    base: EncoderLike, tuned: EncoderLike | None, probes: Probes, reporter: Reporter
) -> tuple[Answers, Answers | None]:
    """Ask both; the second is None where there is no tuned encoder that can encode."""
    sides = 1 if tuned is None else 2
    with reporter.stage("measure", sides * texts_of(probes), "texts") as advance:
        before = answer(base, probes, advance)
        if tuned is None:
            return before, None
        try:
            return before, answer(tuned, probes, advance)
        except EncoderError:  # finite weights that overflow in use
            return before, None


def _broken(attempt: _Attempt) -> Verdict:
    reason = f"training broke down: numbers stopped being finite by step {len(attempt.losses)}"
    return Verdict(gain=False, reason=reason)


def _require_gain(verdict: Verdict, config: MirrorConfig) -> None:
    if config.require_gain and not verdict.gain:
        raise NoGainError(
            f"tuning did not help: {verdict.reason}",
            remedy="Use the base encoder, or other strings or settings",
        )


def _counts(corpus: Corpus, parts: Split, attempt: _Attempt) -> dict[str, int]:
    return {
        "items": corpus.items,
        "rejected": corpus.rejected,
        "quarantined": corpus.quarantined,
        "strings": len(parts.strings),
        "held_out_strings": len(parts.held_strings),
        "held_out_names": len(parts.held_names),
        "identity_pairs": attempt.identity_pairs,
        "synonym_pairs": attempt.synonym_pairs,
        "steps": len(attempt.losses),
    }


def _first_and_last(losses: Sequence[float]) -> dict[str, float | None]:
    """Return the ends of the loss curve; JSON knows no NaN, so that is null."""
    ends = {"first": losses[0], "last": losses[-1]}
    return {name: loss if math.isfinite(loss) else None for name, loss in ends.items()}


def _write(output: Path, encoder: EncoderLike, card: Card, settings: Mapping[str, Any]) -> None:
    """Write everything beside `output` and move it there in one step."""
    output.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.parent))
    try:
        folder = scratch / output.name  # made by mkdir, so that it gets the usual permissions
        encoder.save(folder)
        for name, value in (("card.json", card.to_json()), ("tuning.json", settings)):
            text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
            (folder / name).write_text(f"{text}\n", encoding="utf-8")
        (folder / "card.txt").write_text(card.render(), encoding="utf-8")
        if output.is_dir():
            output.rmdir()
        folder.rename(output)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
