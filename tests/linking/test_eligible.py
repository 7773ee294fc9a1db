"""Names that can stand for mentions, against a slow and obvious choice."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mirror_index.collection.nearest import KeyedNames
from mirror_index.linking.examples import FEWEST, eligible
from mirror_index.linking.lexicon import Lexicon
from mirror_index.names import name_key
from mirror_index.store.concepts import KeyedName


def lexicon_with(names: list[tuple[str, str, str]]) -> Lexicon:
    """Arrange (concept, text, scope) triples, those of a concept side by side."""
    keyed = [
        KeyedName(concept, text, name_key(text), scope, row)
        for row, (concept, text, scope) in enumerate(names)
    ]
    return Lexicon.of(KeyedNames(generation=1, texts=len(keyed), names=keyed))


def chosen(names: list[tuple[str, str, str]]) -> list[int]:
    """Compare every name with every other."""
    helpful = []
    for place, (concept, text, _) in enumerate(names):
        own = [other for one, other, _ in names if one == concept]
        others = [other for other in own if name_key(other) != name_key(text)]
        bags = [sorted(name_key(other).split()) for other in others]
        if others and sorted(name_key(text).split()) not in bags:
            helpful.append(place)
    synonyms = [place for place in helpful if names[place][2] != "label"]
    return synonyms if len(synonyms) >= FEWEST else helpful


@pytest.mark.parametrize("concepts", [0, 8, 60])
def test_the_same_as_by_comparing_all(concepts: int) -> None:
    rng = np.random.default_rng(concepts)
    words = ["kappa", "lemma", "mu", "nu", "omega", "pi"]
    names = []
    for number in range(concepts):
        for place in range(int(rng.integers(1, 7))):
            text = " ".join(rng.permutation(words)[: int(rng.integers(1, 4))])
            names.append((f"C{number:02}", text, "exact" if place else "label"))
    assert eligible(lexicon_with(names)).tolist() == chosen(names)


def test_a_concept_of_very_many_names_takes_no_memory_of_their_square() -> None:
    names = [("C1", f"word{number} sign", "exact") for number in range(6000)]
    lexicon = lexicon_with(names)
    tracemalloc.start()
    found = eligible(lexicon)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == len(names)
    assert peak < 8e6
