"""Fusing rankings of texts: each leg of a hybrid search has a say by rank, not by score."""

from __future__ import annotations

from collections.abc import Mapping

HYBRID_DEPTH = 100
"""Ranks of each leg that are fused, whatever k is; after them come further texts by cosine."""
RECIPROCAL_RANK = 60
WEIGHTS: Mapping[str, float] = {"dense": 1.0, "words": 1.0, "trigrams": 2.0}
"""Spelling counts twice: its few hits are names a slip away from the query (docs/adr/010)."""


def places(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the place of each row from 1, given scores best first; equal scores share a place."""
    found: dict[int, int] = {}
    previous, place = None, 0
    for count, (row, score) in enumerate(scores.items(), 1):
        if score != previous:
            previous, place = score, count
        found[row] = place
    return found


def ranks_by_row(legs: Mapping[str, Mapping[int, float]]) -> dict[int, dict[str, int]]:
    """Return for each row its place in every leg that has it.

    Args:
        legs: rows with their scores, best first, by the name of the leg.
    """
    rows: dict[int, dict[str, int]] = {}
    for name, scores in legs.items():
        for row, place in places(scores).items():
            rows.setdefault(row, {})[name] = place
    return rows


def fused_score(ranks: Mapping[str, int]) -> float:
    """Return the weighted sum of reciprocal ranks (Cormack, SIGIR 2009) of one row."""
    return sum(WEIGHTS[name] / (RECIPROCAL_RANK + place) for name, place in ranks.items())
