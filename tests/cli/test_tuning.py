"""`mirror-index tune`: the guard both ways, and settings that reach the run."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from mirror_index.encoding import load_encoder
from tests.cli.conftest import Run
from tests.tiny import write_tiny_mlm

SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu za".split()


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)  # models this small only lose by waking more


@pytest.fixture(scope="module")
def phrases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(5)

    def word() -> str:
        return "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))

    found: dict[str, None] = {}
    while len(found) < 1000:
        found[" ".join(word() for _ in range(rng.randint(2, 3)))] = None
    return write_lines(tmp_path_factory.mktemp("phrases") / "phrases.txt", list(found))


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [f"Patient {i} took the drug and reported a mild fever." for i in range(300)]
    return write_lines(tmp_path_factory.mktemp("alike") / "alike.txt", lines)


PLAIN = ("--device", "cpu", "--threads", 1, "--precision", "float32", "--batch-size", 100)


def fingerprint(folder: Path) -> str:
    return load_encoder(folder).fingerprint


def test_tuning_that_helps_is_kept(run: Run, workshop: Path, phrases: Path, tmp_path: Path) -> None:
    base, output = workshop / "encoder", tmp_path / "tuned"
    outcome = run(
        "tune", phrases, "-o", output, "--encoder", base, *PLAIN,
        "--learning-rate", 1e-3, "--epochs", 3, "--tau", 0.1, "--require-gain",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    assert "tuned weights kept: altered copies, Acc@1 rose from" in outcome.out
    assert fingerprint(output) != fingerprint(base)
    main = {m["name"]: m for m in json.loads((output / "card.json").read_text())["measures"]}
    change = main["altered_acc1"]["change"]
    assert 0 < change["low"] < change["value"] < change["high"]


@pytest.mark.parametrize(("source", "rate"), [("phrases", 10), ("alike", 0.3)])
def test_tuning_that_hurts_is_not_kept_and_says_why(
    run: Run,
    workshop: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    source: str,
    rate: float,
) -> None:
    """An absurd learning rate; texts that offer nothing to tell apart."""
    base, output = workshop / "encoder", tmp_path / "tuned"
    arguments = (
        "tune", request.getfixturevalue(source), "-o", output, "--encoder", base, *PLAIN,
        "--learning-rate", rate,
    )  # fmt: skip
    outcome = run(*arguments)
    assert outcome.status == 0, outcome.err
    reason = outcome.out.partition("base encoder kept: ")[2].splitlines()[0]
    assert any(word in reason for word in ("collapsed", "fell", "did not move", "broke down"))
    assert fingerprint(output) == fingerprint(base)
    demanding = run(*arguments[:3], tmp_path / "other", *arguments[4:], "--require-gain")
    assert demanding.status == 1
    assert reason in demanding.err
    assert [path.name for path in tmp_path.iterdir()] == ["tuned"]


def test_settings_reach_the_run(run: Run, workshop: Path, alike: Path, tmp_path: Path) -> None:
    outcome = run(
        "tune", alike, "-o", tmp_path / "tuned", "--encoder", workshop / "encoder", *PLAIN,
        "--mask", "word", "--span-mask", 2, "--mask-from", 12, "--noise", 0.5,
        "--loss", "multi-similarity", "--micro-batch", 8,
        "--checkpoint-every", 1, "--no-synonyms", "--json",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    found = json.loads((tmp_path / "tuned" / "tuning.json").read_text())["config"]
    wanted = {
        "mask": "word", "span_mask": 2, "mask_from": 12, "noise": 0.5, "loss": "multi-similarity",
        "micro_batch": 8, "checkpoint_every": 1, "synonyms": False,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    assert [path.name for path in tmp_path.iterdir()] == ["tuned"]


def test_a_warm_up_needs_a_masked_language_model(
    run: Run, workshop: Path, alike: Path, tmp_path: Path
) -> None:
    arguments = ("tune", alike, "-o", tmp_path / "tuned", *PLAIN, "--mlm-steps", 2)
    outcome = run(*arguments, "--encoder", workshop / "encoder")
    assert outcome.status == 1
    assert "no head that predicts masked tokens" in outcome.err
    assert list(tmp_path.iterdir()) == []
    raw = write_tiny_mlm(tmp_path / "raw")
    outcome = run(*arguments, "--encoder", raw, "--json")
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out)["card"]["counts"]["mlm_steps"] == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--micro-batch", 0),
        ("--noise", 1.5),
        ("--noise", -0.1),
        ("--checkpoint-every", -1),
        ("--mlm-steps", -1),
        ("--mask", "letter"),
        ("--loss", "triplet"),
        ("--pooling", "padded-mean"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    run: Run, workshop: Path, alike: Path, tmp_path: Path, option: str, value: object
) -> None:
    arguments = ("tune", alike, "-o", tmp_path / "tuned", "--encoder", workshop / "encoder")
    outcome = run(*arguments, option, value)
    assert outcome.status == 2
    assert option.strip("-").replace("-", "_").split("_")[0] in outcome.err.lower()
    assert list(tmp_path.iterdir()) == []
