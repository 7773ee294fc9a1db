"""Other readings of a mention, each only added to what the mention itself is answered.

A mention is also read with the abbreviations of its context written out, in the other number,
spelling or spacing of its words, and as several mentions in one. A reading is linked like a
mention; which of the answers stands is decided here, and said in the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mirror_index.config import LinkOptions
from mirror_index.linking.abbreviations import Definition, definitions, expansions
from mirror_index.linking.composites import Parts, proposals
from mirror_index.linking.deciding import link_to_best
from mirror_index.linking.variants import spacings, variants
from mirror_index.names import name_key
from mirror_index.records import Candidate, Link, LinkStatus

VARIANT_DISCOUNT = 0.95
"""Share of the probability of an exact match that one with a variant of the name has: of 111 such
mentions in the development parts of two corpora, 106 meant the concept."""

FEWEST_CANDIDATES = 5
"""Candidates that the answers to be joined must have, however few the caller wants to see."""

_BY_NAME = frozenset({"exact", "variant", "override"})
_FOUND = frozenset({LinkStatus.LINKED, LinkStatus.AMBIGUOUS})
_ANSWERED = _FOUND | {LinkStatus.COMPOSITE}

Answer = Callable[[Sequence[str]], Mapping[str, Link]]
NamesOf = Callable[[Iterable[str]], Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Row:
    """A mention and its context; rows that are equal have one answer."""

    mention: str
    context: str | None = None


class Widener:
    """Answers rows by the answers for mentions.

    Args:
        answer: links distinct mentions as they stand.
        names_of: the names of a dictionary by key, as the source spells them.
        options: as for `link`.
    """

    def __init__(self, answer: Answer, names_of: NamesOf, options: LinkOptions) -> None:
        self._answer = answer
        self._names_of = names_of
        self._options = options

    def answers(self, rows: Sequence[Row]) -> dict[Row, Link]:
        """Return the answer for each distinct row."""
        found: dict[str | None, tuple[Definition, ...]] = {None: ()}
        for context in {row.context for row in rows} - {None}:
            found[context] = definitions(context or "")
        longer = {row: expansions(row.mention, found[row.context]) for row in rows}
        texts = [row.mention for row in rows] + [text for text in longer.values() if text]
        links = self._whole(list(dict.fromkeys(texts)))
        links.update(
            self._composite([text for text, one in links.items() if not _named(one)], links)
        )
        return {
            row: _chosen(links[row.mention], None if text is None else links[text])
            for row, text in longer.items()
        }

    def _whole(self, texts: Sequence[str]) -> dict[str, Link]:
        """Link texts as a whole: as they stand, and in other forms where that finds no name."""
        links = dict(self._answer(texts))
        keys = {text: _other_keys(name_key(text)) for text in texts if not _named(links[text])}
        names = self._names_of({key for several in keys.values() for key in several})
        # One spelling stands for all names of its key, which the exact layer finds by it.
        spellings = {
            text: [names[k][0] for k in several if k in names] for text, several in keys.items()
        }
        answers = self._answer(list({one for several in spellings.values() for one in several}))
        for text, several in spellings.items():
            matched = [answers[one] for one in several if _exact(answers[one])]
            if matched:
                links[text] = self._varied(links[text], matched)
        return links

    def _varied(self, own: Link, matched: Sequence[Link]) -> Link:
        """Return the answer of a mention that has variants among the names."""
        candidates: dict[str, Candidate] = {}
        for one in matched:
            for candidate in one.candidates:
                if candidate.method == "exact":
                    candidates.setdefault(
                        candidate.concept_id, _as_variant(candidate, len(matched))
                    )
        together = sum(candidate.probability for candidate in candidates.values())
        if together < self._options.min_probability:
            status = LinkStatus.NIL
        elif len(candidates) > 1:
            status = LinkStatus.AMBIGUOUS
        else:
            status = matched[0].status
        steps = [f"variant: {one.mention!r} is a name" for one in matched]
        shown = f"decision: {status.value}, by another form of the name, {together:.3f}"
        ranked = sorted(candidates.values(), key=lambda one: -one.probability)
        return _joined(own.mention, status, ranked, own.candidates, (*own.trace, *steps, shown))

    def _composite(self, texts: Sequence[str], links: Mapping[str, Link]) -> dict[str, Link]:
        """Return the answers of the texts that name several things, all of them by name."""
        readings = {text: list(proposals(text)) for text in texts}
        words = {part for several in readings.values() for parts in several for part in parts}
        known = self._known(words)
        chosen = {
            text: parts
            for text, several in readings.items()
            if (parts := next((p for p in several if known.issuperset(p)), None))
        }
        answers = self._whole(list({part for parts in chosen.values() for part in parts}))
        split: dict[str, Link] = {}
        for text, parts in chosen.items():
            found = tuple(answers[part] for part in parts)
            if all(map(_named, found)) and len({one.concept_id for one in found}) > 1:
                split[text] = _split(links[text], parts, found)
        return split

    def _known(self, parts: Iterable[str]) -> set[str]:
        """Return the parts that are names, or variants of names."""
        keys = {part: [key, *_other_keys(key)] for part in parts if (key := name_key(part))}
        names = self._names_of({key for several in keys.values() for key in several})
        return {part for part, several in keys.items() if any(key in names for key in several)}


def _other_keys(key: str) -> list[str]:
    return [*variants(key), *spacings(key)]


def _named(link: Link) -> bool:
    """Whether the mention is a name: exactly, in a variant, or because a person says so."""
    if link.status is LinkStatus.NIL:
        return bool(link.candidates) and link.candidates[0].method in _BY_NAME
    return link.method in _BY_NAME


def _exact(link: Link) -> bool:
    return bool(link.candidates) and link.candidates[0].method == "exact"


def _as_variant(candidate: Candidate, names: int) -> Candidate:
    probability = candidate.probability * VARIANT_DISCOUNT / names
    return replace(candidate, method="variant", probability=probability)


def _chosen(own: Link, longer: Link | None) -> Link:
    """Return the answer of a mention, given that of its long form in this context.

    What the context defines is what is meant: the long form wins wherever it is found.
    """
    if longer is None:
        return own
    step = f"abbreviation: {own.mention!r} is read as {longer.mention!r}"
    neither = not {own.status, longer.status} & _ANSWERED
    if longer.status in _ANSWERED or (neither and _chance(longer) >= _chance(own)):
        first, second, end = longer, own, "decision: that of the long form"
    else:
        first, second, end = own, longer, "decision: that of the short form, the long one has none"
    joined = _joined(
        own.mention,
        first.status,
        first.candidates,
        second.candidates,
        (*own.trace, step, *longer.trace, end),
    )
    return replace(joined, parts=first.parts)


def _chance(link: Link) -> float:
    return link.candidates[0].probability if link.candidates else 0.0


def _joined(
    mention: str,
    status: LinkStatus,
    first: Sequence[Candidate],
    second: Sequence[Candidate],
    trace: tuple[str, ...],
) -> Link:
    """Return a link by the first candidates; the second share the probability these leave over."""
    left = max(0.0, 1.0 - sum(one.probability for one in first[:FEWEST_CANDIDATES]))
    most = first[0].probability if first else 1.0
    taken = {one.concept_id for one in first}
    others = [
        replace(one, probability=min(most, left * one.probability))
        for one in second
        if one.concept_id not in taken
    ]
    # The sort is stable, so that the first candidates stay before equals.
    candidates = tuple(sorted((*first, *others), key=lambda one: -one.probability))
    if not candidates:
        return Link(mention=mention, status=status, trace=trace)
    margin = candidates[0].probability - (candidates[1].probability if candidates[1:] else 0.0)
    if status not in _FOUND:
        return Link(
            mention=mention, status=status, margin=margin, candidates=candidates, trace=trace
        )
    return link_to_best(mention, status, candidates, margin, trace)


def _split(own: Link, parts: Parts, found: tuple[Link, ...]) -> Link:
    """Return the answer of a mention that is read as several."""
    shown = " + ".join(map(repr, parts))
    return Link(
        mention=own.mention,
        status=LinkStatus.COMPOSITE,
        margin=own.margin,
        candidates=own.candidates,
        trace=(*own.trace, f"composite: {shown}", "decision: composite, every part is a name"),
        parts=found,
    )
