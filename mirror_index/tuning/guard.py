"""Whether the tuned weights are worth keeping, decided from the card's measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mirror_index.tuning.card import Measure

MIN_UNITS = 8
"""Fewer held-out strings or names than this show nothing either way."""

SIGNIFICANCE = 0.05
COLLAPSED_COSINE = 0.95
COLLAPSED_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the measures show a gain, and why or why not."""

    gain: bool
    reason: str


def judge(measures: Sequence[Measure]) -> Verdict:
    """Decide whether tuning helped; a tie goes to the base encoder.

    The main measure is the accuracy at 1 on held-out synonyms, else on altered copies. In this
    order:

    1. Collapsed vectors are never a gain: the effective rank fell below half, or the mean cosine
       rose above 0.95 and came half the way to 1 (that of some raw models is above 0.95 before).
    2. Fewer than 8 held-out units show nothing.
    3. The main measure moved beyond noise: a gain, or a loss. Beyond noise means that the 95%
       interval of the change excludes 0 and that a randomisation test at 5% rejects "no change" (a
       bootstrap alone is too sure of few strings).
    4. Within noise, the mean reciprocal rank of the same queries decides if it moved beyond noise;
       it sees changes past the first place.
    5. Strings without synonyms can only be asked for altered, which says little of what they mean.
       Where that stayed within noise, both of these make a gain: more of the neighbours of a string
       remain when it stands between marks, beyond noise, and the vectors spread more evenly (the
       95% interval of the change of uniformity lies below 0; Wang & Isola 2020, arXiv 2005.10242).
       Vectors that collapse do not spread, and vectors that scatter at random keep no
       neighbours.
    """
    found = {measure.name: measure for measure in measures}
    collapse = _collapse(found.get("mean_cosine"), found.get("effective_rank"))
    if collapse:
        return Verdict(gain=False, reason=collapse)
    kind = "synonym" if "synonym_acc1" in found else "altered"
    main, finer = found.get(f"{kind}_acc1"), found.get(f"{kind}_mrr")
    if main is None or finer is None or main.n < MIN_UNITS:
        count = 0 if main is None else main.n
        reason = (
            f"{count} held-out strings are too few to show a gain, at least {MIN_UNITS} "
            "that have a synonym or can be altered are needed"
        )
        return Verdict(gain=False, reason=reason)
    direction = _direction(main)
    if direction:
        return Verdict(gain=direction > 0, reason=_sentence(main, direction))
    if _direction(finer):
        return Verdict(gain=_direction(finer) > 0, reason=_sentence(finer, _direction(finer)))
    neighbours = found.get("neighbours_kept") if kind == "altered" else None
    return _by_neighbours(neighbours, found.get("uniformity")) or Verdict(
        gain=False, reason=_sentence(main, 0)
    )


def _by_neighbours(neighbours: Measure | None, uniformity: Measure | None) -> Verdict | None:
    """Return a gain where strings keep more neighbours and spread more evenly, else None."""
    if neighbours is None or uniformity is None or _direction(neighbours) <= 0:
        return None
    spread = uniformity.change
    if spread is None or spread.high is None or spread.high >= 0:
        return None
    return Verdict(gain=True, reason=f"{_sentence(neighbours, 1)}; {_sentence(uniformity, -1)}")


def _collapse(cosine: Measure | None, rank: Measure | None) -> str | None:
    if rank is not None and rank.after is not None:
        if rank.after.value < COLLAPSED_SHARE * rank.before.value:
            return (
                f"the vectors collapsed: effective rank fell from {rank.before.value:.1f} "
                f"to {rank.after.value:.1f}"
            )
    if cosine is not None and cosine.after is not None:
        before, after = cosine.before.value, cosine.after.value
        if after > COLLAPSED_COSINE and 1 - after < COLLAPSED_SHARE * (1 - before):
            return f"the vectors collapsed: mean cosine rose from {before:.3f} to {after:.3f}"
    return None


def _direction(measure: Measure) -> int:
    """Return 1 or -1 where the change is beyond noise, else 0."""
    change = measure.change
    if change is None or change.low is None or change.high is None:
        return 0
    if measure.p is None or measure.p >= SIGNIFICANCE:
        return 0
    return int(change.low > 0) - int(change.high < 0)


def _sentence(measure: Measure, direction: int) -> str:
    verb = {1: "rose", 0: "did not move beyond noise:", -1: "fell"}[direction]
    before, after, change = measure.before, measure.after, measure.change
    if after is None or change is None or change.low is None or change.high is None:
        return f"{measure.title} could not be compared"
    return (
        f"{measure.title} {verb} from {before.value:.3f} to {after.value:.3f} "
        f"(change {change.value:+.3f}, 95% interval {change.low:+.3f} to {change.high:+.3f})"
    )
