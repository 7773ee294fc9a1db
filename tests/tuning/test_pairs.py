"""Which strings are paired, and which rows of a batch are positives and negatives."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from mirror_index.config import MaskUnit, MirrorConfig, Preset
from mirror_index.tuning.augment import Span, words_of
from mirror_index.tuning.pairs import MAX_PAIRS_PER_CONCEPT, Pair, PairSampler
from mirror_index.tuning.strings import Split


def sampler(
    strings: tuple[str, ...] = (),
    concepts: dict[str, tuple[str, ...]] | None = None,
    mask_token: str | None = "[MASK]",
    **settings: object,
) -> PairSampler:
    parts = Split(
        strings=strings, concepts=concepts or {}, dictionary={}, held_strings=(), held_names=()
    )
    return PairSampler(parts, MirrorConfig(**{"mask_from": 0, **settings}), mask_token)


def plain(left: str, right: str) -> Pair:
    return Pair(left=left, right=right, left_text=left, right_text=right)


def test_identity_pairs_are_each_string_once_with_a_fresh_mask() -> None:
    strings = tuple(f"some phrase number {i}" for i in range(50))
    source = sampler(strings, span_mask=5)
    generator = np.random.default_rng(0)
    first, second = source.epoch(generator), source.epoch(generator)
    assert sorted(pair.left for pair in first) == sorted(strings)
    assert [p.left for p in first] != [p.left for p in second]
    assert all(p.right.count("[MASK]") == 1 and p.left == p.right_text for p in first)
    masks = [{p.left: p.right for p in epoch} for epoch in (first, second)]
    assert masks[0] != masks[1]


@pytest.mark.parametrize("unit", list(MaskUnit))
def test_short_strings_stay_whole(unit: MaskUnit) -> None:
    lengths = range(20, 42)
    strings = tuple("ab c" * 5 + "d" * (length - 20) for length in lengths)
    pairs = sampler(strings, mask=unit, span_mask=1, mask_from=31).epoch(np.random.default_rng(0))
    assert {len(pair.left) for pair in pairs if pair.left != pair.right} == set(range(31, 42))


def test_short_sentences_stay_whole_and_names_are_masked() -> None:
    found = {preset.value: MirrorConfig.for_preset(preset).mask_from for preset in Preset}
    assert found == {"sentence": 31, "phrase": 0, "word": 0}
    assert MirrorConfig().mask_from == 31


def test_without_span_mask_both_views_are_equal() -> None:
    pairs = sampler(("one string", "another one"), span_mask=0).epoch(np.random.default_rng(0))
    assert all(pair.left == pair.right for pair in pairs)


def test_synonym_pairs_are_all_pairs_of_one_concept() -> None:
    concepts = {"A": ("a1", "a2", "a3"), "B": ("b1", "b2"), "C": ("c1",)}
    source = sampler(concepts=concepts)
    pairs = {(p.left, p.right) for p in source.epoch(np.random.default_rng(0))}
    assert pairs == {("a1", "a2"), ("a1", "a3"), ("a2", "a3"), ("b1", "b2")}
    assert source.synonym_pairs == 4


def test_large_concepts_and_the_total_are_capped() -> None:
    big = tuple(f"big {i}" for i in range(30))
    source = sampler(concepts={"A": big})
    pairs = source.epoch(np.random.default_rng(0))
    assert len(pairs) == source.synonym_pairs == MAX_PAIRS_PER_CONCEPT
    assert {(p.left, p.right) for p in pairs} <= set(combinations(big, 2))
    capped = sampler(concepts={"A": big, "B": ("b1", "b2")}, synonym_pairs=7)
    assert len(capped.epoch(np.random.default_rng(0))) == capped.synonym_pairs == 7


def test_synonyms_lead_only_when_there_are_enough() -> None:
    strings = tuple(f"string {i}" for i in range(100))
    concepts = {f"C{i}": (f"l{i}", f"r{i}") for i in range(9)}
    few = sampler(strings, concepts)
    assert (few.synonyms_lead, few.identity_pairs, few.synonym_pairs) == (False, 100, 9)
    concepts |= {"D": ("d1", "d2")}
    many = sampler(strings, concepts)
    assert (many.synonyms_lead, many.identity_pairs, many.synonym_pairs) == (True, 2, 10)
    assert len(many.epoch(np.random.default_rng(0))) == 12


def test_synonyms_can_be_switched_off() -> None:
    source = sampler(("s1", "s2"), {"A": ("a1", "a2")}, synonyms=False)
    assert (source.synonyms_lead, source.synonym_pairs, source.identity_pairs) == (False, 0, 2)


def test_relations_of_a_plain_batch() -> None:
    source = sampler(("x", "y"))
    relations = source.relations([plain("x", "x"), plain("y", "y")])
    expected = np.zeros((4, 4), dtype=bool)
    expected[0, 2] = expected[2, 0] = expected[1, 3] = expected[3, 1] = True
    assert np.array_equal(relations.positives, expected)
    assert np.array_equal(relations.negatives, ~expected & ~np.eye(4, dtype=bool))


def test_near_identical_rows_are_neither() -> None:
    relations = sampler().relations([plain("Fever", "Fever"), plain("fever!", "fever!")])
    assert relations.positives.sum() == 4
    assert not relations.negatives.any()


def test_names_of_one_concept_are_positives_across_pairs() -> None:
    concepts = {"A": ("a1", "a2", "a3"), "B": ("b1", "b2"), "C": ("a3", "c2")}
    batch = [plain("a1", "a2"), plain("b1", "b2"), plain("A3", "c2")]
    relations = sampler(concepts=concepts).relations(batch)
    texts = ["a1", "b1", "a3", "a2", "b2", "c2"]
    for i, left in enumerate(texts):
        for j, right in enumerate(texts):
            related = any(left in names and right in names for names in concepts.values())
            assert relations.positives[i, j] == (related and i != j), (left, right)
            assert relations.negatives[i, j] == (not related), (left, right)


def test_names_of_one_concept_are_left_out_without_synonyms() -> None:
    source = sampler(concepts={"A": ("a1", "a2")}, synonyms=False)
    relations = source.relations([plain("a1", "a1"), plain("a2", "a2"), plain("z", "z")])
    assert relations.positives.sum() == 6
    assert not relations.negatives[0, 1]
    assert relations.negatives[0, 2]


def test_no_mask_token_drops_the_span() -> None:
    pairs = sampler(("abcdefghijklmnopq",), mask_token=None).epoch(np.random.default_rng(0))
    assert len(pairs[0].right) == 12


def test_words_and_tokens_can_be_masked() -> None:
    strings = tuple(f"alpha beta gamma delta epsilon zeta n{i}" for i in range(40))
    parts = Split(strings=strings, concepts={}, dictionary={}, held_strings=(), held_names=())

    def halves(text: str) -> list[Span]:
        return [(i, i + 2) for i in range(0, len(text) - 1, 2)]

    for unit, spans, length in ((MaskUnit.WORD, words_of, 2), (MaskUnit.TOKEN, halves, 3)):
        config = MirrorConfig(mask=unit, span_mask=length)
        pairs = PairSampler(parts, config, "[MASK]", halves).epoch(np.random.default_rng(0))
        for pair in pairs:
            head, _, tail = pair.right.partition("[MASK]")
            start, stop = len(head), len(pair.left) - len(tail)
            assert pair.left == head + pair.left[start:stop] + tail
            inside = [span for span in spans(pair.left) if start <= span[0] and span[1] <= stop]
            assert len(inside) == length
            assert (inside[0][0], inside[-1][1]) == (start, stop)


def test_noise_respells_the_second_view_at_its_chance() -> None:
    strings = tuple(f"some phrase number {i}" for i in range(400))
    shares = {}
    for noise in (0.0, 0.5, 1.0):
        pairs = sampler(strings, span_mask=0, noise=noise).epoch(np.random.default_rng(0))
        assert all(pair.left == pair.left_text == pair.right_text for pair in pairs)
        shares[noise] = np.mean([pair.left != pair.right for pair in pairs])
    assert shares[0.0] == 0.0
    assert 0.4 < shares[0.5] / shares[1.0] < 0.6
    assert shares[1.0] > 0.85  # a number has no case
