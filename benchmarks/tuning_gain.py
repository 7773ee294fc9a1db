"""What tuning brings: raw masked language models and the default encoder, before and after."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness, tuning_sets
from benchmarks.report import Cell, Column, Result, Table
from benchmarks.tuning_sets import DataSet
from mirror_index.config import EncoderConfig, MirrorConfig, Pooling, Preset

SEEDS = (33, 34, 35)
QUICK_STRINGS = 100
CARD_NAMES = 4_000

_COLUMNS = (
    Column(name="base"),
    Column(name="tuned on"),
    Column(name="strings or synonym pairs", spec=",d"),
    Column(name="measure"),
    Column(name="runs", spec="d"),
    Column(name="before", spec=".2f"),
    Column(name="after, mean", spec=".2f"),
    Column(name="lowest", spec=".2f"),
    Column(name="highest", spec=".2f"),
    Column(name="change", spec="+.2f"),
    Column(name="kept by the guard"),
)
_NOTE = (
    "The judgements and links that are measured were not trained on. The scores are those of the "
    "tuned weights, whether or not the guard kept them on the strength of its own held-out "
    f"strings. Names are looked up among {tuning_sets.GALLERY:,} by dense search alone. "
    "**When to tune:** a raw masked language model, always; any encoder on a dictionary whose "
    "concepts have several names; any encoder on single words, or on a language that it was not "
    "made for. **When not to:** a good sentence encoder on "
    "sentences of its own kind, where the score moves within a point, up or down, so that the "
    "time is better spent elsewhere. Where there are no synonyms the guard looks at altered "
    "copies, which speak for robustness against typing errors, and at the neighbours that strings "
    "keep between marks."
)


class Case(NamedTuple):
    """A row group: what is tuned, and how many strings or synonym pairs a run has.

    Attributes:
        data: collection, base and scores.
        size: strings and synonym pairs of a run, at most.
        pooling: of the base and of the runs; None leaves the base's own.
    """

    data: DataSet
    size: int
    pooling: Pooling | None = None


CASES: Mapping[str, Case] = {
    "mlm-sentences": Case(
        DataSet(
            "10,000 sentences of STS training data, masked mean", tuning_sets.MLM, Preset.SENTENCE,
            partial(tuning_sets.lines, tuning_sets.SENTENCES), tuning_sets.STS_ALL,
        ),
        10_000,
        Pooling.MEAN,
    ),
    "mlm-sentences-cls": Case(
        DataSet(
            "the same, first token (the default)", tuning_sets.MLM, Preset.SENTENCE,
            partial(tuning_sets.lines, tuning_sets.SENTENCES), tuning_sets.STS_ALL,
        ),
        10_000,
        Pooling.CLS,
    ),
    "mlm-words": Case(
        DataSet(
            "frequent words", tuning_sets.MLM, Preset.WORD,
            partial(tuning_sets.lines, tuning_sets.WORDS), tuning_sets.SIMLEX,
        ),
        10_000,
    ),
    "mlm-smiles": Case(
        DataSet(
            "drugs as SMILES", tuning_sets.SMILES, Preset.PHRASE,
            lambda: [row["smiles"] for row in tuning_sets.table("corpora/drug_smiles.tsv")],
            {"re-spelt SMILES, Acc@1": tuning_sets.smiles},
        ),
        10_000,
    ),
    "default-hpo": Case(
        DataSet(
            "HPO without 2,000 names", None, Preset.PHRASE, tuning_sets.phenotypes,
            tuning_sets.HPO, synonyms=True,
        ),
        1_000,
    ),
    "default-medic": Case(
        DataSet(
            "MEDIC", None, Preset.PHRASE, tuning_sets.medic, tuning_sets.NCBI, synonyms=True,
        ),
        1_000,
    ),
    "default-words": Case(
        DataSet(
            "frequent words", None, Preset.WORD,
            partial(tuning_sets.lines, tuning_sets.WORDS), tuning_sets.SIMLEX,
        ),
        1_000,
    ),
    "default-sentences": Case(
        DataSet(
            "sentences of STS training data", None, Preset.SENTENCE,
            partial(tuning_sets.lines, tuning_sets.SENTENCES), tuning_sets.STS_TEST,
        ),
        1_000,
    ),
    "default-scifact": Case(
        DataSet(
            "sentences of SciFact abstracts", None, Preset.SENTENCE,
            partial(tuning_sets.lines, f"{tuning_sets.data.SCIFACT}/sentences.txt"),
            {f"SciFact among {tuning_sets.ABSTRACTS} abstracts, nDCG@10": tuning_sets.scifact},
        ),
        1_000,
    ),
    "default-law": Case(
        DataSet(
            "German federal law", None, Preset.SENTENCE,
            lambda: tuning_sets.lines(tuning_sets.LAW)[: -tuning_sets.UNSEEN_LAW],
            {"unseen sentences with errors, Acc@1": tuning_sets.altered_law},
        ),
        1_000,
    ),
}  # fmt: skip


def run(quick: bool) -> Result:
    """Tune every base on every collection, and score it before and after."""
    return measure(list(CASES), quick)


def measure(names: Sequence[str], quick: bool) -> Result:
    """Tune for some of the cases."""
    rows: list[Sequence[Cell]] = []
    for name in names:
        case = CASES[name]
        before = harness.kept(f"gain-{name}-before", quick, partial(_scored, case, None))
        runs = runs_of(name, quick)
        rows += [_row(case, quick, score, before, runs) for score in case.data.scores]
    return Result(
        title="before and after tuning",
        tables=(Table(title="Scores x 100, a run a seed", columns=_COLUMNS, rows=rows),),
        note=_NOTE,
        settings={
            "threads": harness.threads(),
            "seeds": ", ".join(map(str, SEEDS[:1] if quick else SEEDS)),
            "names the guard looks among": CARD_NAMES,
        },
    )


def runs_of(name: str, quick: bool) -> list[dict[str, Any]]:
    """Return what came of the runs of a case, a seed each: scores, and what the guard said."""
    case = CASES[name]
    size = _size(case, quick)
    return [
        harness.kept(f"gain-{name}-{seed}", quick, partial(_tuned, case, seed, size))
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def _size(case: Case, quick: bool) -> int:
    return QUICK_STRINGS if quick else case.size


def _row(
    case: Case,
    quick: bool,
    score: str,
    before: Mapping[str, float],
    runs: Sequence[Mapping[str, Any]],
) -> list[Cell]:
    after = [one["scores"][score] for one in runs]
    return [
        Path(case.data.model).name if case.data.model else "default encoder",
        case.data.label,
        _size(case, quick),
        score,
        len(runs),
        before[score],
        statistics.mean(after),
        min(after),
        max(after),
        statistics.mean(after) - before[score],
        f"{sum(one['gain'] for one in runs)} of {len(runs)}",
    ]


def _tuned(case: Case, seed: int, size: int) -> dict[str, Any]:
    from mirror_index.tuning import tune

    config = MirrorConfig.for_preset(
        case.data.preset, seed=seed, keep=True, device="cpu", threads=harness.threads(),
        strings=size, synonyms=case.data.synonyms, synonym_pairs=size,
        pooling=case.pooling,
    )  # fmt: skip
    with harness.workspace() as folder, _short_card():
        done = tune(case.data.texts(), folder / "tuned", encoder=case.data.base(), config=config)
        scores = _scored(case, folder / "tuned")
        return {"scores": scores, "gain": done.card.gain, "reason": done.reason}


@contextmanager
def _short_card() -> Iterator[None]:
    """Let the guard look held-out names up among fewer, which no setting does: time."""
    from mirror_index.tuning import probes

    original = probes.DICTIONARY_NAMES
    probes.DICTIONARY_NAMES = CARD_NAMES
    try:
        yield
    finally:
        probes.DICTIONARY_NAMES = original


def _scored(case: Case, folder: Path | None) -> dict[str, float]:
    from mirror_index.encoding import load_encoder

    settings = EncoderConfig(device="cpu", threads=harness.threads(), pooling=case.pooling)
    encoder = load_encoder(folder or case.data.base(), settings)
    return {name: score(encoder) for name, score in case.data.scores.items()}
