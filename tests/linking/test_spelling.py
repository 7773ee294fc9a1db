"""Slips of spelling: which keys are one slip apart, and what linking makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.collection import Collection
from mirror_index.config import LinkOptions
from mirror_index.linking import calibration, link
from mirror_index.linking.model import DEFAULT_MODEL
from mirror_index.linking.spelling import one_slip
from mirror_index.records import Concept, LinkStatus, Name, Scope
from tests.fakes import HashEncoder


def slips_between(left: str, right: str) -> int:
    """Optimal string alignment distance, written from its definition."""
    table = [
        [max(i, j) if 0 in (i, j) else 0 for j in range(len(right) + 1)]
        for i in range(len(left) + 1)
    ]
    for i in range(1, len(left) + 1):
        for j in range(1, len(right) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (left[i - 1] != right[j - 1]),
            )
            if left[i - 2 : i] == right[j - 2 : j][::-1] and min(i, j) > 1:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@settings(max_examples=300, deadline=None)
@given(st.text("abé", min_size=5, max_size=7), st.text("abé", min_size=3, max_size=8))
def test_one_slip_is_a_distance_of_one(word: str, other: str) -> None:
    assert one_slip(f"type 1 {word}", f"type 1 {other}") == (slips_between(word, other) == 1)


@pytest.mark.parametrize("other", ["seizure", "seizurse", "sizures", "seizurees", "zeizures"])
def test_what_a_slip_is(other: str) -> None:
    assert one_slip("febrile seizures", f"febrile {other}")
    assert not one_slip("febrile seizures", f"febril {other}")


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("alt", "ast"),
        ("type 12345", "type 12346"),
        ("fits", "fit"),
        ("seizure", "seizure"),
        ("sei zure", "seizure"),
        ("seizure one", "seizure"),
    ],
)
def test_short_words_digits_and_spaces_are_left_alone(key: str, other: str) -> None:
    assert not one_slip(key, other)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    def concept(id_: str, label: str, *names: str) -> Concept:
        synonyms = tuple(Name(text=name, scope=Scope.EXACT) for name in names)
        return Concept(id=id_, label=label, names=synonyms)

    concepts = [
        concept("C:1", "Seizure", "Seizures", "Fits"),
        concept("C:2", "Dysphagia"),
        concept("C:3", "Dysphasia"),
        concept("C:4", "Tiredness"),
        concept("C:5", "a\U00020000\u4e8c\u4e09\u56db\u4e94 fever"),
    ]
    folder = tmp_path_factory.mktemp("spelling") / "c"
    return Collection.build(folder, concepts, encoder=HashEncoder(256))


@pytest.mark.parametrize(
    ("mention", "status", "concept_id"),
    [
        ("Seizurs", LinkStatus.LINKED, "C:1"),
        ("tierdness", LinkStatus.LINKED, "C:4"),
        ("dysphatia", LinkStatus.AMBIGUOUS, "C:2"),
        ("a\u4e8c\u4e09\u56db\u4e94 fever", LinkStatus.LINKED, "C:5"),  # four bytes are missing
        ("fibs", LinkStatus.NIL, None),
        ("invoice", LinkStatus.NIL, None),
    ],
)
def test_a_slip_is_forgiven_where_it_can_mean_one_name(
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    mention: str,
    status: LinkStatus,
    concept_id: str | None,
) -> None:
    # The trigram encoder knows slips as well; a model without trust leaves them to this layer.
    monkeypatch.setattr(calibration, "DEFAULT_MODEL", replace(DEFAULT_MODEL, bias=-12.0))
    (answer,) = link(collection, [mention], LinkOptions(min_probability=0.8))
    assert (answer.status, answer.concept_id) == (status, concept_id)
    if concept_id is not None:
        assert answer.method == "spelling"
        assert any("one slip away" in step for step in answer.trace)
        assert answer.score == pytest.approx(1 - 1 / len(mention))
