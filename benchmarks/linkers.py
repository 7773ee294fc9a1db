"""What each layer of linking adds, how it takes mentions of nothing, and other linkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import data
from benchmarks.harness import UnavailableError, kept, seconds_of, threads, workspace
from benchmarks.linking_peers import DEPTH, PEERS, Linker, Ranking
from benchmarks.quality_linking import held_out_gold, split_names
from benchmarks.quality_text import default_encoder
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.names import name_key
from mirror_index.records import Record

if TYPE_CHECKING:
    from mirror_index.collection import Collection
    from mirror_index.linking import GoldMention
    from mirror_index.linking.candidates import Pool

NIL_SHARE = 5
"""One concept of so many is taken out for the table of mentions of nothing."""

_LAYERS = (
    Column(name="mentions"),
    Column(name="n", spec=",d"),
    Column(name="linker"),
    Column(name="Acc@1", spec=".4f"),
    Column(name="Acc@5", spec=".4f"),
    Column(name="mentions/s", spec=",.0f"),
)
_NIL = (
    Column(name="dictionary"),
    Column(name="n", spec=",d"),
    Column(name="share of nothing", spec=".3f"),
    Column(name="ECE", spec=".3f"),
    Column(name="NIL precision", spec=".3f"),
    Column(name="NIL recall", spec=".3f"),
    Column(name="coverage", spec=".3f"),
    Column(name="right among linked", spec=".3f"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Set:
    """A dictionary and mentions of it, by kind."""

    name: str
    names: Sequence[Record]
    mentions: Mapping[str, Sequence[GoldMention]]


def run(quick: bool) -> Result:
    """Compare layers and linkers on held-out names and on mentions of two corpora."""
    rows: list[list[Cell]] = []
    for one in ("held out", "GSC+", "NCBI"):
        rows += kept(f"linkers-{one}", quick, lambda one=one: _layers(_set(one, quick), quick))
    nil = kept("linkers-nil", quick, lambda: _nothing(quick))
    return Result(
        title="linking by layer, and other linkers",
        tables=(
            Table(title="Right concept first, and among five", columns=_LAYERS, rows=rows),
            Table(title="One concept in five taken out", columns=_NIL, rows=nil),
        ),
        note=(
            "All linkers see the same names and mentions, without context. Exact: names with the "
            "key of the mention, others wrong. Vectors, n-grams: each leg alone behind the exact "
            "layer. Ranked: the learned ranking over both. Whole: `link`, with spellings, variants "
            "and composites. Character 3-grams: TF-IDF of scikit-learn over lower-cased names. "
            "Mentions/s are distinct ones of this row's set, encoding included. In the second "
            "table the mentions are the held-out names; those of concepts taken out name nothing."
        ),
        settings={"threads": threads(), "seed": data.SEED},
    )


def _set(name: str, quick: bool) -> _Set:
    from mirror_index.linking import read_gold

    if name == "held out":
        split = split_names(quick)
        return _Set(name=name, names=split.rest, mentions={"names": held_out_gold(split.held_out)})
    table, dictionary = {
        "GSC+": ("hpo_gscplus.test", data.HPO),
        "NCBI": ("ncbi_disease.test", data.MEDIC),
    }[name]
    source = data.find(f"linking/{table}.tsv")
    single = {"kind": "single"}
    whole = read_gold(source, "mention", "gold_ids_dict", single)
    other = read_gold(source, "mention", "gold_ids_dict", {**single, "in_dict_norm": "0"})
    kinds = {
        "all": whole,
        "held out": [row for row in other if not _short_form(row.mention)],
        "held out, abbreviations": [row for row in other if _short_form(row.mention)],
    }
    if quick:
        kinds = {kind: rows[:20] for kind, rows in kinds.items()}
    return _Set(
        name=name,
        names=data.records(data.find(dictionary))[: 2000 if quick else None],
        mentions={kind: rows for kind, rows in kinds.items() if rows},
    )


def _short_form(mention: str) -> bool:
    """Whether a mention looks like an abbreviation: one short word, capitals the most of it."""
    capitals = sum(map(str.isupper, mention))
    return len(mention) < 9 and " " not in mention and capitals >= max(2, len(mention) // 2)


def _layers(one: _Set, quick: bool) -> list[list[Cell]]:
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate

    with (
        workspace() as folder,
        Collection.build(folder / "d", one.names, encoder=default_encoder()) as collection,
    ):
        calibrate(collection)
        return compare(
            collection, one.names, {f"{one.name}: {k}": v for k, v in one.mentions.items()}
        )


def compare(
    collection: Collection, names: Sequence[Record], mentions: Mapping[str, Sequence[GoldMention]]
) -> list[list[Cell]]:
    """Return a row for each set of mentions and linker; an absent one has empty cells."""
    linkers: dict[str, Linker | None] = {**_own(collection)}
    for title, peer in PEERS.items():
        try:
            linkers[title] = peer(names)
        except (ImportError, UnavailableError):
            linkers[title] = None
    rows: list[list[Cell]] = []
    for kind, gold in mentions.items():
        for title, linker in linkers.items():
            scores = [None] * 3 if linker is None else _scores(linker, gold)
            shown = title if linker is not None else f"{title} (not installed)"
            rows.append([kind, len(gold), shown, *scores])
    return rows


def _scores(linker: Linker, gold: Sequence[GoldMention]) -> list[Cell]:
    from mirror_index.evaluation.linking import gold_rank

    distinct = list(dict.fromkeys(row.mention for row in gold))
    found: list[list[Ranking]] = []
    seconds = seconds_of(lambda: found.append(linker(distinct)))
    ranking = dict(zip(distinct, found[0], strict=True))
    ranks = [gold_rank(row.gold_ids, ranking[row.mention]) for row in gold]
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    among = sum(rank is not None and rank <= DEPTH for rank in ranks) / len(ranks)
    return [first, among, len(distinct) / seconds]


def _own(collection: Collection) -> dict[str, Linker]:
    """Return this library's layers, each with those before it."""
    from mirror_index.linking import link, load_calibration
    from mirror_index.linking.candidates import Finder
    from mirror_index.linking.features import Mentions
    from mirror_index.linking.lexiconfile import lexicon_of
    from mirror_index.linking.space import space_of

    calibration = load_calibration(collection)
    lexicon = lexicon_of(collection)
    finder = Finder(
        space=space_of(collection, lexicon, calibration.projection),
        translations=calibration.translations(lexicon),
    )

    def exact(mentions: Sequence[str]) -> list[Ranking]:
        keys = [name_key(mention) for mention in mentions]
        stored = collection.names_by_key(keys)
        return [list(dict.fromkeys(n.concept_id for n in stored.get(key, ()))) for key in keys]

    def layered(order: Callable[[Pool], np.ndarray]) -> Linker:
        def ranked(mentions: Sequence[str]) -> list[Ranking]:
            keys = [name_key(mention) for mention in mentions]
            pools = finder.pools(Mentions(keys, collection.encode(mentions)))
            behind = [
                [lexicon.concept_ids[one] for one in pool.concepts[np.argsort(-order(pool))]]
                for pool in pools
            ]
            return [[*a, *b] for a, b in zip(exact(mentions), behind, strict=True)]

        return ranked

    def whole(mentions: Sequence[str]) -> list[Ranking]:
        return [[c.concept_id for c in one.candidates] for one in link(collection, mentions)]

    return {
        "exact": exact,
        "+ vectors": layered(lambda pool: pool.table[:, 0]),
        "+ n-grams instead": layered(lambda pool: pool.table[:, 1]),
        "+ both, ranked": layered(lambda pool: calibration.model.utilities(pool.table, pool.gains)),
        "whole": whole,
    }


