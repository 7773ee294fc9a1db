"""What each variant of tuning is worth: variants x data sets x seeds, against plain Mirror.

`python -m benchmarks tuning.variants` measures all; `python -m benchmarks.tuning --sets words
--variants noise token-mask --seeds 33 34 35 --strings 2000` a choice of them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness, report, tuning_sets
from benchmarks.report import Cell, Column, Result, Table
from benchmarks.tuning_sets import DataSet
from mirror_index.config import EncoderConfig, Loss, MaskUnit, MirrorConfig, Pooling, Preset

SEEDS = (33, 34, 35)
STRINGS = 1_000
QUICK_STRINGS = 100
PLAIN = "plain"
UNMASKED = "negatives-unmasked"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {},
    UNMASKED: {},
    "no-mask": {"span_mask": 0},
    "short-masked": {"mask_from": 0},
    "char-mask": {"mask": MaskUnit.CHAR, "span_mask": 5},
    "word-mask": {"mask": MaskUnit.WORD, "span_mask": 1},
    "token-mask": {"mask": MaskUnit.TOKEN, "span_mask": 2},
    "noise": {"noise": 0.5},
    "multi-similarity": {"loss": Loss.MULTI_SIMILARITY},
    "synonyms": {"synonyms": True},
    "synonyms-multi-similarity": {"synonyms": True, "loss": Loss.MULTI_SIMILARITY},
    "synonyms-noise": {"synonyms": True, "noise": 0.5},
    "drophead": {"drophead": 0.2, "dropout": 0.0},
    "tau-0.04": {"tau": 0.04},
    "tau-0.2": {"tau": 0.2},
    "cls": {"pooling": Pooling.CLS},
    "more-epochs": {"epochs": 4},
    "more-strings": {"strings": 2 * STRINGS},
    "mlm-20": {"mlm_steps": 20},
}
"""What a variant changes of `PLAIN`: Mirror with the preset of the data set, without synonyms."""

_COLUMNS = (
    Column(name="data"),
    Column(name="measure"),
    Column(name="variant"),
    Column(name="runs", spec="d"),
    Column(name="before", spec=".2f"),
    Column(name="after, mean", spec=".2f"),
    Column(name="sd", spec=".2f"),
    Column(name="less plain, mean", spec="+.2f"),
    Column(name="sd of that", spec=".2f"),
)


class Set(NamedTuple):
    """A data set and the variants that make sense on it."""

    data: DataSet
    variants: tuple[str, ...]


SETS: Mapping[str, Set] = {
    "sentences": Set(
        DataSet(
            "sentences", tuning_sets.MLM, Preset.SENTENCE,
            partial(tuning_sets.lines, tuning_sets.SENTENCES), tuning_sets.STS_DEV,
        ),
        (
            UNMASKED, "no-mask", "short-masked", "word-mask", "token-mask", "noise",
            "multi-similarity", "drophead", "tau-0.2", "cls", "more-epochs", "more-strings",
            "mlm-20",
        ),
    ),
    "words": Set(
        DataSet(
            "words", tuning_sets.MLM, Preset.WORD,
            partial(tuning_sets.lines, tuning_sets.WORDS), tuning_sets.SIMLEX,
        ),
        (
            UNMASKED, "char-mask", "token-mask", "noise", "multi-similarity", "drophead",
            "tau-0.04", "cls", "more-epochs", "more-strings", "mlm-20",
        ),
    ),
    "smiles": Set(
        DataSet(
            "molecules", tuning_sets.SMILES, Preset.PHRASE,
            lambda: [row["smiles"] for row in tuning_sets.table("corpora/drug_smiles.tsv")],
            {"re-spelt SMILES, Acc@1": tuning_sets.smiles},
        ),
        ("no-mask", "token-mask", "noise", "multi-similarity", "tau-0.2", "cls", "mlm-20"),
    ),
    "diseases": Set(
        DataSet("MEDIC diseases", None, Preset.PHRASE, tuning_sets.medic, tuning_sets.NCBI),
        (
            UNMASKED, "no-mask", "word-mask", "noise", "synonyms", "synonyms-multi-similarity",
            "synonyms-noise",
        ),
    ),
    "phenotypes": Set(
        DataSet("HPO", None, Preset.PHRASE, tuning_sets.phenotypes, tuning_sets.HPO),
        (UNMASKED, "noise", "synonyms", "synonyms-multi-similarity", "synonyms-noise"),
    ),
}  # fmt: skip


def run(quick: bool) -> Result:
    """Measure all variants on all data sets."""
    seeds, strings = (SEEDS[:1], QUICK_STRINGS) if quick else (SEEDS, STRINGS)
    return measure(list(VARIANTS), list(SETS), seeds, strings)


def measure(
    variants: Sequence[str], sets: Sequence[str], seeds: Sequence[int], strings: int = STRINGS
) -> Result:
    """Measure some variants on some data sets, `strings` strings and synonym pairs a run."""
    rows: list[Sequence[Cell]] = []
    for name in sets:
        chosen = [one for one in (PLAIN, *SETS[name].variants) if one in {PLAIN, *variants}]
        before = _kept(f"{name}-before", partial(_before, name))
        runs = {
            variant: [
                _kept(
                    f"{name}-{variant}-{seed}-{strings}",
                    partial(_after, name, variant, seed, strings),
                )
                for seed in seeds
            ]
            for variant in chosen
        }
        rows += [_row(name, variant, before, runs) for variant in runs]
    return Result(
        title="variants of tuning against plain Mirror",
        tables=(Table(title="Scores x 100, a run a seed", columns=_COLUMNS, rows=rows),),
        note=(
            "Short runs, to be compared with each other. Plain is the published method with the "
            "settings of its preset and masked mean, near-identical strings masked out of the "
            "negatives, and no synonyms; nothing is held out, and the base is not put back where "
            "tuning hurt. With synonyms the synonym settings hold. The difference to plain is "
            "taken seed by seed. "
            f"Names are looked up among {tuning_sets.GALLERY:,}."
        ),
        settings={
            "threads": harness.threads(),
            "seeds": ", ".join(map(str, seeds)),
            "strings": strings,
            "more strings": 2 * STRINGS,
            "synonym pairs": strings,
        },
    )


def _kept(name: str, compute: Any) -> float:  # noqa: ANN401 - a callable
    return float(harness.kept(f"tuning-{name}", False, compute))


def _row(name: str, variant: str, before: float, runs: Mapping[str, Sequence[float]]) -> list[Cell]:
    after = runs[variant]
    differences = [a - b for a, b in zip(after, runs[PLAIN], strict=True)]
    several = len(after) > 1
    (title,) = SETS[name].data.scores
    return [
        SETS[name].data.label,
        title,
        variant,
        len(after),
        before,
        statistics.mean(after),
        statistics.stdev(after) if several else None,
        statistics.mean(differences),
        statistics.stdev(differences) if several else None,
    ]


def _before(name: str) -> float:
    return _scored(name, SETS[name].data.base())


def _after(name: str, variant: str, seed: int, strings: int) -> float:
    from mirror_index.tuning import tune

    changes = {
        "synonyms": False, "seed": seed, "keep": True, "held_out": 0, "device": "cpu",
        "threads": harness.threads(), "strings": strings, "synonym_pairs": strings,
        "pooling": Pooling.MEAN, **VARIANTS[variant],
    }  # fmt: skip
    chosen = SETS[name].data
    config = MirrorConfig.for_preset(chosen.preset, **changes)
    with harness.workspace() as folder, _patched(variant):
        tune(chosen.texts(), folder / "tuned", encoder=chosen.base(), config=config)
        return _scored(name, folder / "tuned")


def _scored(name: str, encoder: Path | None) -> float:
    from mirror_index.encoding import load_encoder

    settings = EncoderConfig(device="cpu", threads=harness.threads())
    (score,) = SETS[name].data.scores.values()
    return score(load_encoder(encoder, settings))


@contextmanager
def _patched(variant: str) -> Iterator[None]:
    """Take the masking of near-identical negatives out for one variant; no setting does that."""
    from mirror_index.tuning import pairs

    original = pairs.near_key
    if variant == UNMASKED:
        counter = count()
        pairs.near_key = lambda text: str(next(counter))
    try:
        yield
    finally:
        pairs.near_key = original


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--strings", type=int, default=STRINGS, help="strings a run")
    wishes = parser.parse_args()
    harness.limit_cores()
    facts = harness.environment()
    result = measure(wishes.variants, wishes.sets, wishes.seeds, wishes.strings)
    name = "tuning.variants"
    print(report.text_of(report.Measurement(name=name, quick=True, facts=facts, result=result)))


if __name__ == "__main__":
    main()
