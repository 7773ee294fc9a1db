"""The card as a picture."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror_index.config import MirrorConfig, Precision
from mirror_index.tuning import saving, tune
from mirror_index.tuning.card import Card, Measure
from mirror_index.tuning.resampling import Estimate

pytest.importorskip("matplotlib")
from mirror_index.tuning import plot

Tiny = Callable[[str], Path]


def measure(name: str, after: Estimate | None, before: Estimate) -> Measure:
    return Measure(
        name=name, title=f"{name}, Acc@1", n=9, higher_is_better=True, before=before, after=after
    )


def card(*measures: Measure) -> Card:
    return Card(measures=measures, kept=True, gain=True, reason="it helped")


def figure_of(monkeypatch: pytest.MonkeyPatch, shown: Card, losses: list[float]) -> object:
    """Return the figure that `draw` would have written."""
    figures = []
    monkeypatch.setattr(plot.Figure, "savefig", lambda self, *_, **__: figures.append(self))
    plot.draw(shown, losses, Path("unused.png"))
    return figures[0]


def test_bars_stand_for_the_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = figure_of(
        monkeypatch,
        card(
            measure("synonym_acc1", Estimate(value=0.6, low=0.5, high=0.7), Estimate(value=0.4)),
            measure("alignment", Estimate(value=1.4), Estimate(value=1.6)),
            measure("altered_mrr", Estimate(value=0.9), Estimate(value=0.8, low=0.7, high=0.95)),
        ),
        [3.0, 2.0, 1.5],
    )
    left, right = figure.axes
    (line,) = left.lines
    assert line.get_xydata().tolist() == [[1, 3], [2, 2], [3, 1.5]]
    heights = [[bar.get_height() for bar in bars] for bars in right.containers if len(bars) == 1]
    assert sorted(height for bars in heights for height in bars) == [0.4, 0.6, 0.8, 0.9]
    assert [label.get_text() for label in right.get_xticklabels()] == [
        "synonym_acc1\nAcc@1",
        "altered_mrr\nAcc@1",
    ]
    assert {text.get_text() for text in right.get_legend().texts} == {"before", "after"}
    assert "kept" in right.get_title()


def test_a_run_that_broke_down_is_drawn_too(tmp_path: Path) -> None:
    nothing = card(measure("altered_acc1", None, Estimate(value=0.4)))
    plot.draw(nothing, [3.0, float("nan")], tmp_path / "a.png")
    plot.draw(card(), [2.0], tmp_path / "b.png")
    for name in ("a.png", "b.png"):
        data = (tmp_path / name).read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = struct.unpack(">II", data[16:24])
        assert width > 800
        assert height > 300


def test_the_folder_holds_the_picture_and_the_curve(
    tiny: Tiny, phrases: list[str], tmp_path: Path
) -> None:
    config = MirrorConfig(batch_size=40, precision=Precision.FLOAT32, device="cpu", epochs=2)
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert (result.folder / "card.png").stat().st_size > 5_000
    losses = json.loads((result.folder / "tuning.json").read_text())["losses"]
    assert len(losses) == result.card.counts["steps"] > 2
    assert losses[-1] == result.card.loss["last"]


def test_without_matplotlib_there_is_a_note_instead(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.tuning.test_resume import Notes

    monkeypatch.setattr(saving.importlib.util, "find_spec", lambda name: None)
    notes = Notes()
    config = MirrorConfig(batch_size=60, precision=Precision.FLOAT32, device="cpu", keep=True)
    result = tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config, reporter=notes)
    assert not (result.folder / "card.png").exists()
    assert any("matplotlib" in said for said in notes.said)
