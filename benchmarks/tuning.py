"""What each variant of tuning is worth: variants x data sets x seeds, against plain Mirror.

`python -m benchmarks tuning.variants` measures all; `python -m benchmarks.tuning --variants noise
word-mask --sets smiles --seeds 33 34 35` a choice of them.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import data, harness, report
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import (
    EncoderConfig,
    Loss,
    MaskUnit,
    MirrorConfig,
    Pooling,
    Preset,
    ReadOptions,
)
from mirror_index.readers import read
from mirror_index.records import SourceItem

if TYPE_CHECKING:
    from mirror_index.vectors import EncoderLike

SEEDS = (33, 34, 35)
QUICK_STRINGS = 400
PLAIN = "plain"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {},
    "no-mask": {"span_mask": 0},
    "word-mask": {"mask": MaskUnit.WORD, "span_mask": 1},
    "token-mask": {"mask": MaskUnit.TOKEN, "span_mask": 2},
    "noise": {"noise": 0.5},
    "multi-similarity": {"loss": Loss.MULTI_SIMILARITY},
    "synonyms": {"synonyms": True},
    "synonyms-multi-similarity": {"synonyms": True, "loss": Loss.MULTI_SIMILARITY},
    "drophead": {"drophead": 0.2, "dropout": 0.0},
    "tau-0.2": {"tau": 0.2},
    "cls": {"pooling": Pooling.CLS},
    "two-epochs": {"epochs": 2},
    "negatives-unmasked": {},
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


class DataSet(NamedTuple):
    """A collection to tune on, a base encoder, and how the result is scored (x 100)."""

    measure: str
    model: str | None
    preset: Preset
    texts: Callable[[], list[SourceItem | str]]
    score: Callable[[EncoderLike], float]

    def base(self) -> Path | None:
        """Return the folder of the base encoder; None is the default one."""
        return None if self.model is None else data.find(self.model)


def run(quick: bool) -> Result:
    """Measure all variants on all data sets."""
    if quick:
        return measure(list(VARIANTS), list(SETS), SEEDS[:1], strings=QUICK_STRINGS)
    return measure(list(VARIANTS), list(SETS), SEEDS)


def measure(
    variants: Sequence[str],
    sets: Sequence[str],
    seeds: Sequence[int],
    strings: int | None = None,
) -> Result:
    """Measure some variants on some data sets; `strings` cuts the runs short."""
    cut = strings is not None
    rows: list[Sequence[Cell]] = []
    for name in sets:
        before = harness.kept(f"tuning-{name}-before", cut, partial(_before, name))
        runs = {
            variant: [
                harness.kept(
                    f"tuning-{name}-{variant}-{seed}{f'-{strings}' if cut else ''}",
                    cut,
                    partial(_after, name, variant, seed, strings),
                )
                for seed in seeds
            ]
            for variant in dict.fromkeys([PLAIN, *variants])
        }
        rows += [_row(name, variant, before, runs) for variant in runs]
    return Result(
        title="variants of tuning against plain Mirror",
        tables=(Table(title="Scores x 100, a run a seed", columns=_COLUMNS, rows=rows),),
        note=(
            "Plain is the published method with the settings of its preset, near-identical strings "
            "masked out of the negatives, and no synonyms; the base is not the tuned encoder where "
            "tuning hurt. The difference to plain is taken seed by seed."
        ),
        settings={
            "threads": harness.threads(),
            "seeds": ", ".join(map(str, seeds)),
            **({"strings": strings} if cut else {}),
        },
    )


def _row(name: str, variant: str, before: float, runs: Mapping[str, Sequence[float]]) -> list[Cell]:
    after = runs[variant]
    differences = [a - b for a, b in zip(after, runs[PLAIN], strict=True)]
    several = len(after) > 1
    return [
        name,
        SETS[name].measure,
        variant,
        len(after),
        before,
        statistics.mean(after),
        statistics.stdev(after) if several else None,
        statistics.mean(differences),
        statistics.stdev(differences) if several else None,
    ]


def _before(name: str) -> float:
    return _scored(name, SETS[name].base())


def _after(name: str, variant: str, seed: int, strings: int | None) -> float:
    from mirror_index.tuning import tune

    changes = {
        "synonyms": False, "seed": seed, "keep": True, "threads": harness.threads(),
        "device": "cpu", **VARIANTS[variant],
    }  # fmt: skip
    if strings is not None:
        changes |= {"strings": strings, "synonym_pairs": strings}
    chosen = SETS[name]
    config = MirrorConfig.for_preset(chosen.preset, **changes)
    with harness.workspace() as folder, _patched(variant):
        tune(chosen.texts(), folder / "tuned", encoder=chosen.base(), config=config)
        return _scored(name, folder / "tuned")


def _scored(name: str, encoder: Path | None) -> float:
    from mirror_index.encoding import load_encoder

    settings = EncoderConfig(device="cpu", threads=harness.threads())
    return SETS[name].score(load_encoder(encoder, settings))


@contextmanager
def _patched(variant: str) -> Iterator[None]:
    """Take the masking of near-identical negatives out for one variant; no setting does that."""
    from mirror_index.tuning import pairs

    original = pairs.near_key
    if variant == "negatives-unmasked":
        counter = count()
        pairs.near_key = lambda text: str(next(counter))
    try:
        yield
    finally:
        pairs.near_key = original


def _sts(encoder: EncoderLike) -> float:
    from mirror_index.evaluation import evaluate_sts

    return evaluate_sts(data.find("sts/stsb-dev.tsv"), encoder).spearman.value


def _simlex(encoder: EncoderLike) -> float:
    rows = [line.split("\t") for line in data.lines("lexical/EN-SIMLEX-999.txt")]
    left, right = (encoder.encode([row[side] for row in rows]) for side in (0, 1))
    cosines = np.einsum("ij,ij->i", left, right)
    gold = np.array([float(row[2]) for row in rows])
    return 100 * float(np.corrcoef(_ranks(cosines), _ranks(gold))[0, 1])


def _ranks(values: Any) -> Any:  # noqa: ANN401 - arrays
    """Return ranks; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def _smiles(encoder: EncoderLike) -> float:
    drugs, queries = (_table(f"corpora/{name}.tsv") for name in ("drug_smiles", "smiles_queries"))
    gallery = encoder.encode([row["smiles"] for row in drugs])
    scores = encoder.encode([row["query_smiles"] for row in queries]) @ gallery.T
    found = [drugs[best]["id"] for best in scores.argmax(axis=1)]
    return 100 * float(
        np.mean([a == row["gold_id"] for a, row in zip(found, queries, strict=True)])
    )


