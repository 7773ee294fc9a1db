"""The card as a picture: the loss of every step, and the measures before and after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from mirror_index.tuning.card import Card, Measure
from mirror_index.tuning.resampling import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARES = ("acc1", "acc5", "mrr")
"""Ends of the names of measures between 0 and 1, which share an axis."""

_SIDES = (("before", "#9aa5b1", -0.2), ("after", "#1f6fb4", 0.2))


def draw(card: Card, losses: Sequence[float], path: Path) -> None:
    """Write a PNG: the loss curve, and a bar before and after with the 95% interval of each.

    Args:
        card: its measures between 0 and 1 are drawn.
        losses: one a step; what is not finite is left out of the line.
        path: of the file to write.
    """
    figure = Figure(figsize=(11, 4), layout="constrained", dpi=120)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
    left.plot(range(1, len(losses) + 1), losses, color="#1f6fb4", marker=".", linewidth=1)
    left.set(title="Loss", xlabel="step", ylabel="loss of the batch")
    _bars(right, [m for m in card.measures if m.name.endswith(_SHARES)])
    verdict = "tuned weights kept" if card.kept else "base encoder kept"
    right.set(title=f"On unseen strings: {verdict}", ylim=(0, 1.05))
    figure.savefig(path, format="png")


def _bars(axes: Axes, measures: Sequence[Measure]) -> None:
    for name, colour, shift in _SIDES:
        for place, measure in enumerate(measures):
            found: Estimate | None = getattr(measure, name)
            if found is None:
                continue
            axes.bar(
                place + shift,
                found.value,
                width=0.38,
                color=colour,
                label=name if place == 0 else None,
                yerr=_whiskers(found),
                capsize=3,
            )
    if measures:
        titles = [measure.title.strip().replace(", ", "\n") for measure in measures]
        axes.set_xticks(range(len(measures)), titles, fontsize=7)
        axes.legend()


def _whiskers(found: Estimate) -> list[list[float]] | None:
    """Return the distances from a value down and up to the ends of its interval."""
    if found.low is None or found.high is None:
        return None
    return [[max(0.0, found.value - found.low)], [max(0.0, found.high - found.value)]]
