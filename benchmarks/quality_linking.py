"""What linking is worth: held-out names before and after tuning, and mentions of two corpora."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import data
from benchmarks.harness import kept, threads, workspace
from benchmarks.quality_text import default_encoder
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import EncoderConfig, MirrorConfig, Preset
from mirror_index.names import name_key
from mirror_index.records import Record, Scope

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.linking import GoldMention, LinkingReport
    from mirror_index.tuning import TuneResult

HELD_OUT = 2000
SEEDS = (data.SEED, 34, 35)
"""Of the draws of names; the first is that of the other tables."""

QUICK_CONCEPTS = 300
QUICK_HELD_OUT = 60

_SCORES = (
    *(
        Column(name=name, spec=".4f")
        for measure in ("Acc@1", "Acc@5")
        for name in (measure, f"{measure} low", f"{measure} high")
    ),
    Column(name="coverage", spec=".3f"),
    Column(name="accuracy of linked", spec=".3f"),
    Column(name="ECE", spec=".3f"),
    Column(name="mentions/s", spec=",.0f"),
)
_HELD_OUT = (Column(name="encoder"), Column(name="names", spec=",d"), *_SCORES)
_DRAWS = (_HELD_OUT[0], Column(name="draw"), _HELD_OUT[1], _SCORES[0], _SCORES[3])
_MENTIONS = (
    *(Column(name=name) for name in ("corpus", "encoder", "mentions")),
    Column(name="n", spec=",d"),
    *_SCORES,
)
_CARD = (
    Column(name="measure"),
    Column(name="n", spec=",d"),
    Column(name="before", spec=".3f"),
    Column(name="after", spec=".3f"),
    Column(name="p", spec=".4f"),
)
_NOTE = (
    "Accuracy looks at the candidates of every mention, whatever the linker decided; coverage is "
    "the share that was linked, at the default threshold. Probabilities are calibrated on the "
    "dictionary alone. Bootstrap intervals."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Names held out as mentions, and the dictionary without them."""

    held_out: list[Record]
    rest: list[Record]


def run_held_out(quick: bool) -> Result:
    """Link held-out names of the HPO with the default encoder and with one tuned on the rest."""
    split = split_names(quick)
    base = kept("held-out-base", quick, lambda: _linked(split, default_encoder()))
    tuned = kept("held-out-tuned", quick, lambda: _tuned(split, quick))
    return Result(
        title="linking held-out names of the HPO, before and after tuning",
        tables=(
            Table(
                title="Names that are in no dictionary entry, to the concept they came from",
                columns=_HELD_OUT,
                rows=[
                    ["default, untuned", len(split.held_out), *base],
                    [f"tuned on the rest ({_kept(tuned)})", len(split.held_out), *tuned["scores"]],
                ],
            ),
            Table(
                title="Other draws of the names",
                columns=_DRAWS,
                rows=_draws({SEEDS[0]: base}, quick),
            ),
            Table(title="The tuner's own card", columns=_CARD, rows=_measures(tuned["card"])),
        ),
        note=(
            f"{_NOTE} Held out is a seeded sample of names other than labels that no other name "
            "equals after normalisation (case, accents, punctuation), so that the exact layer "
            "cannot answer; every concept keeps its label. Tuning and index see the rest only. "
            f"Tuning took {tuned['seconds']:.0f} s: {tuned['card']['reason']}."
        ),
        settings={
            "threads": threads(),
            "seeds": ", ".join(map(str, SEEDS)),
            "preset": Preset.PHRASE.value,
            "names indexed": len(split.rest),
        },
    )


def _kept(tuned: Mapping[str, Any]) -> str:
    return "kept" if tuned["card"]["kept"] else "not kept: the base again"


def _draws(known: dict[int, list[Cell]], quick: bool) -> list[Sequence[Cell]]:
    """Return the accuracies by draw, their mean and their standard deviation."""
    size = QUICK_HELD_OUT if quick else HELD_OUT
    for seed in SEEDS:
        if seed not in known:
            known[seed] = kept(
                f"held-out-base-{seed}",
                quick,
                lambda seed=seed: _linked(split_names(quick, seed), default_encoder()),
            )
    both = [(known[seed][0], known[seed][3]) for seed in SEEDS]  # Acc@1 and Acc@5
    rows: list[Sequence[Cell]] = [
        ["default, untuned", f"seed {seed}", size, *pair]
        for seed, pair in zip(SEEDS, both, strict=True)
    ]
    for name, summary in (("mean", statistics.mean), ("standard deviation", statistics.stdev)):
        rows.append(["default, untuned", name, size, *map(summary, zip(*both, strict=True))])
    return rows


def split_names(quick: bool, seed: int = data.SEED) -> Split:
    """Hold a seeded sample of synonyms of the HPO out of it."""
    names = data.records(data.find(data.HPO))
    if quick:
        names = _some(names, QUICK_CONCEPTS)
    bearers = Counter(name_key(name.text) for name in names)
    labelled = {name.concept_id for name in names if name.scope is Scope.LABEL}
    eligible = [
        name
        for name in names
        if name.scope is not Scope.LABEL
        and name.concept_id in labelled
        and bearers[name_key(name.text)] == 1
    ]
    held_out = data.sample(eligible, QUICK_HELD_OUT if quick else HELD_OUT, seed)
    taken = {name.id for name in held_out}
    return Split(held_out=held_out, rest=[name for name in names if name.id not in taken])


