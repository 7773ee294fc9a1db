"""Choosing how broadly an approximate index searches, and measuring what recall that gives.

Queries are held out: they are not rows of the index. One half are stored texts with a word dropped
or a letter changed, encoded like any query, the other half stored vectors with a share of another
one: the first are somewhat easier than new texts of the kind, the second somewhat harder. One that
comes out as a stored vector all the same is left out. Rows of the index themselves would find
themselves and overstate recall; random vectors say nothing about real ones. What sets the breadth
and what is reported are measured on different queries, since the best of several settings looks
better on its own queries than it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from mirror_index.errors import EncoderError
from mirror_index.index.ann import AnnIndex
from mirror_index.index.approximate import approximate_search
from mirror_index.index.exact import Ranked, exact_search
from mirror_index.index.halves import first_rows
from mirror_index.index.latency import machine, milliseconds
from mirror_index.vectors import EncoderLike, FloatMatrix, UnitRows

QUERIES = 400
RECALL_AT = 10
_TUNING, _REPORT, _CHECK = 0, 1, 2
"""Seeds of the queries that set the breadth, that are reported, and that check it later."""
_RESAMPLES = 1000
_TOLERANCE = 2e-6
_SAME = 1.0 - 1e-6
_TIMED = 100
_BLEND = 0.5

TextsOf = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Queries that no row of the index equals, and the true answers to them.

    Attributes:
        vectors: (n, dim) float32 unit rows.
        truth: the ten best rows of each, or more where they tie.
        source: "altered texts, blended vectors", or only these where the encoder takes no new text.
    """

    vectors: FloatMatrix
    truth: Sequence[Ranked]
    source: str


def altered(text: str, rng: random.Random) -> str:
    """Return a text with one word dropped, or one letter changed when it is a single word."""
    words = text.split()
    if len(words) > 1:
        del words[rng.randrange(len(words))]
        return " ".join(words)
    place = rng.randrange(len(text))
    return text[:place] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[place + 1 :]


def hold_out(vectors: UnitRows, encoder: EncoderLike, texts: TextsOf, seed: int) -> HeldOut:
    """Return up to `QUERIES` held-out queries over (n, dim) rows, the same for the same seed."""
    rng = random.Random(seed)
    sample = rng.sample(range(len(vectors)), min(QUERIES, len(vectors)))
    asked, source = sorted(sample[::2]), "altered texts, blended vectors"
    try:
        told = encoder.encode([altered(text, rng) for text in texts(asked) if text])
        sample = sorted(sample[1::2])
    except EncoderError:  # vectors that came with the source: nothing encodes a new text
        told, sample, source = vectors[:0], sorted(sample), "blended vectors"
    queries = np.concatenate([told, _blended(vectors, sample, rng)])
    truth = exact_search(queries, vectors, RECALL_AT)
    fresh = [place for place, one in enumerate(truth) if one.scores[0] < _SAME]
    return HeldOut(vectors=queries[fresh], truth=[truth[place] for place in fresh], source=source)


def _blended(vectors: UnitRows, sample: Sequence[int], rng: random.Random) -> FloatMatrix:
    """Return unit rows: each a stored row with a share of another one, of any place.

    What a new text asks for lies beside the stored rows and not between neighbours; see ADR 009.
    """
    others = vectors[[rng.randrange(len(vectors)) for _ in sample]]
    mixed = vectors[sample].astype(np.float64) + _BLEND * others
    lengths = np.sqrt(np.add.reduce(mixed * mixed, axis=1))
    lengths[lengths == 0.0] = 1.0
    return np.ascontiguousarray(mixed / lengths[:, None], dtype=np.float32)