def _nothing(quick: bool) -> list[list[Cell]]:
    """Link held-out names where one concept in five is not in the dictionary."""
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate, evaluate_linking

    split = split_names(quick)
    gone, gold = without_concepts(split.held_out)
    rest = [name for name in split.rest if name.concept_id not in gone]
    with (
        workspace() as folder,
        Collection.build(folder / "d", rest, encoder=default_encoder()) as collection,
    ):
        calibrate(collection)
        scores = evaluate_linking(collection, gold).scores
    linked = scores.linked_accuracy
    return [
        [
            "HPO, held-out names",
            scores.n,
            scores.n_nil / scores.n,
            scores.ece,
            scores.nil_precision,
            scores.nil_recall,
            scores.coverage,
            linked.value if linked else None,
        ]
    ]


def without_concepts(held_out: Sequence[Record]) -> tuple[set[str], list[GoldMention]]:
    """Return the concepts to take out, and the mentions with no gold id where theirs is gone."""
    from mirror_index.linking import GoldMention

    concepts = sorted({str(name.concept_id) for name in held_out})
    gone = set(data.sample(concepts, len(concepts) // NIL_SHARE))
    gold = [
        GoldMention(
            mention=name.text,
            gold_ids=frozenset() if name.concept_id in gone else frozenset({str(name.concept_id)}),
        )
        for name in held_out
    ]
    return gone, gold
