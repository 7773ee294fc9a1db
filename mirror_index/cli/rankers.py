"""What the evaluating commands measure: an encoder, or the search of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mirror_index.cli import options
from mirror_index.config import SearchOptions

DEPTH = 1000
"""Hits a query that a collection is asked for when it is evaluated as a retriever."""


def load(encoder: str | None, values: dict[str, Any]) -> Any:  # noqa: ANN401 - an encoder, lazily
    """Load the encoder that the options describe."""
    from mirror_index.encoding import load_encoder

    return load_encoder(encoder, options.encoder_config(values))


def collection_ranker(
    folder: Path, *, hybrid: bool
) -> Callable[[Sequence[str]], list[list[tuple[str, float]]]]:
    """Return a function from queries to ranked (record id, score) lists of a collection."""
    from mirror_index.collection import Collection

    wishes = SearchOptions(k=DEPTH, hybrid=hybrid)

    def rank(queries: Sequence[str]) -> list[list[tuple[str, float]]]:
        with Collection.open(folder) as opened:
            results = opened.search(queries, wishes)
        # a fused ranking has no score of its own: the rank makes one
        return [[(hit.id, 1.0 / hit.rank) for hit in hits] for hits in results]

    return rank
