"""How well linking works on mentions whose concepts are known."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirror_index.config import LinkOptions
from mirror_index.errors import SourceError
from mirror_index.evaluation.linking import (
    LinkingScores,
    Prediction,
    canonical_id,
    parse_gold,
    score_linking,
)
from mirror_index.evaluation.tables import Table, require_columns
from mirror_index.linking.calibration import load_calibration
from mirror_index.linking.pipeline import link
from mirror_index.linking.redirects import AnyCase, Redirects
from mirror_index.records import Link

if TYPE_CHECKING:
    from mirror_index.collection import Collection


DEEP_ENOUGH = 5
"""Candidates ranked per mention at least: what the deepest measure looks at."""

_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMention:
    """A mention and the ids it stands for: any of several counts, none means no concept."""

    mention: str
    gold_ids: frozenset[str]
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkingReport:
    """Scores of linking in one collection.

    Attributes:
        scores: see `LinkingScores`.
        unknown_gold: mentions of whose gold ids the collection knows none; they count as missed.
        unknown_ids: the first ten gold ids of these mentions.
        calibrated: whether the probabilities come from a calibration of this collection.
        mentions_per_second: wall-clock rate, distinct mentions only.
        k: candidates ranked per mention.
    """

    scores: LinkingScores
    unknown_gold: int
    unknown_ids: tuple[str, ...]
    calibrated: bool
    mentions_per_second: float
    k: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def read_gold(
    path: str | Path,
    mention_column: str,
    gold_column: str,
    filters: Mapping[str, str] | None = None,
) -> list[GoldMention]:
    """Read mentions with gold ids from a TSV (without quoting) or CSV file with a header.

    Args:
        path: the file.
        mention_column: column of the mention.
        gold_column: column of the ids: ``"A|B"`` for several, ``""`` or ``"NIL"`` for none.
        filters: keep only the rows whose column holds exactly this value.

    Raises:
        SourceError: an absent column, a malformed row, or no row left.
    """
    wanted = dict(filters or {})
    table = Table(path)
    require_columns(
        table, (mention_column, gold_column, *wanted), "--mention-column and --gold-column"
    )
    mentions = [
        GoldMention(
            mention=row.cells[mention_column],
            gold_ids=parse_gold(row.cells[gold_column]),
            line=row.line,
        )
        for row in table
        if all(row.cells[column] == value for column, value in wanted.items())
    ]
    if not mentions:
        raise SourceError(
            "no mention is left to evaluate",
            value=wanted or None,
            where=table.name,
            remedy="Check the filters",
        )
    return mentions


def evaluate_linking(
    collection: Collection,
    rows: Iterable[GoldMention],
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
) -> LinkingReport:
    """Link every mention and compare with its gold ids; at least five candidates are ranked.

    Gold ids are taken as the collection knows them: prefixes compare without regard to case,
    alternative ids stand for their concept, obsolete ones for what replaces them.

    Raises:
        MirrorIndexError: what `link` raises.
    """
    mentions = list(rows)
    options = replace(options, k=max(DEEP_ENOUGH, options.k))
    known = _known_ids(collection, mentions)
    gold = _with_known(mentions, known)
    started = time.perf_counter()
    links = link(collection, [row.mention for row in mentions], options)
    seconds = time.perf_counter() - started
    strange = [row for row in mentions if row.gold_ids and not any(map(known.get, row.gold_ids))]
    return LinkingReport(
        scores=score_linking(gold, [_prediction(one) for one in links]),
        unknown_gold=len(strange),
        unknown_ids=tuple(sorted({one for row in strange for one in row.gold_ids})[:_SHOWN]),
        calibrated=load_calibration(collection).calibrated,
        mentions_per_second=len({row.mention for row in mentions}) / max(seconds, 1e-9),
        k=options.k,
    )


def known_gold(collection: Collection, mentions: Sequence[GoldMention]) -> list[frozenset[str]]:
    """Return the gold ids of each mention with those of the live concepts they stand for here."""
    return _with_known(mentions, _known_ids(collection, mentions))


def _with_known(
    mentions: Sequence[GoldMention], known: Mapping[str, set[str]]
) -> list[frozenset[str]]:
    return [
        row.gold_ids | frozenset(known_id for one in row.gold_ids for known_id in known[one])
        for row in mentions
    ]


def _known_ids(collection: Collection, mentions: Sequence[GoldMention]) -> dict[str, set[str]]:
    """Map each gold id to the canonical ids of the live concepts it stands for here."""
    gold = sorted({one for row in mentions for one in row.gold_ids})
    found = AnyCase(collection).concepts(gold)
    redirects = Redirects(collection)
    redirects.concepts(concept.id for concept in found.values())
    known: dict[str, set[str]] = {one: set() for one in gold}
    for one, concept in found.items():
        known[one] = {
            canonical_id(target) for target in (*redirects.follow(concept.id).ids, concept.id)
        }
    return known


def _prediction(answer: Link) -> Prediction:
    return Prediction(
        status=answer.status,
        ranked=tuple(candidate.concept_id for candidate in answer.candidates),
        probability=answer.candidates[0].probability if answer.candidates else None,
    )