def _ncbi(encoder: EncoderLike) -> float:
    """Return Acc@1 of the mentions that are no name of their concept, over the whole dictionary."""
    names = _table(data.MEDIC)
    mentions = [
        row
        for row in _table("linking/ncbi_disease.test.tsv")
        if row["kind"] == "single" and row["in_dict_norm"] == "0"
    ]
    gallery = encoder.encode([row["name"] for row in names])
    scores = encoder.encode([row["mention"] for row in mentions]) @ gallery.T
    found = [names[best]["concept_id"] for best in scores.argmax(axis=1)]
    golds = [row["gold_ids_dict"].split("|") for row in mentions]
    return 100 * float(np.mean([a in gold for a, gold in zip(found, golds, strict=True)]))


def _table(name: str) -> list[dict[str, str]]:
    with data.find(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _lines(name: str) -> list[SourceItem | str]:
    return list(data.lines(name))


def _medic() -> list[SourceItem | str]:
    options = ReadOptions(concept_column="concept_id", text_column="name", scope_column="kind")
    return list(read(data.find(data.MEDIC), options))


MLM = "models/minilm-l6-mlm"
SETS: Mapping[str, DataSet] = {
    "sts": DataSet(
        "STS-B dev, Spearman",
        MLM,
        Preset.SENTENCE,
        partial(_lines, "corpora/sts_train_10k_sentences.txt"),
        _sts,
    ),
    "words": DataSet(
        "SimLex-999, Spearman",
        MLM,
        Preset.WORD,
        partial(_lines, "corpora/en_words_top_10k.txt"),
        _simlex,
    ),
    "smiles": DataSet(
        "re-spelt SMILES, Acc@1",
        "models/albert-smiles-0.8M",
        Preset.PHRASE,
        lambda: [row["smiles"] for row in _table("corpora/drug_smiles.tsv")],
        _smiles,
    ),
    "diseases": DataSet("NCBI mentions held out, Acc@1", None, Preset.PHRASE, _medic, _ncbi),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--strings", type=int, help="strings a run, to cut it short")
    wishes = parser.parse_args()
    harness.limit_cores()
    facts = harness.environment()
    result = measure(wishes.variants, wishes.sets, wishes.seeds, wishes.strings)
    name = "tuning.variants"
    print(report.text_of(report.Measurement(name=name, quick=True, facts=facts, result=result)))


if __name__ == "__main__":
    main()
