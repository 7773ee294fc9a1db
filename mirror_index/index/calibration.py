"""Choosing how broadly an approximate index searches, and measuring what recall that gives.

Queries are texts the index does not hold: stored texts with a word dropped or a letter changed,
encoded like any query. Rows of the index themselves would find themselves and overstate recall;
random vectors say nothing about real ones.
"""

from __future__ import annotations

import os
import platform
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from mirror_index.index.ann import FETCH_FLOOR, AnnIndex
from mirror_index.index.exact import Ranked, exact_search, rank
from mirror_index.vectors import EncoderLike, FloatMatrix

QUERIES = 200
RECALL_AT = 10
_RESAMPLES = 1000
_TOLERANCE = 2e-6

TextsOf = Callable[[Sequence[int]], list[str]]


def altered(text: str, rng: random.Random) -> str:
    """Return a text with one word dropped, or one letter changed when it is a single word."""
    words = text.split()
    if len(words) > 1:
        del words[rng.randrange(len(words))]
        return " ".join(words)
    place = rng.randrange(len(text))
    return text[:place] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[place + 1 :]


def held_out_queries(rows: int, encoder: EncoderLike, texts: TextsOf) -> FloatMatrix:
    """Return (n, dim) vectors of up to `QUERIES` altered texts, the same ones for the same rows."""
    rng = random.Random(0)
    sample = sorted(rng.sample(range(rows), min(QUERIES, rows)))
    return encoder.encode([altered(text, rng) for text in texts(sample) if text])


def calibrate(
    index: AnnIndex,
    vectors: FloatMatrix,
    encoder: EncoderLike,
    texts: TextsOf,
    *,
    target_recall: float,
) -> dict[str, Any]:
    """Set the least breadth that reaches `target_recall`; return what was measured.

    Args:
        index: a filled index; its parameters are set.
        vectors: (n, dim) the rows it holds.
        encoder: encodes the queries.
        texts: gives the texts of row numbers.
        target_recall: in (0, 1].

    Returns:
        JSON values: knob, value, recall_target, reached, and the fields of `measure`.
    """
    if not len(vectors):
        return {**index.parameters, "knob": index.knob, "value": index.ladder[0], "queries": 0}
    queries = held_out_queries(len(vectors), encoder, texts)
    truth = exact_search(queries, vectors, RECALL_AT)
    for fetch, value in _settings(index):
        index.parameters |= {"fetch": fetch, "value": value}
        recalls = _recalls(index, queries, vectors, truth)
        if recalls.mean() >= target_recall:
            break
    index.parameters |= {
        "knob": index.knob,
        "recall_target": target_recall,
        "reached": bool(recalls.mean() >= target_recall),
        **_described(recalls, index, queries),
    }
    return dict(index.parameters)


def _settings(index: AnnIndex) -> Iterator[tuple[int, int]]:
    """Yield (fetch, breadth): broader first, then more candidates to score exactly.

    The second helps where the index stores vectors coarsely (PQ, SQ) and misjudges the order.
    """
    yield from ((FETCH_FLOOR, value) for value in index.ladder)
    yield from ((FETCH_FLOOR * times, index.ladder[-1]) for times in (4, 16))


def measure(
    index: AnnIndex, vectors: FloatMatrix, encoder: EncoderLike, texts: TextsOf
) -> dict[str, Any]:
    """Measure recall@10 of an index with the breadth it has.

    Returns:
        JSON values: recall_at_10, recall_interval (95%, bootstrap over queries), queries, p50_ms
        (one query at a time), threads, machine.
    """
    queries = held_out_queries(index.rows, encoder, texts)
    truth = exact_search(queries, vectors[: index.rows], RECALL_AT)
    return _described(_recalls(index, queries, vectors, truth), index, queries)


def _recalls(
    index: AnnIndex, queries: FloatMatrix, vectors: FloatMatrix, truth: Sequence[Ranked]
) -> NDArray[np.float64]:
    """Return per query the share of the true top ten found; a row that ties counts as true."""
    proposed = index.candidates(queries, index.fetch, None)
    shares = []
    for query, rows, true in zip(queries, proposed, truth, strict=True):
        wanted = min(RECALL_AT, len(true.rows))
        scores = rank(query, vectors, rows).scores[:wanted]
        shares.append(float(np.sum(scores >= true.scores[wanted - 1] - _TOLERANCE)) / wanted)
    return np.array(shares)


def _described(
    recalls: NDArray[np.float64], index: AnnIndex, queries: FloatMatrix
) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(recalls), size=(_RESAMPLES, len(recalls)))
    low, high = np.quantile(recalls[draws].mean(axis=1), [0.025, 0.975])
    return {
        "recall_at_10": round(float(recalls.mean()), 4),
        "recall_interval": [round(float(low), 4), round(float(high), 4)],
        "queries": len(recalls),
        "p50_ms": round(_median_milliseconds(index, queries[:50]), 3),
        "threads": faiss.omp_get_max_threads(),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
    }


def _median_milliseconds(index: AnnIndex, queries: FloatMatrix) -> float:
    times = []
    for row in range(len(queries)):
        start = time.perf_counter()
        index.candidates(queries[row : row + 1], index.fetch, None)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1000
