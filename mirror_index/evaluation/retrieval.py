"""Retrieval over a folder in the layout of BEIR (Thakur et al., NeurIPS 2021), by trec_eval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mirror_index.errors import SourceError, UsageError
from mirror_index.evaluation.beir import RetrievalData, load_beir
from mirror_index.evaluation.intervals import Interval, bootstrap_mean
from mirror_index.vectors import EncoderLike, FloatMatrix

Ranking = Sequence[tuple[str, float]]
"""Documents of one query, best first, each with its score."""
Run = Mapping[str, Ranking]
Search = Callable[[Sequence[str]], Sequence[Ranking]]
"""Query texts in, one ranking each out."""

_DEPTH = 1000
_QUERY_BLOCK = 256
_DOCUMENT_BLOCK = 16_384
_SCORES = 64_000_000  # scores held at once
_TREC_MEASURES = {"ndcg_at_10": "ndcg_cut_10", "map": "map"} | {
    f"recall_at_{k}": f"recall_{k}" for k in (10, 100)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """Scores over the judged queries in [0, 1], with 95% bootstrap intervals over queries.

    Attributes:
        data: name of the folder.
        split: the evaluated split.
        queries: judged queries; one without any result counts as 0.
        documents: documents of the corpus.
        ndcg_at_10: the headline figure of BEIR.
        map: mean average precision over the whole ranking (1,000 deep at most).
        recall_at_10: share of the relevant documents among the first ten.
        recall_at_100: the same among the first hundred.
        mrr_at_10: mean of 1 / rank of the first relevant document, 0 past rank ten.
        run: the rankings that were scored.
    """

    data: str
    split: str
    queries: int
    documents: int
    ndcg_at_10: Interval
    map: Interval
    recall_at_10: Interval
    recall_at_100: Interval
    mrr_at_10: Interval
    run: Run

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, without the run."""
        values = asdict(self)
        del values["run"]
        return values


def evaluate_retrieval(
    folder: str | Path,
    encoder: EncoderLike | None = None,
    *,
    split: str = "test",
    search: Search | None = None,
    ignore_identical_ids: bool = True,
) -> RetrievalReport:
    """Evaluate an encoder by exact dense ranking, or any `search` (a collection, a keyword index).

    Args:
        folder: a BEIR folder, see `load_beir`.
        encoder: ranks the whole corpus by exact cosine, 1,000 deep.
        split: which queries and judgements.
        search: replaces the encoder's ranking; ids are document ids, at least 100 per query for
            recall@100 to mean what it says.
        ignore_identical_ids: drop a document with the query's own id, as BEIR does.

    Raises:
        UsageError: both or neither of `encoder` and `search` were given.
        SourceError: see `load_beir`; or `search` found only ids that are no documents.
    """
    ranker = encoder if search is None else search
    if ranker is None or (encoder is not None and search is not None):
        raise UsageError(
            "retrieval needs either an encoder or a search", remedy="Give exactly one of the two"
        )
    data = load_beir(folder, split)
    run = rank_corpus(data, ranker, ignore_identical_ids=ignore_identical_ids)
    scores = score_run(data.qrels, run)
    means = {name: bootstrap_mean(list(by_query.values())) for name, by_query in scores.items()}
    return RetrievalReport(
        data=data.name,
        split=split,
        queries=len(data.queries),
        documents=len(data.documents),
        run=run,
        **means,
    )


def rank_corpus(
    data: RetrievalData,
    ranker: EncoderLike | Search,
    *,
    ignore_identical_ids: bool = True,
) -> dict[str, Ranking]:
    """Return the ranking of each query: exact and dense by an encoder, or whatever a search finds.

    Raises:
        SourceError: the search found only ids that are no documents.
    """
    texts = list(data.queries.values())
    search = ranker if callable(ranker) else _dense_search(data, ranker)
    rankings = search(texts)
    _require_documents(data, rankings)
    return {
        query_id: [pair for pair in ranking if pair[0] != query_id or not ignore_identical_ids]
        for query_id, ranking in zip(data.queries, rankings, strict=True)
    }


