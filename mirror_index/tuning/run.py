"""From a source to a tuned encoder folder, or to the base encoder and the reason why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Preset
from mirror_index.encoding import load_encoder
from mirror_index.encoding.recipe import is_raw
from mirror_index.errors import EncoderError, NoGainError
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import SourceItem, refuse_name
from mirror_index.tuning.card import Card, compare
from mirror_index.tuning.guard import Verdict, judge
from mirror_index.tuning.probes import Answers, Probes, answer, make_probes, texts_of
from mirror_index.tuning.saving import can_plot, finite, refuse_existing, write
from mirror_index.tuning.strings import MAX_HELD_OUT, Corpus, Split, collect, split
from mirror_index.vectors import EncoderLike

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.tuning.attempt import Attempt
    from mirror_index.tuning.processes import Team


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """What `tune` did.

    Attributes:
        folder: the encoder folder: tuned, or the base when tuning did not help.
        card: before and after.
        seconds: wall time in all.
        leads: whether this process wrote the folder; of several that tune together, one does.
    """

    folder: Path
    card: Card
    seconds: float
    leads: bool = True

    @property
    def kept(self) -> bool:
        """Whether `folder` holds tuned weights."""
        return self.card.kept

    @property
    def reason(self) -> str:
        """Why they were kept or not, in a sentence."""
        return self.card.reason


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
        output: folder to make: an encoder, ``card.json``, ``card.txt``, ``card.png`` (where
            matplotlib is installed) and ``tuning.json``. It appears whole or not at all. While
            tuning, ``OUTPUT.partial`` holds a checkpoint, from which the same call goes on.
        encoder: base model: a folder, a hub name, or None for the default encoder.
        config: settings; None for the published ones at sentence level.
        reporter: receives the stages read, tune and measure.

    Raises:
        UsageError: `output` exists and is not an empty folder, a precision that is not for
            training, or ``OUTPUT.partial`` holds a run with other settings or texts.
        TuningError: fewer than 16 distinct strings, too little memory, a checkpoint that cannot
            be written or read.
        NoGainError: no gain, and `config.require_gain`.
        EncoderError: the base cannot be loaded, or `config.mlm_steps` asks for a head it lacks.
    """
    from mirror_index.encoding.bulk import resolve_device  # torch: seconds
    from mirror_index.tuning.processes import device_of, team

    refuse_name(items)
    config, output = config or MirrorConfig(), Path(output)
    refuse_existing(output)
    device = device_of(config.device)
    with team(resolve_device(device)) as processes:
        heard = reporter if processes.leads else SILENT
        return _tuned(items, output, encoder, replace(config, device=device), processes, heard)


def _tuned(
    items: Iterable[SourceItem | str],
    output: Path,
    encoder: str | Path | None,
    config: MirrorConfig,
    processes: Team,
    reporter: Reporter,
) -> TuneResult:
    """Do the work of `tune` as one of several processes, usually one of one."""
    from mirror_index.encoding.loading import encoder_folder
    from mirror_index.tuning.attempt import attempt

    clock = _Clock()
    corpus, parts = _read(items, config, reporter)
    clock.lap("read")
    place = encoder_folder(encoder)
    base = _base(place, config)
    config = replace(config, pooling=config.pooling or _pooling(base, place, config.preset))
    made = attempt(base, place, parts, config, output, processes, reporter)
    clock.lap("tune")
    probes = make_probes(parts, config.seed)
    before, after = _answers(base, made.tuned, probes, reporter)
    clock.lap("measure")
    measures = compare(probes, before, after, config.seed)
    verdict = judge(measures) if after is not None else _broken(made)
    kept = made.tuned if after is not None and (verdict.gain or config.keep) else None
    card = Card(
        measures=measures,
        kept=kept is not None,
        gain=verdict.gain,
        reason=verdict.reason,
        counts=_counts(corpus, parts, made),
        loss=_first_and_last(made.losses),
        base=base.fingerprint,
        tuned=made.tuned.fingerprint if made.tuned else None,
        seconds=clock.laps,
    )
    if processes.leads:
        _finish(output, kept or base, card, config, made, reporter)
    _require_gain(verdict, config)
    return TuneResult(folder=output, card=card, seconds=clock.total(), leads=processes.leads)


def _base(folder: Path, config: MirrorConfig) -> TransformerEncoder:
    settings = EncoderConfig(
        device=config.device, precision=config.precision, threads=config.threads
    )
    return load_encoder(folder, settings)


def _pooling(base: TransformerEncoder, folder: Path, preset: Preset) -> Pooling:
    """Return the pooling to tune with where none is asked for.

    That of the base, but for sentences on a base as pretraining left it, which was never made for
    any: the first token then, as published.
    """
    if preset is Preset.SENTENCE and is_raw(folder):
        return Pooling.CLS
    return base.recipe.pooling


def _finish(
    output: Path,
    encoder: EncoderLike,
    card: Card,
    config: MirrorConfig,
    made: Attempt,
    reporter: Reporter,
) -> None:
    """Write the folder, unless a gain was required and is not there; drop the checkpoint."""
    if card.gain or not config.require_gain:
        about = {
            "config": config.to_json(),
            "used": made.used,
            "mlm_losses": finite(made.mlm_losses),
        }
        write(output, encoder, card, about, made.losses)
        if not can_plot():
            reporter.note("No card.png: matplotlib is not installed")
    made.checkpoint.remove()


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


def _broken(made: Attempt) -> Verdict:
    steps = len(made.losses) or len(made.mlm_losses)
    stage = "" if made.losses else " of the warm-up"
    reason = f"training broke down: numbers stopped being finite by step {steps}{stage}"
    return Verdict(gain=False, reason=reason)


def _require_gain(verdict: Verdict, config: MirrorConfig) -> None:
    if config.require_gain and not verdict.gain:
        raise NoGainError(
            f"tuning did not help: {verdict.reason}",
            remedy="Use the base encoder, or other strings or settings",
        )


def _counts(corpus: Corpus, parts: Split, made: Attempt) -> dict[str, int]:
    return {
        "items": corpus.items,
        "rejected": corpus.rejected,
        "quarantined": corpus.quarantined,
        "strings": len(parts.strings),
        "held_out_strings": len(parts.held_strings),
        "held_out_names": len(parts.held_names),
        "identity_pairs": made.identity_pairs,
        "synonym_pairs": made.synonym_pairs,
        **({"mlm_steps": len(made.mlm_losses)} if made.mlm_losses else {}),
        "steps": len(made.losses),
    }


def _first_and_last(losses: Sequence[float]) -> dict[str, float | None]:
    """Return the ends of the loss curve."""
    curve = finite(losses) or [None]
    return {"first": curve[0], "last": curve[-1]}
