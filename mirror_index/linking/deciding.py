"""From candidates to a decision: probabilities, and linked, ambiguous or nil."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mirror_index.config import LinkOptions
from mirror_index.linking.dense import ConceptHit
from mirror_index.linking.exact import ExactResult
from mirror_index.linking.model import TIE, LinkModel, features
from mirror_index.names import name_key
from mirror_index.records import Candidate, LinkStatus, Scope

EXACT_PROBABILITY = 0.95
"""Chance that a concept is meant whose very name was used: of the mentions with exactly one such
concept, .91 to .99 in two benchmarks (names are also used for what is more general or special)."""

RESPELT_PROBABILITY = 0.8
"""The same where the name differs from the mention by one slip of spelling; see docs/linking.md."""

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
class Decision:
    """The status of a mention, its candidates (best first), and why, in a line.

    Attributes:
        status: linked, ambiguous or nil.
        candidates: all candidates; the labels are still empty.
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
    nearest: Sequence[ConceptHit],
    model: LinkModel,
    options: LinkOptions,
    *,
    respelt: bool = False,
) -> Decision:
    """Weigh the exact matches and the nearest concepts of a mention.

    Exact matches come first and share `EXACT_PROBABILITY` (less for a short key) by their scope;
    what is left over goes to the dense candidates. Several concepts that carry the very name are
    ambiguous whatever their scopes. Dense candidates whose scores are within `TIE` of the best
    share one probability, that one of them is right, and are ambiguous when it is high enough.

    Args:
        key: key of the mention.
        exact: what the exact layer found.
        nearest: dense candidates, best first, those of exact matches included.
        model: gives the probability of a dense candidate.
        options: the thresholds.
        respelt: the exact matches are of a key one slip of spelling away.
    """
    named = _exact_candidates(key, exact, respelt)
    taken = {candidate.concept_id: candidate for candidate in named}
    others = [hit for hit in nearest if hit.concept_id not in taken]
    left = 1.0 - sum(candidate.probability for candidate in named)
    tied = _tied(others)
    dense = _dense_candidates(key, others, tied, model, left)
    candidates = (*named, *dense)
    if not candidates:
        return Decision(
            status=LinkStatus.NIL, candidates=(), margin=None, reason="there is no candidate"
        )
    second = candidates[1].probability if len(candidates) > 1 else 0.0
    margin = candidates[0].probability - second
    group = len(named) if named else tied
    certain = exact.certain or not named
    status, reason = _judge(candidates, group, margin, certain, options)
    return Decision(status=status, candidates=candidates, margin=margin, reason=reason)


def _judge(
    candidates: Sequence[Candidate], group: int, margin: float, certain: bool, options: LinkOptions
) -> tuple[LinkStatus, str]:
    together = sum(candidate.probability for candidate in candidates[:group])
    shown = f"probability {together:.3f}"
    if together < options.min_probability:
        return LinkStatus.NIL, f"{shown} is below {options.min_probability:g}"
    if not certain:
        return LinkStatus.AMBIGUOUS, "the redirect leaves a choice"
    if group > 1:
        how = "are equally near" if candidates[0].method == "dense" else "carry this name"
        return LinkStatus.AMBIGUOUS, f"{group} concepts {how}"
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


def _tied(hits: Sequence[ConceptHit]) -> int:
    return sum(hits[0].score - hit.score <= TIE for hit in hits)


def _dense_candidates(
    key: str, hits: Sequence[ConceptHit], tied: int, model: LinkModel, left: float
) -> list[Candidate]:
    """Return the dense candidates; their probabilities sum to `left` at most."""
    if not hits:
        return []
    rival = hits[tied] if tied < len(hits) else None
    matched = [name_key(hit.matched_name) for hit in hits]
    together = model.probability(features(key, matched[0], hits[0], rival))
    rest = [
        model.probability(features(key, matched[place], hits[place], hits[0]))
        for place in range(tied, len(hits))
    ]
    room = (1.0 - together) / max(sum(rest), 1.0 - together, 1e-12)
    # One below the best must not look better than it: order and probability agree.
    share = together / tied
    probabilities = [share] * tied + [min(p * room, share) for p in rest]
    return [
        Candidate(
            concept_id=hit.concept_id,
            label="",
            score=hit.cosine,
            probability=left * probability,
            matched_name=hit.matched_name,
            scope=hit.scope,
            method="dense",
        )
        for hit, probability in zip(hits, probabilities, strict=True)
    ]


def with_label(candidate: Candidate, label: str) -> Candidate:
    """Return the candidate with its concept's label."""
    return replace(candidate, label=label)
