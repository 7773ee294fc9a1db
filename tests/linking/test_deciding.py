"""Decisions from hand-made candidates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirror_index.config import LinkOptions
from mirror_index.linking.deciding import (
    EXACT_PROBABILITY,
    RESPELT_PROBABILITY,
    SHORT_EXACT_PROBABILITY,
    Proposal,
    decide,
)
from mirror_index.linking.exact import ExactMatch, ExactResult
from mirror_index.records import LinkStatus, Scope

OPTIONS = LinkOptions()


def near(identifier: str, probability: float) -> Proposal:
    return Proposal(
        concept_id=identifier,
        matched_name=f"name of {identifier}",
        scope=Scope.EXACT,
        cosine=0.9,
        probability=probability,
    )


def named(*pairs: tuple[str, Scope], certain: bool = True) -> ExactResult:
    return ExactResult(
        matches=tuple(ExactMatch(concept_id=one, matched_name="n", scope=s) for one, s in pairs),
        certain=certain,
    )


def test_one_exact_match_is_linked_and_leaves_the_rest_to_the_others() -> None:
    nearest = [near("A", 0.9), near("B", 0.06), near("C", 0.02)]
    found = decide("some key", named(("A", Scope.LABEL)), nearest, OPTIONS)
    assert found.status is LinkStatus.LINKED
    assert [c.concept_id for c in found.candidates] == ["A", "B", "C"]
    assert [c.method for c in found.candidates] == ["exact", "dense", "dense"]
    assert found.candidates[0].probability == EXACT_PROBABILITY
    assert found.candidates[0].score == 1.0
    assert found.candidates[1].probability == pytest.approx(0.05 * 0.06 / 0.1)
    assert found.margin == pytest.approx(EXACT_PROBABILITY - 0.03)


def test_no_other_looks_better_than_what_is_named() -> None:
    exact = named(*[(f"N{n}", Scope.EXACT) for n in range(9)])
    found = decide("abc", exact, [near("B", 0.99)], OPTIONS)
    probabilities = [c.probability for c in found.candidates]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1.0


def test_an_abbreviation_is_less_certain() -> None:
    for key, probability in (("abcd", EXACT_PROBABILITY), ("abc", SHORT_EXACT_PROBABILITY)):
        (only,) = decide(key, named(("A", Scope.LABEL)), [], OPTIONS).candidates
        assert only.probability == probability


def test_a_slip_is_less_certain_too() -> None:
    found = decide("abcde", named(("A", Scope.LABEL)), [], OPTIONS, respelt=True)
    assert found.candidates[0].probability == RESPELT_PROBABILITY
    assert (found.candidates[0].method, found.candidates[0].score) == ("spelling", 0.8)


def test_several_exact_matches_are_ambiguous_and_share_the_probability() -> None:
    exact = named(("A", Scope.LABEL), ("B", Scope.EXACT))
    found = decide("some key", exact, [], OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    first, second = found.candidates
    assert first.probability > second.probability
    assert first.probability + second.probability == pytest.approx(EXACT_PROBABILITY)
    assert "2 concepts carry this name" in found.reason


def test_an_uncertain_redirect_is_ambiguous_even_with_one_target() -> None:
    found = decide("some key", named(("A", Scope.LABEL), certain=False), [], OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    assert "redirect" in found.reason


def test_a_redirect_to_nowhere_does_not_spoil_the_other_answer() -> None:
    found = decide("some key", ExactResult(certain=False), [near("A", 0.9)], OPTIONS)
    assert found.status is LinkStatus.LINKED


def test_linked_and_nil() -> None:
    linked = decide("some key", ExactResult(), [near("A", 0.6), near("B", 0.2)], OPTIONS)
    assert linked.status is LinkStatus.LINKED
    assert [c.probability for c in linked.candidates] == [0.6, 0.2]
    nil = decide("some key", ExactResult(), [near("A", 0.4), near("B", 0.1)], OPTIONS)
    assert nil.status is LinkStatus.NIL
    assert nil.candidates[0].concept_id == "A"
    assert "below 0.5" in nil.reason


def test_the_thresholds_are_the_callers() -> None:
    nearest = [near("A", 0.8), near("B", 0.1)]
    strict = decide("key", ExactResult(), nearest, LinkOptions(min_probability=0.81))
    assert strict.status is LinkStatus.NIL
    wide = decide("key", ExactResult(), nearest, LinkOptions(ambiguity_margin=0.75))
    assert wide.status is LinkStatus.AMBIGUOUS


def test_concepts_too_close_are_ambiguous_together() -> None:
    nearest = [near("A", 0.34), near("B", 0.33), near("C", 0.1)]
    found = decide("some key", ExactResult(), nearest, OPTIONS)
    assert found.status is LinkStatus.AMBIGUOUS
    assert found.margin == pytest.approx(0.01)
    assert "2 concepts lie within 0.02" in found.reason


def test_a_choice_among_too_many_is_no_answer() -> None:
    nearest = [near(f"C{n}", 0.12) for n in range(8)]
    assert decide("some key", ExactResult(), nearest[:5], OPTIONS).status is LinkStatus.AMBIGUOUS
    assert decide("some key", ExactResult(), nearest, OPTIONS).status is LinkStatus.NIL


def test_close_but_improbable_is_nil() -> None:
    nearest = [near("A", 0.1), near("B", 0.1)]
    assert decide("some key", ExactResult(), nearest, OPTIONS).status is LinkStatus.NIL


def test_a_margin_of_nothing_links_alone() -> None:
    found = decide("key", ExactResult(), [near("A", 0.6)], LinkOptions(ambiguity_margin=0.0))
    assert found.status is LinkStatus.LINKED


def test_no_candidates_at_all() -> None:
    found = decide("some key", ExactResult(), [], OPTIONS)
    assert (found.status, found.margin) == (LinkStatus.NIL, None)


@pytest.mark.parametrize(
    ("mention", "name", "status"),
    [
        ("no nausea", "Nausea", LinkStatus.NIL),
        ("nausea", "No nausea", LinkStatus.NIL),
        ("non progressive ataxia", "Progressive ataxia", LinkStatus.NIL),
        ("not progressive ataxia", "Non-progressive ataxia", LinkStatus.LINKED),
        ("no patella", "Absent patella", LinkStatus.LINKED),
        ("aplasia of the patella", "Absent patella", LinkStatus.LINKED),
        ("nodular nausea", "Nausea", LinkStatus.LINKED),
    ],
)
def test_what_denies_a_name_is_not_linked_to_it(
    mention: str, name: str, status: LinkStatus
) -> None:
    proposal = replace(near("A", 0.9), matched_name=name)
    found = decide(mention, ExactResult(), [proposal], OPTIONS)
    assert found.status is status
    assert found.candidates[0].probability == 0.9
    assert ("contradict" in found.reason) == (status is LinkStatus.NIL)


def test_what_says_more_is_ambiguous_where_nothing_was_learned() -> None:
    proposals = [replace(near("A", 0.9), matched_name="Asthma")]
    for careful, status in ((True, LinkStatus.AMBIGUOUS), (False, LinkStatus.LINKED)):
        found = decide("severe asthma", ExactResult(), proposals, OPTIONS, careful=careful)
        assert found.status is status
        assert found.candidates[0].probability == 0.9
    exact = named(("A", Scope.LABEL))
    assert decide("severe asthma", exact, [], OPTIONS, careful=True).status is LinkStatus.LINKED


def test_a_slip_that_turns_a_name_into_its_opposite_is_none() -> None:
    match = ExactMatch(concept_id="A", matched_name="symptomatic epilepsy", scope=Scope.LABEL)
    slips = ExactResult(matches=(match,))
    for key, status in (
        ("asymptomatic epilepsy", LinkStatus.NIL),
        ("symptomatik epilepsy", LinkStatus.LINKED),
    ):
        assert decide(key, slips, [], OPTIONS, respelt=True).status is status


def test_a_name_that_is_a_denial_is_found_by_itself() -> None:
    exact = named(("A", Scope.LABEL))
    assert decide("no nausea", exact, [], OPTIONS).status is LinkStatus.LINKED
