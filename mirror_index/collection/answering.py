"""Answering vectors out of one committed state, as a collection is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mirror_index.collection.nearest import NearestRows, nearest_rows
from mirror_index.collection.searching import Search
from mirror_index.collection.view import View
from mirror_index.config import SearchOptions
from mirror_index.errors import UsageError
from mirror_index.records import Hit
from mirror_index.vectors import FloatMatrix, check_unit_rows

_WHERE = "query vectors"


def hits_of(
    view: View,
    vectors: FloatMatrix,
    options: SearchOptions,
    queries: Sequence[str] | None,
) -> list[list[Hit]]:
    """Return the hits of each of some vectors of any length.

    Args:
        view: the state to search.
        vectors: (q, dim) rows.
        options: what is wanted.
        queries: the texts behind the vectors, one for each; None for empty ones.

    Raises:
        MirrorIndexError: rows with NaN, Inf or only zeros, or of another dimension.
        UsageError: not one text per row.
    """
    unit = check_unit_rows(vectors, dim=view.generation.dim, where=_WHERE)
    texts = [""] * len(unit) if queries is None else queries
    if len(texts) != len(unit):
        raise UsageError(
            f"{len(texts)} query texts for {len(unit)} vectors", remedy="Pass one for each"
        )
    return Search(view, options).run(unit, texts)


@lru_cache(maxsize=64, typed=True)
def options_of(k: int, where: str | None, exact: bool) -> SearchOptions:
    """Return options that were checked; programs ask the same way again and again."""
    return SearchOptions(k=k, where=where, exact=exact)


def nearest_of(view: View, vectors: FloatMatrix, options: SearchOptions) -> NearestRows:
    """Return the rows nearest to each of some vectors of any length; see `hits_of`."""
    unit = check_unit_rows(vectors, dim=view.generation.dim, where=_WHERE)
    allowed = view.allowed(view.predicate(options.where))
    return nearest_rows(view, unit, options.k, allowed, exact=options.exact)
