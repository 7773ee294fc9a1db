"""The card's numbers against plain formulas, and what it looks like."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mirror_index.tuning.card import Card, compare, effective_rank
from mirror_index.tuning.probes import Altered, Answers, Dictionary, Probes


def probes() -> Probes:
    """40 held-out strings; typos for all, word order for the first 20."""
    return Probes(
        gallery=tuple(f"text {i}" for i in range(40)),
        held=40,
        altered=(
            Altered(kind="typos", texts=("t",) * 40, rows=np.arange(40)),
            Altered(kind="words", texts=("w",) * 20, rows=np.arange(20)),
            Altered(kind="gap", texts=("g",) * 40, rows=np.arange(40)),
        ),
        dictionary=Dictionary(
            queries=("q",) * 30,
            gold=np.arange(30),
            names=("n",) * 30,
            starts=np.arange(30),
        ),
    )


def answers(seed: int, best: int) -> Answers:
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(40, 8)) + 1.0
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Answers(
        vectors=vectors.astype(np.float32),
        ranks={
            "typos": generator.integers(1, best, size=40),
            "words": generator.integers(1, best, size=20),
            "gap": generator.integers(1, best, size=40),
        },
        distances={
            "typos": generator.random(40),
            "words": generator.random(20),
            "gap": generator.random(40),
        },
        name_ranks=generator.integers(1, best, size=30),
    )


def card_of(before: Answers, after: Answers | None) -> Card:
    return Card(
        measures=compare(probes(), before, after, seed=3),
        kept=True,
        gain=True,
        reason="it helped",
        counts={"held_out_strings": 40},
        loss={"first": 2.0, "last": None},
        base="a",
        tuned="b",
        seconds={"tune": 1.0},
    )


def test_retrieval_numbers() -> None:
    before, after = answers(1, 9), answers(2, 3)
    card = card_of(before, after)
    for name, ranks in (("before", before), ("after", after)):
        got = {measure.name: getattr(measure, name).value for measure in card.measures}
        assert got["synonym_acc1"] == pytest.approx(np.mean(ranks.name_ranks <= 1))
        assert got["synonym_acc5"] == pytest.approx(np.mean(ranks.name_ranks <= 5))
        assert got["synonym_mrr"] == pytest.approx(np.mean([1 / r for r in ranks.name_ranks]))
        assert got["typos_acc1"] == pytest.approx(np.mean(ranks.ranks["typos"] == 1))
        assert got["gap_acc1"] == pytest.approx(np.mean(ranks.ranks["gap"] == 1))


def test_main_measure_averages_untrained_alterations_of_each_string() -> None:
    found = answers(1, 4)
    per_string = []
    for row in range(40):
        asked = [found.ranks["typos"][row]]
        if row < 20:
            asked.append(found.ranks["words"][row])
        per_string.append([np.mean([r == 1 for r in asked]), np.mean([1 / r for r in asked])])
    acc, mrr = np.mean(per_string, axis=0)
    card = card_of(found, None)
    assert card.measure("altered_acc1").before.value == pytest.approx(acc)
    assert card.measure("altered_mrr").before.value == pytest.approx(mrr)
    assert card.measure("altered_acc1").n == 40
    assert card.measure("words_acc1").n == 20


def test_geometry() -> None:
    found = answers(1, 4)
    card = card_of(found, None)
    squared = pdist(found.vectors.astype(np.float64), "sqeuclidean")
    uniformity = math.log(np.mean(np.exp(-2 * squared)))
    assert card.measure("uniformity").before.value == pytest.approx(uniformity)
    assert card.measure("mean_cosine").before.value == pytest.approx(np.mean(1 - squared / 2))
    typos, words = found.distances["typos"], found.distances["words"]
    alignment = np.mean([*(typos[:20] + words) / 2, *typos[20:]])
    assert card.measure("alignment").before.value == pytest.approx(alignment)


def test_effective_rank_counts_directions() -> None:
    assert effective_rank(np.eye(5, dtype=np.float32)) == pytest.approx(5.0)
    assert effective_rank(np.ones((9, 4), dtype=np.float32)) == pytest.approx(1.0, abs=1e-6)


def test_changes_are_paired() -> None:
    before = answers(1, 9)
    card = card_of(before, before)
    for measure in card.measures:
        assert measure.change.value == 0.0
        if measure.change.low is not None:
            assert measure.change.low == measure.change.high == 0.0
            assert measure.before.low <= measure.before.value <= measure.before.high
        if measure.p is not None:
            assert measure.p == 1.0
    assert card.measure("effective_rank").before.low is None
    assert card.measure("uniformity").p is None


def test_clear_changes_have_small_p() -> None:
    before, after = answers(1, 30), answers(1, 30)
    after = Answers(
        vectors=after.vectors,
        ranks=after.ranks,
        distances=after.distances,
        name_ranks=np.ones(30, dtype=np.int64),
    )
    measure = card_of(before, after).measure("synonym_acc1")
    assert measure.p < 0.01
    assert measure.change.low > 0


def test_json_is_plain_and_complete() -> None:
    document = json.loads(
        json.dumps(card_of(answers(1, 9), answers(2, 3)).to_json(), allow_nan=False)
    )
    assert set(document) == {
        "format_version",
        "kept",
        "gain",
        "reason",
        "measures",
        "counts",
        "loss",
        "base",
        "tuned",
        "seconds",
    }
    first = document["measures"][0]
    assert first["name"] == "synonym_acc1"
    assert set(first["change"]) == {"value", "low", "high"}
    alone = card_of(answers(1, 9), None).to_json()["measures"][0]
    assert alone["after"] is alone["change"] is alone["p"] is None


def test_table_shows_every_measure_once() -> None:
    card = card_of(answers(1, 9), answers(2, 3))
    lines = card.render().splitlines()
    for measure in card.measures:
        assert sum(line.startswith(measure.title) for line in lines) == 1
        row = next(line for line in lines if line.startswith(measure.title))
        assert f"{measure.before.value:.3f}" in row
    assert lines[-1] == "tuned weights kept: it helped"
    assert len({len(line) for line in lines[: len(card.measures) + 1]}) == 1
    assert "-" in card_of(answers(1, 9), None).render().splitlines()[1].split()
    assert (
        Card(measures=(), kept=False, gain=False, reason="nothing")
        .render()
        .endswith("base encoder kept: nothing\n")
    )


def test_unknown_measures_are_none() -> None:
    assert card_of(answers(1, 9), None).measure("nope") is None
