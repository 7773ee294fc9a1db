"""A query by itself, where an approximate index answers it: nothing more is done than is needed.

What is unusual (a tie that may go on, several records of a text) is left to the ways that take
everything, with the candidates that are there already: the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mirror_index.collection.answering import options_of
from mirror_index.collection.nearest import NearestRows, few_rows, nearest_rows
from mirror_index.collection.searching import Found, FoundText, Search, decode_all
from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.index.exact import MARGIN
from mirror_index.index.few import SCORE_UNITS, rank_few, with_ties
from mirror_index.records import Hit
from mirror_index.store.concepts import stored_scope
from mirror_index.store.expanding import only_records
from mirror_index.vectors import FloatMatrix

if TYPE_CHECKING:
    from mirror_index.index.later import OneByOne

_PATH = "candidates"
_KEPT = 64
"""Searches that are kept, one for each k."""


def nearest_to_one(view: View, query: FloatMatrix, k: int) -> NearestRows | None:
    """Return what `nearest_rows` gives a query of any length, None where there is more to it."""
    lone = _lone(view, k)
    if lone is None or not isinstance(view.vectors, np.ndarray) or not lone.ask(query):
        return None
    best = lone.best(k)
    if best is None:
        unit, found = lone.query[None].copy(), lone.found
        return nearest_rows(view, unit, k, view.live_rows, exact=False, found=found)
    return NearestRows(
        rows=best.rows, scores=best.scores, generation=view.generation.number, path=_PATH
    )


def hits_of_one(
    view: View, query: FloatMatrix, options: SearchOptions, text: str
) -> list[Hit] | None:
    """Return the hits of a query of any length, None where there is more to it.

    No transaction is held, and nothing is asked of the database but the records. They come with
    the number of the state they are of; where that is not this one, there is more to it.
    """
    lone = _lone(view, options.k)
    near = lone.near(options.k, MARGIN) if lone is not None and lone.ask(query) else None
    if lone is None or near is None:
        return None
    ranked = rank_few(lone.query, view.vectors, near)
    if ranked is None:
        return None
    texts = with_ties(ranked, options.k)
    hits = _one_record_each(view, texts, options.k, text)
    if hits is not None:
        return hits
    several = [FoundText(order, row, -order / SCORE_UNITS) for order, row in texts]
    hits = Search(view, options).shown(Found(texts=several, path=_PATH), text)
    return hits if view.store.unchanged(view.generation.number) else None


def _lone(view: View, k: int) -> OneByOne | None:
    """Return how the index looks for `k` live rows, None where there is more to do."""
    index = view.ann
    if index is None or type(k) is not int:
        return None
    key = (k, index.parameters.get("value"), index.parameters.get("fetch"))
    if key not in view.lone:
        from mirror_index.index.plain import lone_search  # loads faiss

        options_of(k, None, False)  # refuses what is no k
        if len(view.lone) >= _KEPT:
            view.lone.clear()
        few = few_rows(view.live_rows)
        view.lone[key] = None if few else lone_search(view.vectors, index, k, view.live_rows)
    return view.lone[key]


def _one_record_each(
    view: View, texts: Sequence[tuple[int, int]], k: int, query: str
) -> list[Hit] | None:
    """Return the first `k` hits where each text has one record, all of this state, else None."""
    records = only_records(view.store.connection, [row for _, row in texts])
    if len(records) != len(texts) or records[0][0] != view.generation.number:
        return None
    orders = {row: order for order, row in texts}
    shown = sorted([(orders[record[1]], *record[2:]) for record in records])[:k]  # no two ids equal
    metadata = decode_all([record[3] for record in shown])
    return [
        Hit(
            query=query,
            rank=rank,
            id=id_,
            text=text,
            score=-order / SCORE_UNITS,
            metadata=fields,
            path=_PATH,
            concept_id=concept_id,
            scope=None if scope is None else stored_scope(scope),
        )
        for rank, ((order, id_, text, _, concept_id, scope), fields) in enumerate(
            zip(shown, metadata, strict=True), 1
        )
    ]
