"""Texts that are easily taken for one another although they mean different things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from mirror_index.collection.lookalikes import keys_of, one_slip_apart, same_names
from mirror_index.collection.neighbours import NearestOthers, cosine
from mirror_index.collection.reader import CollectionReader
from mirror_index.collection.view import View
from mirror_index.errors import UsageError
from mirror_index.progress import SILENT, Advance, Reporter
from mirror_index.store.layout import SHORT_TEXT
from mirror_index.store.owners import Owners, live_texts, read_owners

THRESHOLD = 0.95
MOST_OWNERS = 10


class Likeness(str, Enum):
    """Why two texts are easily confused, the strongest reason first."""

    SAME_TEXT = "same text"
    SAME_NAME = "same name"
    ONE_SLIP = "one slip"
    NEAR = "near"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusable:
    """Two texts of different owners, or one text that several own.

    An owner is a concept, or a record that names no concept.

    Attributes:
        likeness: the strongest reason for listing them.
        score: exact cosine of their vectors.
        text: the text that was stored first.
        owners: ids of its owners, ten at most; of a shared text, the first one.
        other_text: the other text; the same again when it is shared.
        other_owners: ids of the owners of that one, ten at most.
    """

    likeness: Likeness
    score: float
    text: str
    owners: tuple[str, ...]
    other_text: str
    other_owners: tuple[str, ...]


def confusables(
    collection: CollectionReader,
    *,
    threshold: float = THRESHOLD,
    exact: bool = False,
    reporter: Reporter = SILENT,
) -> list[Confusable]:
    """Return texts that are nearly identical and belong to different concepts or records.

    Listed are texts with several owners; texts of up to 100 characters with the same exact-layer
    key (`names.name_key`), or one slip apart in a space or a word of five letters or more; and for
    each text the nearest one of another owner, when their cosine reaches `threshold`. A pair comes
    once, for its strongest reason.

    Args:
        collection: an open collection; one committed state of it is looked at.
        threshold: least cosine of a near pair, in [-1, 1].
        exact: compare all vectors even though there is an approximate index.
        reporter: receives progress.

    Returns:
        By likeness, then the highest cosine first, then by text.

    Raises:
        UsageError: `threshold` is no cosine.
    """
    if not -1.0 <= threshold <= 1.0:
        raise UsageError("a threshold is a cosine", value=threshold, remedy="Try 0.95")
    with collection._reading() as view:
        owners = read_owners(view.store.connection, len(view.vectors))
        with reporter.stage("spellings", None, "names") as advance:
            pairs = _spelt_alike(view, owners, advance)
        with reporter.stage("compare", view.generation.live_texts) as advance:
            nearest = NearestOthers(view, owners, threshold, advance).run(exact=exact)
        found = list(_shared(view, owners))
        for row in (nearest.rows >= 0).nonzero()[0].tolist():
            pair = (row, int(nearest.rows[row]))
            pairs.setdefault((min(pair), max(pair)), Likeness.NEAR)
        found += [_pair(view, owners, one, other, why) for (one, other), why in pairs.items()]
    ranks = {likeness: rank for rank, likeness in enumerate(Likeness)}
    # A pair proposed in float32 may be a hair below the threshold.
    kept = (one for one in found if one.likeness is not Likeness.NEAR or one.score >= threshold)
    return sorted(kept, key=lambda one: (ranks[one.likeness], -one.score, one.text, one.other_text))


def _spelt_alike(view: View, owners: Owners, advance: Advance) -> dict[tuple[int, int], Likeness]:
    keys = keys_of(live_texts(view.store.connection, SHORT_TEXT))
    advance(len(keys))
    pairs = dict.fromkeys(same_names(keys, owners), Likeness.SAME_NAME)
    for pair in one_slip_apart(keys, owners):
        pairs.setdefault(pair, Likeness.ONE_SLIP)
    return pairs


def _shared(view: View, owners: Owners) -> Iterator[Confusable]:
    for row, numbers in owners.several.items():
        text = _text(view, row)
        first, *rest = _named(owners, numbers[: MOST_OWNERS + 1])
        yield Confusable(
            likeness=Likeness.SAME_TEXT,
            score=1.0,
            text=text,
            owners=(first,),
            other_text=text,
            other_owners=tuple(rest),
        )


def _pair(view: View, owners: Owners, one: int, other: int, likeness: Likeness) -> Confusable:
    return Confusable(
        likeness=likeness,
        score=cosine(view, one, other),
        text=_text(view, one),
        owners=_named(owners, owners.of(one)[:MOST_OWNERS]),
        other_text=_text(view, other),
        other_owners=_named(owners, owners.of(other)[:MOST_OWNERS]),
    )


def _named(owners: Owners, numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(owners.names[number] for number in numbers)


def _text(view: View, row: int) -> str:
    return str(
        view.store.connection.execute("SELECT text FROM texts WHERE row = ?", (row,)).fetchone()[0]
    )
