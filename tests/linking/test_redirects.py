"""Following obsolete concepts."""

from __future__ import annotations

from mirror_index.linking.redirects import Redirects
from tests.dictionaries import Build, concept


def old(identifier: str, *targets: str, consider: tuple[str, ...] = ()) -> object:
    return concept(
        identifier, f"old {identifier}", obsolete=True, replaced_by=targets, consider=consider
    )


def test_a_live_concept_leads_to_itself_and_an_alternative_id_to_its_concept(build: Build) -> None:
    redirects = Redirects(build())
    assert redirects.follow("D:1").ids == ("D:1",)
    assert redirects.follow("D:60").ids == ("D:6",)
    assert redirects.follow("D:1").certain


def test_a_chain_is_followed_to_its_end(build: Build) -> None:
    items = [old("A:1", "A:2"), old("A:2", "A:3"), concept("A:3", "live")]
    redirect = Redirects(build(items)).follow("A:1")
    assert redirect.ids == ("A:3",)
    assert redirect.certain
    assert redirect.steps == (
        "redirect: A:1 (obsolete) -> A:2",
        "redirect: A:2 (obsolete) -> A:3",
    )


def test_cycles_missing_targets_and_dead_ends_are_warnings(build: Build) -> None:
    items = [
        old("A:1", "A:2"),
        old("A:2", "A:1"),
        old("B:1", "B:9"),
        old("C:1"),
        old("S:1", "S:1"),
        concept("L:1", "live"),
    ]
    redirects = Redirects(build(items))
    assert redirects.follow("A:1").ids == ()
    assert redirects.follow("A:1").steps[-1] == "warning: the replacements of A:1 run in a circle"
    assert redirects.follow("S:1").steps[-1] == "warning: the replacements of S:1 run in a circle"
    assert redirects.follow("B:1").steps[-1] == "warning: B:9 is not in the collection"
    assert redirects.follow("C:1").steps == ("warning: C:1 is obsolete and nothing replaces it",)
    assert redirects.follow("Z:1").steps == ("warning: Z:1 is not in the collection",)


def test_several_replacements_and_consider_are_uncertain(build: Build) -> None:
    items = [
        old("A:1", "L:2", "L:1"),
        old("B:1", consider=("L:1",)),
        concept("L:1", "one"),
        concept("L:2", "two"),
    ]
    redirects = Redirects(build(items))
    assert redirects.follow("A:1").ids == ("L:2", "L:1")
    assert not redirects.follow("A:1").certain
    assert redirects.follow("B:1").ids == ("L:1",)
    assert not redirects.follow("B:1").certain
    assert redirects.follow("B:1").steps == ("redirect: B:1 (obsolete), consider L:1",)


def test_paths_that_meet_again_are_no_circle(build: Build) -> None:
    items = [
        old("A:1", "A:2", "A:3"),
        old("A:2", "A:4"),
        old("A:3", "A:4"),
        old("A:4", "L:1"),
        concept("L:1", "live"),
    ]
    redirect = Redirects(build(items)).follow("A:1")
    assert redirect.ids == ("L:1",)
    assert not any("circle" in step for step in redirect.steps)
