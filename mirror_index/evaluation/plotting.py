"""Drawing what linking risks for what it covers; matplotlib is loaded here only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from mirror_index.evaluation.linking import CurvePoint


def draw_curve(curve: Sequence[CurvePoint], path: Path) -> None:
    """Draw precision over coverage, with the thresholds written at some points.

    Args:
        curve: points by rising threshold, as of `risk_coverage`.
        path: file to write; its ending says the format.
    """
    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([point.coverage for point in curve], [point.precision for point in curve], marker=".")
    for point in curve[:: max(1, len(curve) // 8)]:
        axes.annotate(
            f"{point.threshold:.2f}",
            (point.coverage, point.precision),
            textcoords="offset points",
            xytext=(2, 4),
            fontsize=7,
        )
    axes.set(
        xlabel="coverage: share of the mentions that is linked",
        ylabel="precision: share of the linked that is right",
        title="Risk and coverage by threshold",
        xlim=(0.0, 1.0),
    )
    figure.savefig(path, dpi=150)
