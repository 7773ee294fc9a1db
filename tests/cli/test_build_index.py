"""The options of `build` about the index, as a person types them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from mirror_index.cli.quantities import DURATION, SIZE
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500e6),
        ("500mb", 500e6),
        (" 1.5 GB ", 1.5e9),
        ("2GiB", 2 * 2**30),
        ("1024", 1024.0),
        ("10B", 10.0),
        ("3kB", 3000.0),
    ],
)
def test_sizes(text: str, size: float) -> None:
    assert SIZE.convert(text, None, None) == size


@pytest.mark.parametrize(
    ("text", "ms"), [("5ms", 5.0), ("5", 5.0), ("0.1s", 100.0), ("80us", 0.08)]
)
def test_times(text: str, ms: float) -> None:
    assert DURATION.convert(text, None, None) == pytest.approx(ms)


@pytest.mark.parametrize(
    "bad", ["", "MB", "-5MB", "5 parsecs", "0MB", "1e3", "nan", "٣MB", "5 5MB"]
)
def test_nonsense_is_refused(bad: str) -> None:
    with pytest.raises(click.BadParameter, match="write 500MB or 2GiB"):
        SIZE.convert(bad, None, None)


def test_wishes_reach_the_collection(run: Run, workshop: Path, tmp_path: Path) -> None:
    wishes = ("--dtype", "float16", "--memory", "50MB", "--latency", "20ms", "--recall", 0.9)
    target = tmp_path / "c"
    encoder = ("--encoder", workshop / "encoder")
    built = run("build", workshop / "names.txt", "-o", target, *encoder, *wishes, "--json")
    assert built.status == 0, built.err
    (info,) = run("info", target, "--json").json
    assert info["dtype"] == "float16"
    assert info["index"]["kind"] == "exact"
    assert info["index"]["recall_at_10"] == 1.0
    assert info["bytes"]["vectors"] == info["texts"] * info["dim"] * 2
    (hit,) = run("search", target, "heart attack", "-k", 1, "--json").json
    assert hit["text"] == "heart attack"
    assert run("verify", target, "--recall").status == 0


def test_an_index_that_may_not_be_so_large(run: Run, workshop: Path, tmp_path: Path) -> None:
    target = tmp_path / "c"
    kind = ("--index", "HNSW32", "--memory", "1kB", "--encoder", workshop / "encoder")
    refused = run("build", workshop / "names.txt", "-o", target, *kind)
    assert refused.status == 1
    assert "1.0 kB are allowed" in refused.err
    assert run("info", target).status == 1
    assert run("build", workshop / "names.txt", "-o", target, *kind[4:]).status == 0


@pytest.mark.parametrize(
    "option",
    [("--memory", "lots"), ("--latency", "0"), ("--dtype", "int8"), ("--recall", "1.5")],
)
def test_options_that_mean_nothing(
    run: Run, workshop: Path, tmp_path: Path, option: tuple[str, str]
) -> None:
    refused = run("build", workshop / "names.txt", "-o", tmp_path / "c", *option)
    assert refused.status == 2
    assert option[1] in refused.err
    assert not (tmp_path / "c").exists()
