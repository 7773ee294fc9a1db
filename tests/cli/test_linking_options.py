"""`calibrate`, and the options of linking that depend on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.linking.calibration import NIL_SHARE, SAMPLE
from tests.cli.conftest import Run


def table(path: Path, concepts: int = 70) -> Path:
    rows = ["concept_id\tname\tscope"]
    for number in range(concepts):
        rows += [f"N:{number}\tname {number} of it\tlabel", f"N:{number}\tcalled {number}\texact"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def names(workshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mirror_index.pipeline import build_collection

    folder = tmp_path_factory.mktemp("linking")
    source = table(folder / "names.tsv")
    options = ReadOptions(text_column="name", concept_column="concept_id", scope_column="scope")
    encoder = workshop / "encoder"
    build_collection(source, folder / "c", encoder=encoder, read_options=options).close()
    return folder / "c"


def test_calibrate_reports_what_it_learned(run: Run, names: Path) -> None:
    done = run("calibrate", names, "--json")
    assert done.status == 0, done.err
    (found,) = done.json
    assert found["calibrated"]
    assert found["nil_share"] == NIL_SHARE
    assert found["curve"][0]["coverage"] == 1.0
    assert isinstance(found["word_pairs"], int)
    shown = run("calibrate", names, "--nil-share", "0.5", "--sample", "60")
    assert "nil_share" in shown.out
    assert "curve" not in shown.out
    assert run("calibrate", names, "--nil-share", "1").status == 2


def test_the_defaults_shown_are_those_of_the_library(run: Run) -> None:
    text = " ".join(run("calibrate", "--help").out.split())
    assert f"[default: {NIL_SHARE}]" in text
    assert f"[default: {SAMPLE}]" in text


def test_a_precision_sets_the_threshold_or_says_why_not(run: Run, names: Path) -> None:
    low = run("link", names, "called 7", "--precision", "0.05", "--json")
    assert low.status == 0, low.err
    both = run("link", names, "called 7", "--precision", "0.5", "--min-probability", "0.5")
    assert both.status == 2
    assert "Leave out one of the two" in both.err
    assert run("link", names, "x", "--precision", "2").status == 2


def test_a_type_that_is_not_there_is_named(run: Run, names: Path) -> None:
    done = run("link", names, "called 7", "--type", "Drug")
    assert done.status == 2
    assert "no concept is of this semantic type: 'Drug'" in done.err


def test_evaluating_draws_the_curve(run: Run, names: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("mention\tgold_ids\ncalled 3\tN:3\nnothing\t\n", encoding="utf-8")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    plot = tmp_path / "curve.png"
    done = run("evaluate", "linking", names, gold, "--plot", plot, "--json")
    assert done.status == 0, done.err
    assert done.json[0]["scores"]["curve"][0]["threshold"] == 0.0
    assert plot.read_bytes().startswith(b"\x89PNG")
    shown = run("evaluate", "linking", names, gold)
    assert "curve" not in shown.out


def test_without_matplotlib_a_plot_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror_index.cli import evaluate

    monkeypatch.setattr(evaluate.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(evaluate.UsageError, match="--plot needs matplotlib"):
        evaluate.draw([], tmp_path / "x.png")
