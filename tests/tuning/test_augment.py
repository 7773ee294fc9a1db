"""Span masks and alterations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.tuning.augment import (
    ALTERATIONS,
    gap,
    mask_span,
    mask_units,
    respell,
    typos,
    word_order,
    words_of,
)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.text(max_size=60), st.integers(0, 12), st.integers(0, 2**32))
def test_one_span_of_the_documented_length_is_masked(text: str, length: int, seed: int) -> None:
    masked = mask_span(text, length, "\x00MASK\x00", np.random.default_rng(seed))
    span = min(length, len(text) // 3)
    if span == 0:
        assert masked == text
        return
    left, right = masked.split("\x00MASK\x00")
    assert text.startswith(left)
    assert text.endswith(right)
    assert len(left) + len(right) == len(text) - span


def test_the_drawn_position_is_masked_though_the_span_occurs_earlier() -> None:
    text = "abab" * 10
    masked = {mask_span(text, 5, "#", np.random.default_rng(seed)) for seed in range(400)}
    assert masked == {f"{text[:i]}#{text[i + 5 :]}" for i in range(36)}


def test_every_position_is_equally_likely_the_end_included() -> None:
    generator = np.random.default_rng(0)
    places = Counter(mask_span("abcdefghij", 3, "#", generator).index("#") for _ in range(4_000))
    assert set(places) == set(range(8))
    assert min(places.values()) > 400  # expected 500, standard deviation 21
    assert max(places.values()) < 600


@pytest.mark.parametrize(
    ("text", "left"), [("acne", 3), ("ab", 2), ("a", 1), ("", 0), ("fever", 4), ("x" * 15, 10)]
)
def test_short_strings_keep_most_of_themselves(text: str, left: int) -> None:
    masked = mask_span(text, 5, None, np.random.default_rng(0))
    assert len(masked) == left


def test_typos_are_a_few_edits() -> None:
    generator = np.random.default_rng(0)
    for text in ("fever", "x", "generalised onset myoclonic-tonic-clonic seizure"):
        edits = 1 + len(text) // 12
        for _ in range(50):
            altered = typos(text, generator)
            assert abs(len(altered) - len(text)) <= edits
            assert altered
    assert len({typos("fever", generator) for _ in range(200)}) > 10


def test_words_are_swapped_and_one_is_dropped() -> None:
    generator = np.random.default_rng(0)
    assert word_order("fever", generator) == "fever"
    assert word_order("high fever", generator) == "fever high"
    seen = {word_order("a b c", generator) for _ in range(100)}
    assert seen == {"b a", "c a", "c b"}


def test_a_gap_takes_a_third() -> None:
    altered = gap("abcdefghi", np.random.default_rng(1))
    assert len(altered) == 6


def test_alterations_are_reproducible() -> None:
    for alter in ALTERATIONS.values():
        first, second = (alter("one two three four", np.random.default_rng(7)) for _ in range(2))
        assert first == second


@pytest.mark.parametrize(("length", "masked"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_a_run_of_words_is_masked(length: int, masked: int) -> None:
    text = "one two  three four five six"
    found = {mask_units(text, words_of(text), length, "[M]", rng(seed)) for seed in range(60)}
    for altered in found:
        head, mark, tail = altered.partition("[M]")
        assert bool(mark) is (masked > 0)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head.split()) + len(tail.split()) == 6 - masked
    if masked:
        assert len(found) == 7 - masked
        assert any(altered.endswith("[M]") for altered in found)
        assert any(altered.startswith("[M]") for altered in found)


def test_units_may_touch_and_need_no_mask_token() -> None:
    spans = [(0, 2), (2, 4), (4, 6)]
    found = {mask_units("aabbcc", spans, 1, None, rng(seed)) for seed in range(40)}
    assert found == {"bbcc", "aacc", "aabb"}
    assert mask_units("ab", [(0, 1), (1, 2)], 1, "[M]", rng(0)) == "ab"


def test_respelling_changes_one_place() -> None:
    text = "Type II diabetes, insulin-dependent"
    found = {respell(text, rng(seed)) for seed in range(300)}
    assert len(found) > 20
    for altered in found:
        assert len(altered) == len(text)
        changed = [i for i, (a, b) in enumerate(zip(text, altered, strict=True)) if a != b]
        if altered.lower() == text.lower():  # a word changed its case
            assert len(altered[min(changed, default=0) : max(changed, default=0) + 1].split()) <= 1
        else:
            assert len(changed) == 1
    assert any(altered != text and altered.lower() == text.lower() for altered in found)
    assert any("'" in altered or "/" in altered or "." in altered for altered in found)


@pytest.mark.parametrize("text", ["", "7", "ж", "é", " ", "---", "日本語"])
def test_respelling_takes_any_text(text: str) -> None:
    for seed in range(30):
        assert len(respell(text, rng(seed))) == len(text)