def score_run(qrels: Mapping[str, Mapping[str, int]], run: Run) -> dict[str, dict[str, float]]:
    """Score rankings by trec_eval: measure -> query id -> value, for every query of `qrels`.

    The order of a ranking counts, not its scores (trec_eval itself breaks equal scores by document
    id, which would reorder them).
    """
    import pytrec_eval  # only this measure needs the compiled trec_eval

    placed = {
        query_id: {doc: float(-place) for place, (doc, _) in enumerate(run.get(query_id, ()))}
        for query_id in qrels
    }
    judged = {query_id: dict(grades) for query_id, grades in qrels.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut", "map", "recall"})
    found = evaluator.evaluate({query_id: docs for query_id, docs in placed.items() if docs})
    scores = {
        name: {query_id: found.get(query_id, {}).get(measure, 0.0) for query_id in qrels}
        for name, measure in _TREC_MEASURES.items()
    }
    scores["mrr_at_10"] = {
        query_id: _reciprocal_rank(grades, run.get(query_id, ())[:10])
        for query_id, grades in qrels.items()
    }
    return scores


def rank_dense(
    queries: FloatMatrix, documents: FloatMatrix, ids: Sequence[str], k: int
) -> list[list[tuple[str, float]]]:
    """Return the `k` nearest documents of each query by cosine to six decimals, ties by id.

    Args:
        queries: (q, dim) float32 unit rows.
        documents: (n, dim) float32 unit rows.
        ids: the n document ids.
        k: length of a ranking, n at most.
    """
    # Rows in id order make "the first of equal scores" the smaller id.
    order = sorted(range(len(ids)), key=ids.__getitem__)
    sorted_ids = [ids[row] for row in order]
    rows = documents[order]
    rankings: list[list[tuple[str, float]]] = []
    step = max(1, min(_QUERY_BLOCK, _SCORES // max(1, len(rows))))
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        parts = [
            block @ rows[first : first + _DOCUMENT_BLOCK].T
            for first in range(0, len(rows), _DOCUMENT_BLOCK)
        ]
        # Equal rows may differ in the last bit, by where they lie in a block.
        scores = np.round(np.clip(np.concatenate(parts, axis=1), -1.0, 1.0), 6)
        for line in scores:
            best = np.argsort(-line, kind="stable")[:k]
            rankings.append([(sorted_ids[row], float(line[row])) for row in best])
    return rankings


def write_trec_run(path: str | Path, run: Run, *, tag: str = "mirror-index") -> None:
    """Write rankings in the run format of trec_eval: ``query Q0 document rank score tag``.

    Raises:
        UsageError: an id holds white space, which the format cannot express.
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for query_id, ranking in run.items():
            for rank, (doc, score) in enumerate(ranking, start=1):
                for identifier in (query_id, doc):
                    if len(identifier.split()) != 1:
                        raise UsageError(
                            "a TREC run cannot hold an id with white space", value=identifier
                        )
                file.write(f"{query_id} Q0 {doc} {rank} {score:.6f} {tag}\n")


def _dense_search(data: RetrievalData, encoder: EncoderLike) -> Search:
    ids = list(data.documents)
    documents = encoder.encode(list(data.documents.values()))
    return lambda texts: rank_dense(encoder.encode(texts), documents, ids, _DEPTH)


def _require_documents(data: RetrievalData, rankings: Sequence[Ranking]) -> None:
    """Refuse rankings without a single document: their score would be a silent 0."""
    found = next((doc for ranking in rankings for doc, _ in ranking), None)
    if found is None or any(doc in data.documents for ranking in rankings for doc, _ in ranking):
        return
    raise SourceError(
        "none of the ids that the search returned is a document of the corpus",
        value=found,
        where=f"{data.name}, whose first document is {next(iter(data.documents))!r}",
        remedy="Build the collection of this corpus, with the ids of its documents: "
        "--id-column _id",
    )


def _reciprocal_rank(grades: Mapping[str, int], ranking: Ranking) -> float:
    for rank, (doc, _) in enumerate(ranking, start=1):
        if grades.get(doc, 0) > 0:
            return 1.0 / rank
    return 0.0