def calibrate(
    index: AnnIndex,
    vectors: UnitRows,
    encoder: EncoderLike,
    texts: TextsOf,
    *,
    target_recall: float,
) -> dict[str, Any]:
    """Set the least breadth that reaches `target_recall`; return what was measured.

    Reached means that the interval of the mean lies at or above the target, or, when nothing gets
    that far, that the mean does.

    Args:
        index: a filled index; its parameters are set.
        vectors: (n, dim) the rows it holds.
        encoder: encodes the queries.
        texts: gives the texts of row numbers.
        target_recall: in (0, 1].

    Returns:
        JSON values: knob, value, recall_target, reached, and the fields of `measure`.
    """
    held_out = None
    if len(vectors):
        held_out = hold_out(vectors, encoder, texts, _TUNING)
    if held_out is None or not held_out.truth:
        return {**index.parameters, "knob": index.knob, "value": index.ladder[0], "queries": 0}
    index.parameters |= _least_breadth(index, vectors, held_out, target_recall)
    index.parameters |= {
        "knob": index.knob,
        "recall_target": target_recall,
        **_described(hold_out(vectors, encoder, texts, _REPORT), index, vectors),
    }
    index.parameters["reached"] = index.parameters["recall_interval"][1] >= target_recall
    return dict(index.parameters)


def _least_breadth(
    index: AnnIndex, vectors: UnitRows, held_out: HeldOut, target: float
) -> dict[str, int]:
    """Return the first setting whose interval reaches the target, else the best mean."""
    best: tuple[float, dict[str, int]] = (-1.0, {})
    for fetch, value in _settings(index):
        setting = {"fetch": fetch, "value": value}
        index.parameters |= setting
        recalls = recall_of(index, vectors, held_out)
        if _interval(recalls)[0] >= target:
            return setting
        best = max(best, (float(recalls.mean()), setting), key=lambda pair: pair[0])
    return best[1]


def _settings(index: AnnIndex) -> Iterator[tuple[int, int]]:
    """Yield (fetch, breadth): broader first, then more candidates to score exactly.

    The second helps where the index stores vectors coarsely (PQ, SQ) and misjudges the order.
    """
    least = index.fetch(index.depths(1)[0])
    yield from ((least, value) for value in index.ladder)
    if not index.faithful:
        yield from ((least * times, index.ladder[-1]) for times in (4, 16))


def measure(
    index: AnnIndex, vectors: UnitRows, encoder: EncoderLike, texts: TextsOf
) -> dict[str, Any]:
    """Measure recall@10 of an index with the breadth it has, on queries it has not met before.

    Returns:
        JSON values: recall_at_10, recall_interval (95%, bootstrap over queries), queries,
        query_source, p50_ms and p99_ms (one query at a time, exact scoring included), threads,
        machine.
    """
    held = first_rows(vectors, index.rows)
    return _described(hold_out(held, encoder, texts, _CHECK), index, held)


def recall_of(index: AnnIndex, vectors: UnitRows, held_out: HeldOut) -> NDArray[np.float64]:
    """Return per query the share of the true top ten found; a row that ties counts as true."""
    proposed = approximate_search(held_out.vectors, vectors, index, RECALL_AT)
    shares = []
    for one, true in zip(proposed, held_out.truth, strict=True):
        wanted = min(RECALL_AT, len(true.rows))
        scores = one.ranked.scores[:wanted]
        shares.append(float(np.sum(scores >= true.scores[wanted - 1] - _TOLERANCE)) / wanted)
    return np.array(shares)


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95% bootstrap interval of a mean (Efron and Tibshirani 1993, chapter 13)."""
    draws = np.random.default_rng(0).integers(0, len(values), size=(_RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _described(held_out: HeldOut, index: AnnIndex, vectors: UnitRows) -> dict[str, Any]:
    if not held_out.truth:
        return {"queries": 0, "recall_at_10": 1.0, "recall_interval": [0.0, 1.0]}
    recalls = recall_of(index, vectors, held_out)
    low, high = _interval(recalls)
    queries = held_out.vectors

    def search(place: int) -> None:
        row = place % len(queries)
        approximate_search(queries[row : row + 1], vectors, index, RECALL_AT)

    times = milliseconds(search, min(_TIMED, len(queries)))
    return {
        "recall_at_10": round(float(recalls.mean()), 4),
        "recall_interval": [round(low, 4), round(high, 4)],
        "queries": len(recalls),
        "query_source": held_out.source,
        **times,
        "threads": faiss.omp_get_max_threads(),
        "machine": machine(),
    }
