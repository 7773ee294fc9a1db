"""Slips of spelling: which keys are one slip away, and what linking makes of them."""

from __future__ import annotations

import pytest

from mirror_index.collection import Collection
from mirror_index.config import LinkOptions
from mirror_index.linking import link
from mirror_index.linking.spelling import respellings
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


def test_respellings_are_one_slip_away_in_a_long_word() -> None:
    found = list(respellings("fever type 1 seizurs"))
    assert "fever type 1 seizures" in found
    assert "fevre type 1 seizurs" in found
    assert all(slips_between("fever type 1 seizurs", key) == 1 for key in found)
    assert all(key.split(" ")[1:3] == ["type", "1"] for key in found)
    # deletions, swaps, replacements and insertions of two words of 5 and 7 letters
    assert len(set(found)) == sum(
        len({w for w in words_one_slip_from(word)}) for word in ("fever", "seizurs")
    )


def words_one_slip_from(word: str) -> set[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    made = {word[:i] + word[i + 1 :] for i in range(len(word))}
    made |= {word[:i] + c + word[i:] for i in range(len(word) + 1) for c in letters}
    made |= {word[:i] + c + word[i + 1 :] for i in range(len(word)) for c in letters}
    for i in range(len(word) - 1):
        made.add(word[:i] + word[i + 1] + word[i] + word[i + 2 :])
    return made - {word}


def test_short_words_and_digits_have_none() -> None:
    assert list(respellings("alt type 12345 b")) == []


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
    ]
    folder = tmp_path_factory.mktemp("spelling") / "c"
    return Collection.build(folder, concepts, encoder=HashEncoder(256))


@pytest.mark.parametrize(
    ("mention", "status", "concept_id"),
    [
        ("Seizurs", LinkStatus.LINKED, "C:1"),
        ("tierdness", LinkStatus.LINKED, "C:4"),
        ("dysphatia", LinkStatus.AMBIGUOUS, "C:2"),
        ("fibs", LinkStatus.NIL, None),
        ("invoice", LinkStatus.NIL, None),
    ],
)
def test_a_slip_is_forgiven_where_it_can_mean_one_name(
    collection: Collection, mention: str, status: LinkStatus, concept_id: str | None
) -> None:
    # The trigram encoder knows slips as well; this threshold leaves them to the spelling layer.
    (answer,) = link(collection, [mention], LinkOptions(min_probability=0.8))
    assert (answer.status, answer.concept_id) == (status, concept_id)
    if concept_id is not None:
        assert answer.method == "spelling"
        assert any("one slip away" in step for step in answer.trace)
        assert answer.score == pytest.approx(1 - 1 / len(mention))
