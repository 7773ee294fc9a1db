"""The rule that decides whether tuned weights are kept."""

from __future__ import annotations

import pytest

from mirror_index.tuning.card import Measure
from mirror_index.tuning.guard import judge
from mirror_index.tuning.resampling import Estimate


def measure(
    name: str,
    before: float,
    after: float,
    margin: float | None = 0.01,
    *,
    n: int = 100,
    p: float | None = 0.001,
) -> Measure:
    change = after - before
    bounds = {} if margin is None else {"low": change - margin, "high": change + margin}
    return Measure(
        name=name,
        title=name,
        n=n,
        higher_is_better=True,
        before=Estimate(value=before),
        after=Estimate(value=after),
        change=Estimate(value=change, **bounds),
        p=p,
    )


def altered(acc: tuple[float, float], mrr: tuple[float, float], **kw: float) -> list[Measure]:
    return [measure("altered_acc1", *acc, **kw), measure("altered_mrr", *mrr, **kw)]


def synonym(acc: tuple[float, float], mrr: tuple[float, float], **kw: float) -> list[Measure]:
    return [measure("synonym_acc1", *acc, **kw), measure("synonym_mrr", *mrr, **kw)]


BETTER, SAME, WORSE = (0.5, 0.6), (0.5, 0.505), (0.5, 0.4)
SOUND = [
    measure("mean_cosine", 0.6, 0.2, p=None),
    measure("effective_rank", 100, 120, None, p=None),
]


@pytest.mark.parametrize(
    ("measures", "gain", "reason"),
    [
        (altered(BETTER, BETTER), True, "altered_acc1 rose from 0.500 to 0.600"),
        (altered(WORSE, BETTER), False, "altered_acc1 fell"),
        (altered(SAME, BETTER), True, "altered_mrr rose"),
        (altered(SAME, SAME), False, "altered_acc1 did not move beyond noise"),
        (altered(SAME, WORSE), False, "altered_mrr fell"),
        (synonym(BETTER, SAME) + altered(WORSE, WORSE), True, "synonym_acc1 rose"),
        (synonym(WORSE, SAME) + altered(BETTER, BETTER), False, "synonym_acc1 fell"),
        (synonym(SAME, SAME) + altered(BETTER, BETTER), False, "synonym_acc1 did not move"),
        (altered(BETTER, BETTER, p=0.2), False, "did not move"),
        (altered(BETTER, BETTER, n=7), False, "7 held-out strings are too few"),
        ([], False, "0 held-out strings are too few"),
    ],
)
def test_rule(measures: list[Measure], gain: bool, reason: str) -> None:
    verdict = judge([*measures, *SOUND])
    assert verdict.gain is gain
    assert reason in verdict.reason


WORDS = measure("neighbours_kept", 0.6, 0.7)
ROUNDER = measure("uniformity", -3.0, -3.5, p=None)


@pytest.mark.parametrize(
    ("measures", "gain", "reason"),
    [
        ([*altered(SAME, SAME), WORDS, ROUNDER], True, "neighbours_kept rose from 0.600 to 0.700"),
        ([*altered(SAME, SAME), WORDS, ROUNDER], True, "; uniformity fell from -3.000 to -3.500"),
        ([*altered(WORSE, SAME), WORDS, ROUNDER], False, "altered_acc1 fell"),
        ([*altered(SAME, WORSE), WORDS, ROUNDER], False, "altered_mrr fell"),
        ([*altered(SAME, SAME, n=7), WORDS, ROUNDER], False, "too few"),
        ([*synonym(SAME, SAME), WORDS, ROUNDER], False, "synonym_acc1 did not move"),
        ([*altered(SAME, SAME), WORDS], False, "altered_acc1 did not move"),
        ([*altered(SAME, SAME), ROUNDER], False, "altered_acc1 did not move"),
        (
            [*altered(SAME, SAME), measure("neighbours_kept", 0.6, 0.7, p=0.06), ROUNDER],
            False,
            "altered_acc1 did not move",
        ),
        (
            [*altered(SAME, SAME), measure("neighbours_kept", 0.6, 0.5), ROUNDER],
            False,
            "altered_acc1 did not move",
        ),
        (
            [*altered(SAME, SAME), WORDS, measure("uniformity", -3.0, -3.009, p=None)],
            False,
            "altered_acc1 did not move",
        ),
        (
            [*altered(SAME, SAME), WORDS, measure("uniformity", -3.0, -3.5, None, p=None)],
            False,
            "altered_acc1 did not move",
        ),
    ],
)
def test_without_synonyms_neighbours_decide(
    measures: list[Measure], gain: bool, reason: str
) -> None:
    verdict = judge([*measures, *SOUND])
    assert verdict.gain is gain
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("geometry", "reason"),
    [
        ([measure("mean_cosine", 0.6, 0.97)], "mean cosine rose from 0.600 to 0.970"),
        ([measure("effective_rank", 100, 49, None)], "effective rank fell from 100.0 to 49.0"),
    ],
)
def test_collapse_is_never_a_gain(geometry: list[Measure], reason: str) -> None:
    verdict = judge([*synonym(BETTER, BETTER), *geometry])
    assert not verdict.gain
    assert reason in verdict.reason


def test_a_source_that_is_alike_from_the_start_is_no_collapse() -> None:
    for after, gain in ((0.96, True), (0.98, True), (0.985, True), (0.991, False)):
        geometry = [measure("mean_cosine", 0.98, after), measure("effective_rank", 10, 8, None)]
        assert judge([*altered(BETTER, BETTER), *geometry]).gain is gain


def test_measures_that_were_not_taken_after_tuning_show_no_gain() -> None:
    alone = [
        Measure(name=name, title=name, n=50, higher_is_better=True, before=Estimate(value=0.5))
        for name in ("altered_acc1", "altered_mrr", "mean_cosine", "effective_rank")
    ]
    verdict = judge(alone)
    assert not verdict.gain
    assert "could not be compared" in verdict.reason
