"""Sampling and the held-out split, against plain sets and dicts."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.config import MirrorConfig
from mirror_index.errors import TuningError
from mirror_index.records import Concept, Name, Record, Rejected, Scope, normalise_text
from mirror_index.tuning.strings import MAX_HELD_OUT, Corpus, collect, near_key, split


def dictionary(concepts: int = 60, names: int = 4) -> list[Record]:
    return [
        Record(id=f"{c}-{n}", text=f"name {n} of thing {c}", concept_id=f"C{c}")
        for c in range(concepts)
        for n in range(names)
    ]


@given(st.lists(st.text(max_size=8)), st.randoms())
def test_everything_is_kept_when_it_fits(texts: list[str], rng: random.Random) -> None:
    corpus = collect(texts, size=10_000, seed=1)
    assert set(corpus.strings) == {normalise_text(text) for text in texts} - {""}
    assert len(corpus.strings) == len(set(corpus.strings))
    shuffled = texts * 2
    rng.shuffle(shuffled)
    assert collect(shuffled, size=10_000, seed=1).strings == corpus.strings


def test_sample_is_distinct_seeded_and_blind_to_order_and_repetition() -> None:
    texts = [f"text {i}" for i in range(500)]
    corpus = collect(texts, size=40, seed=1)
    assert len(set(corpus.strings)) == 40
    assert collect(texts[::-1] + texts[:250] * 3, size=40, seed=1).strings == corpus.strings
    assert set(collect(texts, size=40, seed=2).strings) != set(corpus.strings)


def test_sample_is_close_to_uniform() -> None:
    texts = [f"text {i}" for i in range(50)]
    hits = dict.fromkeys(texts, 0)
    for seed in range(400):
        for text in collect(texts, size=10, seed=seed).strings:
            hits[text] += 1
    assert min(hits.values()) > 45  # expected 80, standard deviation 8
    assert max(hits.values()) < 115


def test_every_kind_of_item_is_read() -> None:
    items = [
        "plain\u00a0 text",
        Record(id="1", text="record"),
        Record(id="2", text="a name", concept_id="C1"),
        Concept(id="C1", label="label", names=(Name(text="a name", scope=Scope.EXACT),)),
        Concept(id="C2", label="gone", obsolete=True),
        Rejected(line=4, reason="bad"),
        Rejected(line=5, reason="empty", skipped=True),
        "   ",
    ]
    corpus = collect(items, size=100, seed=1)
    assert set(corpus.strings) == {"plain text", "record", "a name", "label"}
    assert corpus.concepts == {"C1": ("a name", "label")}
    assert (corpus.items, corpus.rejected, corpus.quarantined) == (8, 2, 1)


def test_concepts_are_sampled_whole() -> None:
    records = dictionary(concepts=50, names=4)
    random.Random(0).shuffle(records)
    concepts = collect(records, size=10, seed=1, names=30).concepts
    assert len(concepts) == 7
    assert {len(names) for names in concepts.values()} == {4}
    again = collect(sorted(records, key=lambda r: r.id), size=10, seed=1, names=30).concepts
    assert set(again) == set(concepts)


def test_one_concept_larger_than_the_limit_is_kept() -> None:
    records = [Record(id=str(i), text=f"name {i}", concept_id="C") for i in range(20)]
    assert len(collect(records, size=10, seed=1, names=5).concepts["C"]) == 20


def test_nothing_held_out_has_a_twin_in_training() -> None:
    texts = [f"{w} {i}" for i in range(100) for w in ("Fever", "fever", "FEVER,", "  fever")]
    corpus = collect([*texts, *dictionary()], size=1_000, seed=3)
    parts = split(corpus, MirrorConfig(held_out=0.3))
    held = {near_key(t) for t in parts.held_strings} | {near_key(n.text) for n in parts.held_names}
    assert not held & {near_key(text) for text in parts.strings}
    assert not held & {near_key(t) for names in parts.concepts.values() for t in names}
    assert len({near_key(t) for t in parts.strings}) == len(parts.strings)


def test_held_names_can_be_found_by_another_name_only_of_their_own_concept() -> None:
    shared = [Record(id=f"s{c}", text="everywhere", concept_id=f"C{c}") for c in range(60)]
    twins = [Record(id=f"t{c}", text=f"NAME 0 of thing {c}", concept_id=f"C{c}") for c in range(60)]
    parts = split(
        collect([*dictionary(names=2), *shared, *twins], size=1_000, seed=3), MirrorConfig()
    )
    assert len(parts.held_names) == 15
    for name in parts.held_names:
        assert name.text == f"name 1 of thing {name.concept_id[1:]}"
        others = parts.dictionary[name.concept_id]
        assert set(others) == {
            f"name 0 of thing {name.concept_id[1:]}",
            f"NAME 0 of thing {name.concept_id[1:]}",
            "everywhere",
        }


def test_concepts_of_one_name_hold_nothing_out() -> None:
    parts = split(collect(dictionary(names=1), size=1_000, seed=3), MirrorConfig())
    assert parts.held_names == ()


@pytest.mark.parametrize(
    ("count", "share", "held"),
    [(16, 0.1, 4), (100, 0.1, 16), (400, 0.1, 40), (400, 0.5, 200), (2_000, 0.9, 1_000)],
)
def test_how_many_strings_are_held_out(count: int, share: float, held: int) -> None:
    corpus = collect((f"text {i}" for i in range(count)), size=5_000, seed=1)
    parts = split(corpus, MirrorConfig(held_out=share))
    assert len(parts.held_strings) == held <= MAX_HELD_OUT
    assert len(parts.strings) == count - held


def test_training_strings_are_capped_after_holding_out() -> None:
    corpus = collect((f"text {i}" for i in range(500)), size=1_100, seed=1)
    parts = split(corpus, MirrorConfig(strings=100))
    assert (len(parts.strings), len(parts.held_strings)) == (100, 16)


def test_nothing_is_held_out_when_asked() -> None:
    corpus = collect([*dictionary()], size=1_000, seed=1)
    parts = split(corpus, MirrorConfig(held_out=0.0, keep=True))
    assert parts.held_strings == parts.held_names == ()


@pytest.mark.parametrize(
    "texts",
    [["a", "b", "c"], ["Fever!" + "!" * i for i in range(40)], [f"t{i}" for i in range(15)]],
)
def test_too_few_distinct_strings_are_refused(texts: Iterable[str]) -> None:
    corpus: Corpus = collect(texts, size=100, seed=1)
    with pytest.raises(TuningError, match=r"distinct strings are too few .* 16 are needed"):
        split(corpus, MirrorConfig())
