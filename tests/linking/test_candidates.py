"""Candidates and their features against brute force and values by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.linking import candidates
from mirror_index.linking.candidates import Finder, Pool
from mirror_index.linking.features import FEATURES, SCOPE_PENALTY, Mentions
from mirror_index.linking.lexiconfile import lexicon_of
from mirror_index.linking.space import Space, StaleLexiconError
from mirror_index.linking.translations import Seen, Translations
from mirror_index.linking.words import fold
from mirror_index.names import name_key
from mirror_index.records import Concept, Name, Record, Scope
from tests.dictionaries import Build, concept
from tests.fakes import HashEncoder

ITEMS = [
    Concept(
        id="K:1",
        label="Renal cyst",
        names=(
            Name(text="kidney cyst", scope=Scope.EXACT),
            Name(text="cyst of the left kidney", scope=Scope.NARROW),
        ),
    ),
    concept("K:2", "Renal stone", "kidney stone"),
    concept("K:3", "Renal failure, type 2", "kidney failure type 2"),
    concept("K:4", "Renal failure, type 1"),
    concept("K:5", "Absence of a kidney"),
]


def finder_of(collection: Collection, *, translated: bool = False) -> Finder:
    lexicon = lexicon_of(collection)
    space = Space(collection=collection, lexicon=lexicon)
    if not translated:
        return Finder(space=space, translations=Translations.none(lexicon))
    return Finder(space=space, translations=Translations.learn(lexicon, Seen.of(lexicon)))


def pools_of(finder: Finder, mentions: Sequence[str]) -> list[Pool]:
    vectors = finder.space.collection.encode(mentions)
    return finder.pools(Mentions([name_key(mention) for mention in mentions], vectors))


def features(finder: Finder, mention: str, concept_id: str) -> dict[str, float]:
    (pool,) = pools_of(finder, [mention])
    place = pool.concepts.tolist().index(finder.lexicon.concept_ids.index(concept_id))
    return dict(zip(FEATURES, pool.table[place].tolist(), strict=True))


def test_cosines_are_those_of_the_best_name(build: Build) -> None:
    finder = finder_of(build(ITEMS))
    encoder = HashEncoder(dim=256)
    for mention in ("left kidney cyst", "renal colic", "zzz"):
        vector = encoder.encode([mention])[0].astype(float)
        for item in ITEMS:
            best = max(
                float(encoder.encode([record.text])[0].astype(float) @ vector)
                - SCOPE_PENALTY[record.scope.rank]
                for record in item.records()
                if record.scope is not None
            )
            assert features(finder, mention, item.id)["nearness"] == pytest.approx(best, abs=2e-6)


def test_words_are_shared_by_their_rarity(build: Build) -> None:
    finder = finder_of(build(ITEMS))
    idf = dict(zip(finder.lexicon.vocabulary, finder.lexicon.idf.tolist(), strict=True))
    found = features(finder, "renal stones", "K:2")
    assert found["words"] == 1.0  # a plural is folded
    half = features(finder, "renal colic", "K:2")["words"]
    unknown = max(idf.values())
    assert half == pytest.approx(
        min(idf["renal"] / (idf["renal"] + unknown), idf["renal"] / (idf["renal"] + idf["stone"]))
    )
    assert features(finder, "colic", "K:2")["words"] == 0.0


def test_numbers_opposites_and_negations(build: Build) -> None:
    finder = finder_of(build(ITEMS))
    flags = ("numbers differ", "number missing", "opposites", "negation")

    def of(mention: str, concept_id: str) -> tuple[float, ...]:
        found = features(finder, mention, concept_id)
        return tuple(found[name] for name in flags)

    assert of("renal failure type 2", "K:3") == (0, 0, 0, 0)
    assert of("renal failure type 2", "K:4") == (1, 0, 0, 0)
    assert of("renal failure type 17", "K:4") == (1, 0, 0, 0)
    assert of("renal failure", "K:4") == (0, 1, 0, 0)
    assert of("cyst of the right kidney", "K:1")[2] == 1
    assert of("cyst of the left kidney", "K:1")[2] == 0
    assert of("absence of a kidney", "K:1")[3] == 1
    assert of("lack of kidney", "K:5")[3] == 0


def test_word_pairs_count_words_that_translate_one_another(build: Build) -> None:
    items = [concept(f"P:{word}", f"renal {word}", f"kidney {word}") for word in "abcdef"]
    items.append(concept("P:9", "renal colic"))
    collection = build(items)
    plain, learned = finder_of(collection), finder_of(collection, translated=True)
    assert features(plain, "kidney colic", "P:9")["word pairs"] == 0.0
    found = features(learned, "kidney colic", "P:9")
    numbers = learned.lexicon.vocabulary
    at = learned.translations.bounds[numbers["renal"]]
    assert learned.translations.words[at] == numbers["kidney"]
    weight = learned.translations.weights[at]
    assert weight == pytest.approx(6 / (6 + 0.5))
    idf = learned.lexicon.idf
    kidney, renal, colic = (idf[numbers[word]] for word in ("kidney", "renal", "colic"))
    expected = min(
        (colic + weight * kidney) / (colic + kidney), (colic + weight * renal) / (colic + renal)
    )
    assert found["words"] + found["word pairs"] == pytest.approx(expected)


def test_what_two_halves_of_the_concepts_say_is_what_all_say(build: Build) -> None:
    names = [concept(f"P:{word}", f"renal {word}", f"kidney {word}") for word in "abcdef"]
    lexicon = lexicon_of(build(names))
    half = np.arange(len(lexicon.concept_ids)) % 2 == 0
    both = Seen.of(lexicon, half).and_of(Seen.of(lexicon, ~half))
    whole = Seen.of(lexicon)
    assert both.pairs == pytest.approx(whole.pairs)
    assert both.words == pytest.approx(whole.words)
    assert Seen.of(lexicon, half) != whole


def test_translations_survive_json_and_new_words(build: Build) -> None:
    lexicon = lexicon_of(build(ITEMS))
    learned = Translations.learn(lexicon, Seen.of(lexicon))
    triples = learned.to_json(lexicon)
    again = Translations.from_json(lexicon, [*triples, ["renal", "unheard-of", 0.9]])
    assert again.words.tolist() == learned.words.tolist()
    assert again.weights == pytest.approx(learned.weights, abs=1e-4)


def test_both_legs_have_fixed_sizes(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "DENSE_NAMES", 2)
    monkeypatch.setattr(candidates, "SPELT_NAMES", 1)
    finder = finder_of(build(ITEMS))
    (pool,) = pools_of(finder, ["renal cyst"])
    assert (pool.dense, len(pool.spelt), pool.path) == (2, 1, "exact")
    assert finder.lexicon.texts[pool.spelt[0]] == "Renal cyst"


def test_a_batch_changes_nothing(build: Build) -> None:
    finder = finder_of(build(ITEMS), translated=True)
    mentions = ["kidney cyst", "zzz", "no kidneys", "renal failure 1"]
    for whole, mention in zip(pools_of(finder, mentions), mentions, strict=True):
        (alone,) = pools_of(finder, [mention])
        assert alone.concepts.tolist() == whole.concepts.tolist()
        assert alone.table == pytest.approx(whole.table)


def test_names_left_out_and_names_allowed(build: Build) -> None:
    collection = build(ITEMS)
    finder = finder_of(collection)
    lexicon = finder.lexicon
    mentions = Mentions(["renal cyst"], collection.encode(["renal cyst"]))
    (without,) = finder.pools(mentions, lambda _, names: lexicon.concept_of[names] == 0)
    assert without.concepts.tolist() == [1, 2, 3, 4]
    some = Finder(
        space=finder.space,
        translations=finder.translations,
        allowed=lexicon.concept_of > 2,
    )
    (pool,) = some.pools(mentions)
    assert pool.concepts.tolist() == [3, 4]


def test_plain_records_are_passed_over(build: Build) -> None:
    notes = [Record(id=f"note {n}", text=f"headache note {n}") for n in range(60)]
    finder = finder_of(build([*notes, concept("D:7", "headache diary"), concept("D:8", "stone")]))
    (pool,) = pools_of(finder, ["headache note"])
    assert {finder.lexicon.concept_ids[one] for one in pool.concepts} == {"D:7", "D:8"}


def test_further_concepts_come_by_cosine(build: Build) -> None:
    collection = build([concept(f"C:{n:03}", f"name number {n}") for n in range(120)])
    finder = finder_of(collection)
    vector = collection.encode(["name number 7"])
    found = finder.further(vector, 0, 100, None)
    cosines = collection.vectors_of(finder.lexicon.rows.tolist()) @ vector[0]
    assert len(found) >= 100
    assert [cosine for _, cosine in found] == pytest.approx(
        np.sort(cosines)[::-1][: len(found)].tolist(), abs=1e-5
    )


def test_a_change_of_the_collection_is_noticed(build: Build) -> None:
    collection = build(ITEMS)
    finder = finder_of(collection)
    collection.add([concept("K:9", "Horseshoe kidney")])
    with pytest.raises(StaleLexiconError) as caught:
        pools_of(finder, ["kidney"])
    fresh = lexicon_of(collection, caught.value.generation)
    assert "K:9" in fresh.concept_ids
    assert lexicon_of(collection) is fresh


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("seizures", "seizure"),
        ("biopsies", "biopsy"),
        ("diagnosis", "diagnosis"),
        ("diagnoses", "diagnosis"),
        ("abscess", "abscess"),
        ("abscesses", "abscess"),
        ("haemorrhage", "hemorrhage"),
        ("tumour", "tumor"),
        ("virus", "virus"),
        ("gas", "gas"),
        ("p53s", "p53s"),
    ],
)
def test_folding(word: str, folded: str) -> None:
    assert fold(word) == folded
