"""From candidates to a decision: probabilities, and linked, ambiguous or nil."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from mirror_index.config import LinkOptions
from mirror_index.linking.contradictions import contained, contradict
from mirror_index.linking.exact import ExactResult
from mirror_index.names import name_key
from mirror_index.records import Candidate, Link, LinkStatus, Scope

EXACT_PROBABILITY = 0.95
"""Chance that a concept is meant whose very name was used: of the mentions with exactly one such
concept, .91 to .99 in two benchmarks (names are also used for what is more general or special).
Held-out synonyms cannot tell it: in the dictionary itself a name always means its concept."""

RESPELT_PROBABILITY = 0.8
"""The same where the name differs from the mention by one slip of spelling; see docs/linking.md."""

MOST_TIED = 5
"""Candidates that may be ambiguous together: a choice among more is no answer."""

SHORT_KEY = 3
SHORT_EXACT_PROBABILITY = 0.75
"""The same for keys of three characters at most, i.e. abbreviations: .74 to .82."""

_EXACT_SHARE = {
    Scope.LABEL: 1.0,
    Scope.EXACT: 0.6,
    Scope.NARROW: 0.3,
    Scope.BROAD: 0.3,
    Scope.RELATED: 0.3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A ranked concept: `cosine` is that of the matched name, `probability` the model's."""

    concept_id: str
    matched_name: str
    scope: Scope
    cosine: float
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The status of a mention, its candidates (best first), and why, in a line.

    Attributes:
        status: linked, ambiguous or nil.
        candidates: by name, and as many others as are wanted or show ties; without labels yet.
        margin: probability of the first less that of the second; None without candidates.
        reason: for the trace.
    """

    status: LinkStatus
    candidates: tuple[Candidate, ...]
    margin: float | None
    reason: str


def decide(
    key: str,
    exact: ExactResult,
    proposals: Sequence[Proposal],
    options: LinkOptions,
    *,
    respelt: bool = False,
    careful: bool = False,
) -> Decision:
    """Weigh the exact matches and the ranked proposals of a mention.

    Exact matches come first and share `EXACT_PROBABILITY` (less for a short key) by their scope;
    what is left over goes to the proposals. Several concepts that carry the very name are ambiguous
    whatever their scopes. Proposals that are closer to the best than the margin of `options` are
    ambiguous together, when one of them is right with enough probability and they are few. A
    proposal whose name and the mention contradict each other is not linked; to be careful, one
    whose name says more than the mention, or less, is ambiguous.

    Args:
        key: key of the mention.
        exact: what the exact layer found.
        proposals: best first, with falling probabilities, those of exact matches included.
        options: the thresholds.
        respelt: the exact matches are of a key one slip of spelling away.
        careful: nothing was learned from this dictionary.
    """
    named = _exact_candidates(key, exact, respelt)
    most = max(options.k, MOST_TIED + 1)
    candidates = (*named, *islice(_proposed(proposals, named), most))
    if not candidates:
        return Decision(
            status=LinkStatus.NIL, candidates=(), margin=None, reason="there is no candidate"
        )
    first = candidates[0].probability
    second = candidates[1].probability if len(candidates) > 1 else 0.0
    group = len(named) or _close(candidates, options)
    certain = exact.certain or not named
    status, reason = _judge(candidates, group, certain, options)
    if status is not LinkStatus.NIL and (respelt or not named):
        name = candidates[0].matched_name
        other = name_key(name)
        if contradict(key, other):
            status, reason = LinkStatus.NIL, f"the mention and {name!r} contradict each other"
        elif careful and contained(key, other):
            status, reason = LinkStatus.AMBIGUOUS, f"the mention or {name!r} says more"
    return Decision(status=status, candidates=candidates, margin=first - second, reason=reason)


def _close(candidates: Sequence[Candidate], options: LinkOptions) -> int:
    """Return how many candidates cannot be told from the first one; 1 when too many cannot."""
    first = candidates[0].probability
    close = sum(first - one.probability < options.ambiguity_margin for one in candidates)
    return close if 1 <= close <= MOST_TIED else 1


def _judge(
    candidates: Sequence[Candidate], group: int, certain: bool, options: LinkOptions
) -> tuple[LinkStatus, str]:
    together = sum(candidate.probability for candidate in candidates[:group])
    shown = f"probability {together:.3f}"
    if together < options.min_probability:
        return LinkStatus.NIL, f"{shown} is below {options.min_probability:g}"
    if not certain:
        return LinkStatus.AMBIGUOUS, "the redirect leaves a choice"
    if group > 1:
        named = candidates[0].method in ("exact", "spelling")
        how = "carry this name" if named else f"lie within {options.ambiguity_margin:g}"
        return LinkStatus.AMBIGUOUS, f"{group} concepts {how}"
    second = candidates[1].probability if len(candidates) > 1 else 0.0
    margin = candidates[0].probability - second
    if margin < options.ambiguity_margin:
        return (
            LinkStatus.AMBIGUOUS,
            f"margin {margin:.3f} is below {options.ambiguity_margin:g}",
        )
    return LinkStatus.LINKED, f"{shown}, margin {margin:.3f}"


def _exact_candidates(key: str, exact: ExactResult, respelt: bool) -> tuple[Candidate, ...]:
    probability = SHORT_EXACT_PROBABILITY if len(key) <= SHORT_KEY else EXACT_PROBABILITY
    if respelt:
        probability = RESPELT_PROBABILITY
    shares = [_EXACT_SHARE[match.scope] for match in exact.matches]
    total = sum(shares)
    return tuple(
        Candidate(
            concept_id=match.concept_id,
            label="",
            score=1.0 - 1.0 / len(key) if respelt else 1.0,
            probability=probability * (share / total),
            matched_name=match.matched_name,
            scope=match.scope,
            method="spelling" if respelt else "exact",
        )
        for match, share in zip(exact.matches, shares, strict=True)
    )


def _proposed(proposals: Sequence[Proposal], named: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates beside the named ones, which share what those leave over."""
    taken = {candidate.concept_id for candidate in named}
    left = 1.0 - sum(candidate.probability for candidate in named)
    theirs = sum(one.probability for one in proposals if one.concept_id in taken) if taken else 0.0
    share = left / max(1.0 - theirs, left, 1e-9)
    # One beside the named ones must not look better than them: order and probability agree.
    most = min((candidate.probability for candidate in named), default=1.0)
    for one in proposals:
        if one.concept_id not in taken:
            yield Candidate(
                concept_id=one.concept_id,
                label="",
                score=one.cosine,
                probability=min(share * one.probability, most),
                matched_name=one.matched_name,
                scope=one.scope,
                method="dense",
            )


def with_label(candidate: Candidate, label: str) -> Candidate:
    """Return the candidate with its concept's label."""
    return replace(candidate, label=label)


def link_to_best(
    mention: str,
    status: LinkStatus,
    candidates: tuple[Candidate, ...],
    margin: float | None,
    trace: tuple[str, ...],
) -> Link:
    """Return the link of a mention to the first of its candidates, of which there is at least one.

    Args:
        mention: as it was given.
        status: linked or ambiguous.
        candidates: best first, labelled.
        margin: probability of the first less that of the second.
        trace: the steps taken.
    """
    best = candidates[0]
    return Link(
        mention=mention,
        status=status,
        concept_id=best.concept_id,
        label=best.label,
        score=best.score,
        probability=best.probability,
        matched_name=best.matched_name,
        scope=best.scope,
        method=best.method,
        margin=margin,
        candidates=candidates,
        trace=trace,
    )
