"""The n-gram index against TF-IDF written out with counters."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror_index.linking import ngrams
from mirror_index.linking.ngrams import NgramIndex

KEYS = ["seizure", "seizures", "acute kidney injury", "kidney injury", "", "a", "αβγ", "aaaa"]


def trigrams(key: str) -> Counter[str]:
    padded = f" {key} "
    return Counter(padded[start : start + 3] for start in range(len(padded) - 2))


def by_hand(keys: list[str], query: str) -> list[float]:
    spread = Counter(gram for key in keys for gram in trigrams(key))

    def weighted(key: str) -> dict[str, float]:
        raw = {
            gram: (1 + math.log(count)) * (math.log((1 + len(keys)) / (1 + spread[gram])) + 1)
            for gram, count in trigrams(key).items()
        }
        norm = math.sqrt(sum(value**2 for value in raw.values())) or 1.0
        return {gram: value / norm for gram, value in raw.items()}

    mine = weighted(query)
    return [sum(mine.get(gram, 0.0) * w for gram, w in weighted(key).items()) for key in keys]


def cosines(index: NgramIndex, query: str) -> np.ndarray:
    grams = index.grams([query])
    return index.cosines(grams, np.array([0, index.size]), np.arange(index.size))


@pytest.mark.parametrize("query", [*KEYS, "seizurs", "zzz", "injury kidney", "b"])
def test_cosines_are_those_of_tf_idf(query: str) -> None:
    index = NgramIndex.of(KEYS)
    assert cosines(index, query).tolist() == pytest.approx(by_hand(KEYS, query), abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("abc d", max_size=12), min_size=1, max_size=20), st.text("abc d"))
def test_cosines_of_any_keys(keys: list[str], query: str) -> None:
    assert cosines(NgramIndex.of(keys), query).tolist() == pytest.approx(
        by_hand(keys, query), abs=1e-4
    )


def test_the_nearest_are_the_largest_cosines() -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(60)]
    keys = [" ".join(rng.choice(words, 3)) for _ in range(400)]
    index = NgramIndex.of(keys)
    queries = [" ".join(rng.choice(words, 2)) for _ in range(20)]
    grams = index.grams(queries)
    for query, found in zip(queries, index.nearest(grams, 5), strict=True):
        exact = np.sort(by_hand(keys, query))[::-1][:5]
        assert cosines(index, query)[found].tolist() == pytest.approx(exact.tolist(), abs=1e-5)
    allowed = np.arange(400) % 2 == 0
    assert all(allowed[found].all() for found in index.nearest(grams, 5, allowed))


def test_the_rarest_ngrams_are_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [f"common name {word}" for word in ("alpha", "beta", "gamma", "delta")] * 20
    index = NgramIndex.of([*keys, "common name zyx"])
    monkeypatch.setattr(ngrams, "POSTINGS", 4)
    assert index.nearest(index.grams(["common name zyx"]), 1)[0].tolist() == [80]


def test_nothing_shared_finds_nothing() -> None:
    index = NgramIndex.of(KEYS)
    assert index.nearest(index.grams(["xyz"]), 5)[0].tolist() == []
    assert NgramIndex.of([]).nearest(index.grams(["seizure"]), 5)[0].tolist() == []
