"""What the default encoder is worth on sentences: similarity and retrieval."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import data
from benchmarks.harness import kept, say, threads, workspace
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import EncoderConfig, SearchOptions
from mirror_index.encoding import load_encoder
from mirror_index.evaluation import evaluate_retrieval, evaluate_sts, load_beir
from mirror_index.records import Record

if TYPE_CHECKING:
    from mirror_index.encoding.transformer import TransformerEncoder
    from mirror_index.evaluation import RetrievalReport

DEPTH = 100
"""Hits a query that a collection is asked for: enough for recall@100."""

STS_FILES: Mapping[str, float | None] = {
    "stsb-test": 82.03,
    "sts12": 72.37,
    "sickr-test": None,
}
"""Files, and the published Spearman x 100 of all-MiniLM-L6-v2 (the MTEB leaderboard)."""

_STS = (
    Column(name="file"),
    Column(name="pairs", spec=",d"),
    Column(name="Spearman x 100", spec=".2f"),
    Column(name="95% low", spec=".2f"),
    Column(name="95% high", spec=".2f"),
    Column(name="published", spec=".2f"),
    Column(name="mean cosine", spec=".3f"),
)
_RETRIEVAL = (
    Column(name="ranking"),
    Column(name="queries", spec=",d"),
    Column(name="documents", spec=",d"),
    *(
        Column(name=name, spec=".4f")
        for measure in ("nDCG@10", "recall@100")
        for name in (measure, f"{measure} low", f"{measure} high")
    ),
)


def default_encoder() -> TransformerEncoder:
    """Load the default encoder as the measurements run it."""
    return load_encoder(None, EncoderConfig(device="cpu", threads=threads()))


def run_sts(quick: bool) -> Result:
    """Measure similarity."""
    rows: list[Sequence[Cell]] = []
    for name, published in STS_FILES.items():
        found = kept(f"sts-{name}", quick, partial(_sts, name, quick))
        rho = found["spearman"]
        rows.append(
            [
                name,
                found["n"],
                rho["value"],
                rho["low"],
                rho["high"],
                None if quick else published,
                found["mean_cosine"],
            ]
        )
    return Result(
        title="similarity of sentences, the default encoder untuned",
        tables=(Table(title="Cosine against the judgements of people", columns=_STS, rows=rows),),
        note=(
            "Over all pairs of a file together, bulk encoding in its default arithmetic; bootstrap "
            "intervals. SICK-R is its test part, for which no figure is published."
        ),
        settings={"threads": threads(), **_cut(quick, "the first 100 pairs")},
    )


def _sts(name: str, quick: bool) -> dict[str, Any]:
    with workspace() as folder:
        path = f"sts/{name}.tsv"
        source = data.first_lines(path, 100, folder) if quick else data.find(path)
        return evaluate_sts(source, default_encoder()).to_json()


def run_scifact(quick: bool) -> Result:
    """Measure retrieval."""
    dense = kept("scifact-dense", quick, lambda: _dense(quick))
    collection = kept("scifact-collection", quick, lambda: _collection(quick))
    words = kept("scifact-words", quick, lambda: _words(quick))
    reports = {"dense, exact over the corpus": dense, "words alone (BM25)": words, **collection}
    return Result(
        title="retrieval on SciFact, the default encoder untuned",
        tables=(
            Table(
                title="Title and text of abstracts, the test queries",
                columns=_RETRIEVAL,
                rows=[[label, *_scores(report)] for label, report in reports.items()],
            ),
        ),
        note=(
            "By trec_eval, with bootstrap intervals over queries. The first ranking is brute force "
            "over all documents, the second FTS5 alone; the others are asked of a collection built "
            "from them with the default settings. No abstract is short enough for the spelling leg."
        ),
        settings={"threads": threads(), **_cut(quick, "20 queries, their documents and 200 more")},
    )


def _dense(quick: bool) -> dict[str, Any]:
    with workspace() as folder:
        return evaluate_retrieval(_scifact(folder, quick), default_encoder()).to_json()


def _words(quick: bool) -> dict[str, Any]:
    """Rank by keywords alone, in a table like that of a collection."""
    from mirror_index.store.words import word_hits

    with workspace() as folder, closing(sqlite3.connect(":memory:")) as connection:
        source = _scifact(folder, quick)
        documents = load_beir(source).documents
        identifiers = list(documents)
        connection.execute(
            "CREATE VIRTUAL TABLE texts_fts USING fts5 "
            "(text, tokenize='unicode61 remove_diacritics 2')"
        )
        connection.executemany(
            "INSERT INTO texts_fts (rowid, text) VALUES (?, ?)", enumerate(documents.values())
        )
        allowed = np.ones(len(identifiers), dtype=np.bool_)

        def search(queries: Sequence[str]) -> list[list[tuple[str, float]]]:
            hits = [word_hits(connection, query, DEPTH, allowed) for query in queries]
            return [[(identifiers[row], -score) for row, score in one.items()] for one in hits]

        return evaluate_retrieval(source, search=search).to_json()


def _collection(quick: bool) -> dict[str, Any]:
    """Return the report of each way of asking a collection."""
    from mirror_index.collection import Collection

    with workspace() as folder:
        source = _scifact(folder, quick)
        documents = load_beir(source).documents
        items = (Record(id=identifier, text=text) for identifier, text in documents.items())
        encoder = default_encoder()
        reports: dict[str, RetrievalReport] = {}
        with Collection.build(folder / "scifact", items, encoder=encoder) as built:
            for hybrid in (False, True):
                label = f"a collection, {'hybrid' if hybrid else 'dense'}"
                say(f"  {label}")
                reports[label] = _ask(built, source, hybrid)
        return {label: report.to_json() for label, report in reports.items()}


def _ask(collection: Any, source: Path, hybrid: bool) -> RetrievalReport:  # noqa: ANN401
    options = SearchOptions(k=DEPTH, hybrid=hybrid)

    def search(queries: Sequence[str]) -> list[list[tuple[str, float]]]:
        answers = collection.search(queries, options)
        return [[(hit.id, 1.0 / hit.rank) for hit in hits] for hits in answers]

    return evaluate_retrieval(source, search=search)


def _scores(report: Mapping[str, Any]) -> list[Cell]:
    intervals = [report["ndcg_at_10"], report["recall_at_100"]]
    ends = [interval[end] for interval in intervals for end in ("value", "low", "high")]
    return [report["queries"], report["documents"], *ends]


def _scifact(folder: Path, quick: bool) -> Path:
    """Return the test collection, or a small one cut out of it."""
    source = data.find(data.SCIFACT)
    if not quick:
        return source
    whole = load_beir(source)
    queries = dict(list(whole.queries.items())[:20])
    qrels = {query: whole.qrels[query] for query in queries}
    judged = {document for grades in qrels.values() for document in grades}
    wanted = [*judged, *list(whole.documents)[:200]]
    cut = folder / "scifact-cut"
    cut.mkdir()
    documents = {identifier: whole.documents[identifier] for identifier in dict.fromkeys(wanted)}
    _write_texts(cut / "corpus.jsonl", documents.items())
    _write_texts(cut / "queries.test.jsonl", queries.items())
    rows = [f"{q}\t{d}\t{grade}\n" for q, grades in qrels.items() for d, grade in grades.items()]
    header = "query-id\tcorpus-id\tscore\n"
    (cut / "qrels.test.tsv").write_text(header + "".join(rows), encoding="utf-8")
    return cut


def _write_texts(path: Path, texts: Iterable[tuple[str, str]]) -> None:
    lines = (json.dumps({"_id": identifier, "text": text}) for identifier, text in texts)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cut(quick: bool, what: str) -> dict[str, Cell]:
    return {"cut to": what} if quick else {}