def _some(
    names: Sequence[Record], concepts: int, also: frozenset[str] = frozenset()
) -> list[Record]:
    """Return the names of the first `concepts` concepts, and of those in `also`."""
    chosen = set(list(dict.fromkeys(name.concept_id for name in names))[:concepts]) | also
    return [name for name in names if name.concept_id in chosen]


def held_out_gold(names: Sequence[Record]) -> list[GoldMention]:
    """Return names as mentions of their concepts."""
    from mirror_index.evaluation import parse_gold
    from mirror_index.linking import GoldMention

    return [
        GoldMention(mention=name.text, gold_ids=parse_gold(name.concept_id or "")) for name in names
    ]


def _linked(split: Split, encoder: TransformerEncoder) -> list[Cell]:
    gold = held_out_gold(split.held_out)
    return _evaluated(split.rest, encoder, {"held out": gold})["held out"]


def _tuned(split: Split, quick: bool) -> dict[str, Any]:
    with workspace() as folder:
        result = tuned(split.rest, folder / "encoder", quick)
        return {
            "card": result.card.to_json(),
            "seconds": result.seconds,
            "scores": _linked(split, _encoder(result.folder)),
        }


def tuned(names: Sequence[Record], folder: Path, quick: bool) -> TuneResult:
    """Tune the default encoder on names with the settings of `tune`."""
    from mirror_index.tuning import tune

    config = MirrorConfig.for_preset(Preset.PHRASE, device="cpu", threads=threads(), **_size(quick))
    return tune(names, folder, config=config)


def _encoder(folder: Path) -> TransformerEncoder:
    from mirror_index.encoding import load_encoder

    return load_encoder(folder, EncoderConfig(device="cpu", threads=threads()))


def _size(quick: bool) -> dict[str, object]:
    return {"strings": 64, "synonym_pairs": 64, "batch_size": 16} if quick else {}


def _measures(card: Mapping[str, Any]) -> list[list[Cell]]:
    return [
        [
            measure["title"].strip(),
            measure["n"],
            measure["before"]["value"],
            measure["after"]["value"] if measure["after"] else None,
            measure["p"],
        ]
        for measure in card["measures"]
    ]


def run_mentions(quick: bool) -> Result:
    """Link the mentions of GSC+ and the NCBI disease corpus, without tuning and with."""
    corpora = {
        "GSC+ (HPO)": ("hpo_gscplus.test", data.HPO),
        "NCBI disease (MEDIC)": ("ncbi_disease.test", data.MEDIC),
    }
    rows: list[Sequence[Cell]] = []
    for label, (mentions, dictionary) in corpora.items():
        for encoder, step in (("default, untuned", "base"), ("tuned on the dictionary", "tuned")):
            found = kept(
                f"mentions-{mentions}-{step}",
                quick,
                partial(_mentions, mentions, dictionary, quick, tune=step == "tuned"),
            )
            rows += [[label, encoder, kind, *scores] for kind, scores in found.items()]
    return Result(
        title="linking mentions of abstracts",
        tables=(Table(title="Mentions of one concept, test parts", columns=_MENTIONS, rows=rows),),
        note=(
            f"{_NOTE} Held out are the mentions that are no name of their concept after lower-"
            "casing and stripping punctuation. The sentence around a mention is not used. Tuning "
            "sees the names of the dictionary only; in the HPO those of `quality.held_out`, less "
            "the ones held out there."
        ),
        settings={"threads": threads()},
    )


def _mentions(name: str, dictionary: str, quick: bool, *, tune: bool) -> dict[str, list[Cell]]:
    """Return the count and the scores of all mentions and of the held-out ones."""
    from mirror_index.linking import read_gold

    source = data.find(f"linking/{name}.tsv")
    single = {"kind": "single"}
    gold = {
        "all": read_gold(source, "mention", "gold_ids_dict", single),
        "held out": read_gold(source, "mention", "gold_ids_dict", {**single, "in_dict_norm": "0"}),
    }
    names = data.records(data.find(dictionary))
    if quick:
        gold = {kind: mentions[:40] for kind, mentions in gold.items()}
        wanted = frozenset(one for kind in gold.values() for row in kind for one in row.gold_ids)
        names = _some(names, QUICK_CONCEPTS, wanted)
    with workspace() as folder:
        seen = split_names(quick).rest if dictionary == data.HPO else names
        encoder = (
            _encoder(tuned(seen, folder / "encoder", quick).folder) if tune else default_encoder()
        )
        scores = _evaluated(names, encoder, gold)
    return {kind: [len(gold[kind]), *values] for kind, values in scores.items()}


def _evaluated(
    names: Sequence[Record],
    encoder: TransformerEncoder,
    gold: Mapping[str, Sequence[GoldMention]],
) -> dict[str, list[Cell]]:
    """Build and calibrate a collection, and score linking in it on each set of mentions."""
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate, evaluate_linking

    with (
        workspace() as folder,
        Collection.build(folder / "dictionary", names, encoder=encoder) as collection,
    ):
        calibrate(collection)
        return {kind: _scores(evaluate_linking(collection, rows)) for kind, rows in gold.items()}


def _scores(report: LinkingReport) -> list[Cell]:
    scores = report.scores
    ends: list[Cell] = []
    for interval in (scores.accuracy_at_1, scores.accuracy_at_5):
        ends += [interval.value, interval.low, interval.high] if interval else [None] * 3
    linked = scores.linked_accuracy
    return [
        *ends,
        scores.coverage,
        linked.value if linked else None,
        scores.ece,
        report.mentions_per_second,
    ]
