"""Collections to tune on, and how the encoder that comes out is scored; all scores times 100."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import data
from mirror_index.config import Preset, ReadOptions
from mirror_index.readers import read
from mirror_index.records import Record, SourceItem

if TYPE_CHECKING:
    from mirror_index.vectors import EncoderLike

MLM = "models/minilm-l6-mlm"
SMILES = "models/albert-smiles-0.8M"
SENTENCES = "corpora/sts_train_10k_sentences.txt"
WORDS = "corpora/en_words_top_10k.txt"
LAW = "corpora/law_de_20k_sentences.txt"
GALLERY = 8_000
"""Names that mentions are looked up in: all of their concepts, and a sample of other concepts."""

MOLECULES, RESPELT = 1_500, 500
UNSEEN_LAW = 2_000
ABSTRACTS = 600

Items = list[SourceItem | str]
Score = Callable[["EncoderLike"], float]


class DataSet(NamedTuple):
    """A collection, a base encoder (None: the default one), and what is measured.

    Attributes:
        label: of the collection.
        model: base encoder.
        preset: settings of the runs.
        texts: the collection.
        scores: by the name of the measure.
        synonyms: whether names of one concept are positives by default.
    """

    label: str
    model: str | None
    preset: Preset
    texts: Callable[[], Items]
    scores: dict[str, Score]
    synonyms: bool = False

    def base(self) -> Path | None:
        """Return the folder of the base encoder; None is the default one."""
        return None if self.model is None else data.find(self.model)


def sts(name: str, encoder: EncoderLike) -> float:
    """Return Spearman's rho on a file of judged sentence pairs."""
    from mirror_index.evaluation import evaluate_sts

    return evaluate_sts(data.find(f"sts/{name}.tsv"), encoder).spearman.value


def simlex(encoder: EncoderLike) -> float:
    """Return Spearman's rho on SimLex-999."""
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


def smiles(encoder: EncoderLike) -> float:
    """Return Acc@1 of re-spelt molecules among `MOLECULES`, theirs included."""
    queries = table("corpora/smiles_queries.tsv")[:RESPELT]
    wanted = {row["gold_id"] for row in queries}
    drugs = sorted(table("corpora/drug_smiles.tsv"), key=lambda row: row["id"] not in wanted)
    drugs = drugs[:MOLECULES]
    return _accuracy(
        encoder,
        [row["query_smiles"] for row in queries],
        [{row["gold_id"]} for row in queries],
        [(row["smiles"], row["id"]) for row in drugs],
    )


def ncbi(encoder: EncoderLike) -> float:
    """Return Acc@1 of the mentions of NCBI disease that are no name of their concept."""
    mentions = [
        row
        for row in table("linking/ncbi_disease.test.tsv")
        if row["kind"] == "single" and row["in_dict_norm"] == "0"
    ]
    golds = [set(row["gold_ids_dict"].split("|")) for row in mentions]
    return _accuracy(
        encoder, [row["mention"] for row in mentions], golds, _gallery(records(medic()), golds)
    )


def held_out_names(encoder: EncoderLike) -> float:
    """Return Acc@1 of the names held out of the HPO, among the rest."""
    from benchmarks.quality_linking import split_names

    split = split_names(quick=False)
    golds = [{str(name.concept_id)} for name in split.held_out]
    return _accuracy(
        encoder, [name.text for name in split.held_out], golds, _gallery(split.rest, golds)
    )


def _gallery(names: Sequence[Record], golds: Sequence[set[str]]) -> list[tuple[str, str]]:
    """Return names and their concepts: those wanted, and others up to `GALLERY` names."""
    wanted = set().union(*golds)
    others = sorted({str(name.concept_id) for name in names} - wanted)
    random.Random(data.SEED).shuffle(others)
    place = {concept: number for number, concept in enumerate([*sorted(wanted), *others])}
    chosen = sorted(names, key=lambda name: place[str(name.concept_id)])[:GALLERY]
    return [(name.text, str(name.concept_id)) for name in chosen]


def _accuracy(
    encoder: EncoderLike,
    queries: Sequence[str],
    golds: Sequence[set[str]],
    gallery: Sequence[tuple[str, str]],
) -> float:
    vectors = encoder.encode([text for text, _ in gallery])
    best = (encoder.encode(queries) @ vectors.T).argmax(axis=1)
    found = [gallery[row][1] for row in best]
    return 100 * float(np.mean([one in gold for one, gold in zip(found, golds, strict=True)]))


def scifact(encoder: EncoderLike) -> float:
    """Return nDCG@10 of the test queries among `ABSTRACTS`, all judged ones included."""
    from mirror_index.evaluation import load_beir
    from mirror_index.evaluation.retrieval import rank_corpus, score_run

    whole = load_beir(data.find(data.SCIFACT))
    judged = [document for grades in whole.qrels.values() for document in grades]
    chosen = list(dict.fromkeys([*judged, *whole.documents]))[:ABSTRACTS]
    cut = replace(whole, documents={name: whole.documents[name] for name in chosen})
    scores = score_run(cut.qrels, rank_corpus(cut, encoder))["ndcg_at_10"]
    return 100 * float(np.mean(list(scores.values())))


def altered_law(encoder: EncoderLike) -> float:
    """Return Acc@1 of unseen sentences with typing errors, or with words moved."""
    from mirror_index.tuning.augment import typos, word_order

    unseen = list(dict.fromkeys(list(data.lines(LAW))[-UNSEEN_LAW:]))
    generator = np.random.default_rng(data.SEED)
    queries = [alter(text, generator) for text in unseen[:250] for alter in (typos, word_order)]
    golds = [{text} for text in unseen[:250] for _ in range(2)]
    return _accuracy(encoder, queries, golds, [(text, text) for text in unseen])


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a tab-separated file."""
    with data.find(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def records(items: Iterable[SourceItem | str]) -> list[Record]:
    """Return the records among items."""
    return [item for item in items if isinstance(item, Record)]


def lines(name: str) -> Items:
    """Return the lines of a text file."""
    return list(data.lines(name))


def medic() -> Items:
    """Return the names of the MEDIC disease dictionary."""
    options = ReadOptions(concept_column="concept_id", text_column="name", scope_column="kind")
    return list(read(data.find(data.MEDIC), options))


def phenotypes() -> Items:
    """Return the names of the HPO without the held-out ones."""
    from benchmarks.quality_linking import split_names

    return list(split_names(quick=False).rest)


STS_DEV = {"STS-B dev, Spearman": partial(sts, "stsb-dev")}
STS_TEST = {"STS-B test, Spearman": partial(sts, "stsb-test")}
STS_ALL = {**STS_DEV, **STS_TEST, "STS 2012, Spearman": partial(sts, "sts12")}
SIMLEX: dict[str, Score] = {"SimLex-999, Spearman": simlex}
NCBI: dict[str, Score] = {"NCBI mentions that are no names, Acc@1": ncbi}
HPO: dict[str, Score] = {"HPO held-out names, Acc@1": held_out_names}
