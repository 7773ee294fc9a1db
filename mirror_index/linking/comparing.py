"""Two collections on the same mentions: which links better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mirror_index.collection import Collection
from mirror_index.config import LinkOptions
from mirror_index.evaluation.comparing import Comparison, compare_items
from mirror_index.evaluation.linking import gold_rank
from mirror_index.linking.pipeline import link
from mirror_index.linking.scoring import DEEP_ENOUGH, GoldMention, known_gold
from mirror_index.records import LinkStatus


def compare_linking(
    first: Path,
    second: Path,
    mentions: Sequence[GoldMention],
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
    *,
    data: str = "mentions",
    names: Sequence[str] = ("a", "b"),
) -> Comparison:
    """Link the same mentions in two collections and compare them mention by mention.

    The ranking measures are over the mentions with gold ids, as in `evaluate_linking`; `decided` is
    over all: 1 for a mention linked to a gold id, or answered nil or empty where there is none.

    Args:
        first: folder of collection A.
        second: folder of collection B.
        mentions: the judged mentions.
        options: how to link.
        data: what to call the mentions.
        names: what to call the two.

    Raises:
        MirrorIndexError: what `link` raises, or no mentions at all.
    """
    sides = [_outcomes(folder, mentions, options) for folder in (first, second)]
    return Comparison(
        task="linking",
        data=data,
        a=names[0],
        b=names[1],
        n=len(mentions),
        measures={
            name: compare_items(sides[0][name], sides[1][name])
            for name in sides[0]
            if len(sides[0][name])
        },
    )


def _outcomes(
    folder: Path, mentions: Sequence[GoldMention], options: LinkOptions
) -> dict[str, list[float]]:
    with Collection.open(folder) as collection:
        gold = known_gold(collection, mentions)
        wishes = replace(options, k=max(DEEP_ENOUGH, options.k))
        links = link(collection, [row.mention for row in mentions], wishes)
    ranked = [tuple(one.concept_id for one in answer.candidates) for answer in links]
    ranks = [gold_rank(ids, found) for ids, found in zip(gold, ranked, strict=True) if ids]
    decided = [
        answer.status in (LinkStatus.NIL, LinkStatus.EMPTY)
        if not ids
        else answer.status is LinkStatus.LINKED and gold_rank(ids, found) == 1
        for ids, found, answer in zip(gold, ranked, links, strict=True)
    ]
    return {
        "accuracy_at_1": [float(rank == 1) for rank in ranks],
        "accuracy_at_5": [float(rank is not None and rank <= 5) for rank in ranks],
        "mrr": [0.0 if rank is None else 1.0 / rank for rank in ranks],
        "decided": [float(right) for right in decided],
    }
