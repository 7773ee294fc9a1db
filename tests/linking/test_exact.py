"""The exact layer's judgement of stored names."""

from __future__ import annotations

from mirror_index.linking.exact import exact_result
from mirror_index.linking.redirects import Redirects
from mirror_index.names import name_key
from mirror_index.records import Concept, Name, Scope
from tests.dictionaries import Build, concept


def judged(build: Build, items: list[Concept], mention: str):  # noqa: ANN201
    collection = build(items)
    key = name_key(mention)
    names = collection.names_by_key([key]).get(key, ())
    return exact_result(mention, names, Redirects(collection))


def test_labels_come_first_then_the_better_scope_then_the_same_spelling(build: Build) -> None:
    items = [
        Concept(id="A", label="a", names=(Name(text="Fits", scope=Scope.RELATED),)),
        Concept(id="B", label="b", names=(Name(text="FITS", scope=Scope.EXACT),)),
        Concept(id="C", label="c", names=(Name(text="fits", scope=Scope.EXACT),)),
        Concept(id="D", label="fits"),
    ]
    result = judged(build, items, "fits")
    assert [match.concept_id for match in result.matches] == ["D", "C", "B", "A"]
    assert [match.matched_name for match in result.matches] == ["fits", "fits", "FITS", "Fits"]
    assert result.certain


def test_two_spellings_of_one_concept_are_one_match(build: Build) -> None:
    result = judged(build, [concept("A", "Löfgren", "LOFGREN", "Lofgren’s")], "lofgren")
    assert [match.matched_name for match in result.matches] == ["Löfgren"]


def test_a_live_name_wins_over_an_obsolete_one(build: Build) -> None:
    items = [
        concept("A", "old name", obsolete=True, replaced_by=("B",)),
        concept("B", "new name"),
        concept("C", "Old name"),
    ]
    result = judged(build, items, "old name")
    assert [match.concept_id for match in result.matches] == ["C"]
    assert result.steps == ()


def test_names_of_several_obsolete_concepts_are_all_followed(build: Build) -> None:
    items = [
        concept("A", "old name", obsolete=True, replaced_by=("X",)),
        concept("B", "old name", obsolete=True, replaced_by=("Y",)),
        concept("X", "x"),
        concept("Y", "y"),
    ]
    result = judged(build, items, "old name")
    assert [match.concept_id for match in result.matches] == ["X", "Y"]
    assert result.certain
    assert len(result.steps) == 2


def test_an_unknown_key_matches_nothing(build: Build) -> None:
    assert judged(build, [concept("A", "a")], "b").matches == ()
