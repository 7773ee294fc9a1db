"""The candidates of a mention as they are asked for: most are never looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from mirror_index.linking.candidates import Pool
from mirror_index.linking.deciding import Proposal
from mirror_index.linking.lexicon import SCOPES, Lexicon
from mirror_index.linking.model import LinkModel
from mirror_index.linking.spelling import MOST_BYTES, one_slip
from mirror_index.store.concepts import StoredName


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The candidates of one mention.

    Attributes:
        proposals: distinct concepts, best first, with falling probabilities.
        respelt: gives the names one slip of spelling away from the mention.
        dense: names near in meaning that were looked at.
        spelt: names near in spelling that were looked at.
        path: how the first were searched.
    """

    proposals: Sequence[Proposal]
    respelt: Callable[[], Sequence[StoredName]]
    dense: int
    spelt: int
    path: str

    def __str__(self) -> str:
        """Return what was looked at, for the trace."""
        return (
            f"{self.dense} names by vector (path {self.path}), {self.spelt} by n-grams, "
            f"{len(self.proposals)} concepts"
        )


class Proposals(Sequence[Proposal]):
    """The candidates of one pool, best first; each is made when it is asked for.

    Args:
        lexicon: the names.
        pool: what was found.
        model: what is thought of it.
    """

    def __init__(self, lexicon: Lexicon, pool: Pool, model: LinkModel) -> None:
        self._lexicon = lexicon
        self._pool = pool
        self._probabilities = model.probabilities(pool.table, pool.gains)
        order = np.argsort(-self._probabilities, kind="stable")
        if len(order) and not np.diff(self._probabilities[order]).all():
            order = np.array(sorted(order.tolist(), key=self._key), dtype=np.int64)
        self._order: list[int] = order.tolist()

    def _key(self, place: int) -> tuple[float, int, str]:
        """Order equals by scope, then by id."""
        pool, lexicon = self._pool, self._lexicon
        scope = int(lexicon.scopes[pool.names[place]])
        return -self._probabilities[place], scope, lexicon.concept_ids[pool.concepts[place]]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> Proposal: ...

    @overload
    def __getitem__(self, place: slice) -> list[Proposal]: ...

    def __getitem__(self, place: int | slice) -> Proposal | list[Proposal]:
        """Return one, or a list of some."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        at = self._order[place]
        name = self._pool.names[at]
        return Proposal(
            concept_id=self._lexicon.concept_ids[self._pool.concepts[at]],
            matched_name=self._lexicon.texts[name],
            scope=SCOPES[self._lexicon.scopes[name]],
            cosine=float(self._pool.cosines[at]),
            probability=float(self._probabilities[at]),
        )


def respelt(lexicon: Lexicon, pool: Pool, key: str) -> list[StoredName]:
    """Return the live names whose keys are one slip away."""
    lengths = lexicon.keys.lengths_of(pool.spelt)
    near = pool.spelt[np.abs(lengths - len(key.encode("utf-8", "surrogatepass"))) <= MOST_BYTES]
    return [
        StoredName(
            record_id=None,
            text=lexicon.texts[name],
            concept_id=lexicon.concept_ids[lexicon.concept_of[name]],
            scope=SCOPES[lexicon.scopes[name]],
            name_type=None,
            obsolete=False,
            row=int(lexicon.rows[name]),
        )
        for name in near.tolist()
        if one_slip(key, lexicon.keys[name])
    ]
