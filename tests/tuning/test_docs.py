"""docs/tuning.md says what the code does."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from mirror_index.config import MirrorConfig
from mirror_index.tuning import guard, pairs, probes, strings

TEXT = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")


def rows() -> dict[str, list[str]]:
    """The settings table by its first column."""
    cells = [line.strip("|").split("|") for line in TEXT.splitlines() if line.count("|") == 5]
    return {row[0].strip(): [cell.strip() for cell in row] for row in cells}


def test_every_setting_of_the_table_exists() -> None:
    fields = {field.name for field in dataclasses.fields(MirrorConfig)}
    named = {
        name
        for row in rows().values()
        if len(row) == 4
        for name in re.findall(r"`([a-z_]+)`", row[2])
    }
    assert named <= fields
    # what is not about the method is left to the command-line reference
    plumbing = {"preset", "device", "threads", "held_out", "require_gain", "keep"}
    shown_as_default = {"synonym_learning_rate", "synonym_tau", "synonym_warmup"}
    assert fields - named == plumbing | shown_as_default


def test_every_flaw_names_tests_that_exist() -> None:
    named = re.findall(r"`([a-z]+/test_[a-z0-9_]+\.py)::(test_[a-z0-9_]+)`", TEXT)
    flaws = [line for line in TEXT.splitlines() if line.count("|") == 4 and "::" in line]
    assert len(flaws) == 11
    assert len(named) >= len(flaws)
    tests = Path(__file__).parents[1]
    for file, name in named:
        assert f"def {name}(" in (tests / file).read_text(encoding="utf-8"), name


def test_flags_exist() -> None:
    from mirror_index.cli.tune import command

    known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    launchers, benchmark = (
        {"--nproc-per-node", "--cpu", "--num_processes"},
        {"--sets", "--variants"},
    )
    others = {*launchers, *benchmark, "--seeds", "--tune"}
    assert set(re.findall(r"--[a-z][a-z_-]+", TEXT)) <= known | others


@pytest.mark.parametrize(
    ("setting", "number"),
    [
        ("strings", f"{MirrorConfig().strings:,}"),
        ("batch", str(MirrorConfig().batch_size)),
        ("temperature", str(MirrorConfig().synonym_tau)),
        ("optimiser", "1e-4" if MirrorConfig().synonym_learning_rate == 1e-4 else "?"),
        ("schedule", f"{MirrorConfig().synonym_warmup:.0%}"),
        ("dropout", str(MirrorConfig().dropout)),
        ("synonyms", f"{MirrorConfig().synonym_pairs:,}"),
        ("seed", str(MirrorConfig().seed)),
        ("checkpoints", f"{MirrorConfig().checkpoint_every} steps"),
        ("respelling", f"{MirrorConfig().noise:.0f}"),
    ],
)
def test_defaults(setting: str, number: str) -> None:
    assert number in rows()[setting][3]


@pytest.mark.parametrize(
    "sentence",
    [
        f"at most {pairs.MAX_PAIRS_PER_CONCEPT} a concept",
        f"Fewer than {strings.MIN_STRINGS} distinct strings",
        f"at most {strings.MAX_HELD_OUT:,}; of small sources",
        f"among up to {probes.DICTIONARY_NAMES:,} names",
        f"and {probes.OTHER_STRINGS:,} other strings",
        f"fewer than {guard.MIN_UNITS} held-out units",
        f"rose above {guard.COLLAPSED_COSINE}",
    ],
)
def test_numbers_in_the_text(sentence: str) -> None:
    assert sentence in " ".join(TEXT.split())
