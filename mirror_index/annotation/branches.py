"""The concepts at and below others in a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mirror_index.errors import UsageError
from mirror_index.records import Concept

LookUp = Callable[[Sequence[str]], Mapping[str, Concept]]


class Branch:
    """Tells whether a concept is one of some roots or lies below one, through any parent.

    Args:
        concepts: looks concepts up by id.
        find: the same with the prefix of an id in any case.
        roots: ids, or alternative ids; without any, every concept is held.

    Raises:
        UsageError: a root that is not in the collection.
    """

    def __init__(self, concepts: LookUp, find: LookUp, roots: Sequence[str]) -> None:
        found = find(roots) if roots else {}
        self._held: dict[str, bool] = {}
        for root in roots:
            if root not in found:
                raise UsageError(
                    "no such concept in the collection",
                    value=root,
                    remedy="Give the id of a concept, as the dictionary spells it",
                )
            self._held[found[root].id] = True
        self._concepts = concepts
        self._all = not roots

    def holds(self, concept_id: str) -> bool:
        """Return whether the concept lies in the branch; circles of parents do no harm."""
        if self._all:
            return True
        above = [concept_id]
        seen: set[str] = set()
        while above and concept_id not in self._held:
            if any(self._held.get(one, False) for one in above):
                self._held[concept_id] = True
                break
            seen.update(above)
            known = self._concepts(above).values()
            above = list({one for concept in known for one in concept.parents} - seen)
        return self._held.setdefault(concept_id, False)
