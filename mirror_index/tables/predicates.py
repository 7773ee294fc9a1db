"""What an answer means as a mapping: which concepts, by which predicate, for which reason."""

from __future__ import annotations

from mirror_index.config import LinkOptions
from mirror_index.records import Candidate, Link, LinkStatus, Scope

BY_NAME = frozenset(("exact", "variant", "spelling"))
"""Methods that found the mention itself among the names, or something very like it."""

_JUSTIFICATIONS = {
    "exact": "semapv:LexicalMatching",
    "spelling": "semapv:LexicalSimilarityThresholdMatching",
    "variant": "semapv:LexicalSimilarityThresholdMatching",
    "ngram": "semapv:LexicalSimilarityThresholdMatching",
    "override": "semapv:ManualMappingCuration",
}
SAME = frozenset(("exact", "variant", "override"))
"""Methods without a similarity: the name is the same, or a person says so."""

MEASURES = {"spelling": "share of characters that agree", "dense": "cosine of embeddings"}
_BY_SCOPE = {
    Scope.LABEL: "skos:exactMatch",
    Scope.EXACT: "skos:exactMatch",
    # The name says less than its concept, or more, and so does the mention that is this name.
    Scope.NARROW: "skos:broadMatch",
    Scope.BROAD: "skos:narrowMatch",
    Scope.RELATED: "skos:relatedMatch",
}
MATCH_FIELDS = {
    Scope.LABEL: "rdfs:label",
    Scope.EXACT: "oboInOwl:hasExactSynonym",
    Scope.NARROW: "oboInOwl:hasNarrowSynonym",
    Scope.BROAD: "oboInOwl:hasBroadSynonym",
    Scope.RELATED: "oboInOwl:hasRelatedSynonym",
}


def justification_of(method: str) -> str:
    """Return the term of the Semantic Mapping Vocabulary for a method of the linker."""
    return _JUSTIFICATIONS.get(method, "semapv:SemanticSimilarityThresholdMatching")


def candidates_of(answer: Link) -> tuple[Candidate, ...]:
    """Return the candidates that an answer stands for.

    None for nil and empty, one for linked; for ambiguous, those that carry the very name, or whose
    probability is within the margin of the first one's.
    """
    if answer.status not in (LinkStatus.LINKED, LinkStatus.AMBIGUOUS) or not answer.candidates:
        return ()
    first = answer.candidates[0]
    if answer.status is LinkStatus.LINKED:
        return (first,)
    margin = LinkOptions().ambiguity_margin
    return tuple(
        candidate
        for candidate in answer.candidates
        if (candidate.method == first.method and first.method != "dense")
        or first.probability - candidate.probability < margin
    )


def predicate_of(answer: Link, candidate: Candidate) -> str:
    """Return the predicate that a candidate deserves.

    ``skos:exactMatch`` for a label or exact synonym that is the mention (or another form of it, or
    one slip of spelling away) and for a person's decision; ``broadMatch``, ``narrowMatch`` and
    ``relatedMatch`` for narrow, broad and related synonyms; ``closeMatch`` for everything else,
    i.e. a neighbour of another wording and each concept of an ambiguous answer.
    """
    if answer.status is LinkStatus.AMBIGUOUS:
        return "skos:closeMatch"
    if candidate.method == "override":
        return "skos:exactMatch"
    if candidate.method in BY_NAME:
        return _BY_SCOPE[candidate.scope]
    return "skos:closeMatch"
