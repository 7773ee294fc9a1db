"""Decisions from hand-made candidates."""

from __future__ import annotations

import pytest

from mirror_index.config import LinkOptions
from mirror_index.linking.deciding import (
    EXACT_PROBABILITY,
    SHORT_EXACT_PROBABILITY,
    decide,
)
from mirror_index.linking.dense import ConceptHit
from mirror_index.linking.exact import ExactMatch, ExactResult
from mirror_index.linking.model import LinkModel
from mirror_index.records import LinkStatus, Scope

SURE = LinkModel(bias=-5.0, weights=(8.0, 6.0, 0.0))
OPTIONS = LinkOptions()


def near(identifier: str, cosine: float) -> ConceptHit:
    return ConceptHit(
        concept_id=identifier,
        matched_name=f"name of {identifier}",
        scope=Scope.EXACT,
        cosine=cosine,
        score=cosine,
    )


def named(*pairs: tuple[str, Scope], certain: bool = True) -> ExactResult:
    return ExactResult(
        matches=tuple(ExactMatch(concept_id=one, matched_name="n", scope=s) for one, s in pairs),
        certain=certain,
    )


def test_one_exact_match_is_linked_and_leaves_the_rest_to_the_others() -> None:
    nearest = [near("A", 0.99), near("B", 0.8), near("C", 0.1)]
    found = decide("some key", named(("A", Scope.LABEL)), nearest, SURE, OPTIONS)
    assert found.status is LinkStatus.LINKED
    assert [c.concept_id for c in found.candidates] == ["A", "B", "C"]
    assert [c.method for c in found.candidates] == ["exact", "dense", "dense"]
    assert found.candidates[0].probability == EXACT_PROBABILITY
    assert found.candidates[0].score == 1.0
    assert sum(c.probability for c in found.candidates) <= 1.0
    assert found.margin == pytest.approx(EXACT_PROBABILITY - found.candidates[1].probability)


def test_an_abbreviation_is_less_certain() -> None:
    long = decide("abcd", named(("A", Scope.LABEL)), [], SURE, OPTIONS).candidates[0]
    short = decide("abc", named(("A", Scope.LABEL)), [], SURE, OPTIONS).candidates[0]
    assert long.probability == EXACT_PROBABILITY
    assert short.probability == SHORT_EXACT_PROBABILITY


def test_several_exact_matches_are_ambiguous_and_share_the_probability() -> None:
    exact = named(("A", Scope.LABEL), ("B", Scope.EXACT))
    found = decide("some key", exact, [], SURE, OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    first, second = found.candidates
    assert first.probability > second.probability
    assert first.probability + second.probability == pytest.approx(EXACT_PROBABILITY)
    assert "2 concepts carry this name" in found.reason


def test_an_uncertain_redirect_is_ambiguous_even_with_one_target() -> None:
    found = decide("some key", named(("A", Scope.LABEL), certain=False), [], SURE, OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    assert "redirect" in found.reason


def test_a_redirect_to_nowhere_does_not_spoil_the_dense_answer() -> None:
    found = decide("some key", ExactResult(certain=False), [near("A", 0.9)], SURE, OPTIONS)
    assert found.status is LinkStatus.LINKED


def test_dense_linked_and_nil() -> None:
    linked = decide("some key", ExactResult(), [near("A", 0.9), near("B", 0.5)], SURE, OPTIONS)
    assert linked.status is LinkStatus.LINKED
    nil = decide("some key", ExactResult(), [near("A", 0.4), near("B", 0.39)], SURE, OPTIONS)
    assert nil.status is LinkStatus.NIL
    assert nil.candidates[0].concept_id == "A"
    assert "below 0.5" in nil.reason


def test_the_thresholds_are_the_callers() -> None:
    nearest = [near("A", 0.9), near("B", 0.5)]
    p = decide("some key", ExactResult(), nearest, SURE, OPTIONS).candidates[0].probability
    strict = decide("some key", ExactResult(), nearest, SURE, LinkOptions(min_probability=p + 1e-6))
    assert strict.status is LinkStatus.NIL
    wide = decide("some key", ExactResult(), nearest, SURE, LinkOptions(ambiguity_margin=0.999))
    assert wide.status is LinkStatus.AMBIGUOUS
    assert "margin" in wide.reason


def test_concepts_equally_near_are_ambiguous_together() -> None:
    nearest = [near("A", 0.9), near("B", 0.897), near("C", 0.5)]
    found = decide("some key", ExactResult(), nearest, SURE, OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    assert found.candidates[0].probability == found.candidates[1].probability
    assert found.candidates[0].probability > found.candidates[2].probability
    assert found.margin == 0.0
    assert "2 concepts are equally near" in found.reason


def test_equally_near_but_far_is_nil() -> None:
    nearest = [near("A", 0.3), near("B", 0.3)]
    assert decide("some key", ExactResult(), nearest, SURE, OPTIONS).status is LinkStatus.NIL


def test_probabilities_fall_with_the_rank_and_sum_to_one_at_most() -> None:
    nearest = [near(f"C{n}", 0.95 - 0.02 * n) for n in range(20)]
    found = decide(
        "some key", ExactResult(), nearest, LinkModel(bias=1.0, weights=(1.0, 0.1, 0)), OPTIONS
    )
    probabilities = [c.probability for c in found.candidates]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0 + 1e-9


def test_no_candidates_at_all() -> None:
    found = decide("some key", ExactResult(), [], SURE, OPTIONS)
    assert (found.status, found.margin) == (LinkStatus.NIL, None)
