"""Interrupted runs go on exactly where they were."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from mirror_index import durable
from mirror_index.config import MirrorConfig, Precision
from mirror_index.errors import NoGainError, TuningError, UsageError
from mirror_index.tuning import loop, tune
from mirror_index.tuning.checkpoint import FILE, Checkpoint, differences, partial_folder

Tiny = Callable[[str], Path]
CONFIG = MirrorConfig(
    batch_size=20,
    epochs=2,
    precision=Precision.FLOAT32,
    device="cpu",
    threads=1,
    checkpoint_every=3,
    drophead=0.1,
    keep=True,
)


class Notes:
    """A reporter that remembers what was said and how far each stage went."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done: dict[str, int] = {}

    @contextmanager
    def stage(
        self, name: str, total: int | None = None, unit: str = "texts"
    ) -> Iterator[Callable[[int], None]]:
        self.done[name] = 0

        def advance(n: int) -> None:
            self.done[name] += n

        yield advance

    def note(self, message: str) -> None:
        self.said.append(message)


class PulledPlugError(Exception):
    """Stands for the end of a process."""


def interrupt(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Break the training off before step `after` (from 0) changes anything."""
    original = loop._Step.__call__

    def step(self: Any, batch: Any, number: int) -> float:
        if number == after:
            raise PulledPlugError
        return original(self, batch, number)

    monkeypatch.setattr(loop._Step, "__call__", step)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(first: Path, second: Path) -> bool:
    a, b = weights(first), weights(second)
    return a.keys() == b.keys() and all(torch.equal(value, b[name]) for name, value in a.items())


@pytest.fixture(scope="module")
def whole(tiny: Tiny, phrases: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole") / "tuned"
    tune(phrases, folder, encoder=tiny("bert"), config=CONFIG)
    return folder


@pytest.mark.parametrize("after", [1, 3, 4, 17, 26])
@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(
    tiny: Tiny,
    phrases: list[str],
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
    precision: Precision,
) -> None:
    config = replace(CONFIG, precision=precision)
    reference = whole
    if precision is Precision.BFLOAT16:
        if after != 17:
            pytest.skip("once is enough")
        reference = tmp_path / "reference"
        tune(phrases, reference, encoder=tiny("bert"), config=config)
    output = tmp_path / "tuned"
    with monkeypatch.context() as patch:
        interrupt(patch, after)
        with pytest.raises(PulledPlugError):
            tune(phrases, output, encoder=tiny("bert"), config=config)
    saved = after // 3 * 3
    assert (partial_folder(output) / FILE).is_file() is (saved > 0)
    notes = Notes()
    tune(phrases[::-1], output, encoder=tiny("bert"), config=config, reporter=notes)
    assert same(output, reference)
    assert notes.done["tune"] == 28
    assert any(f"after step {saved} of 28" in said for said in notes.said) is (saved > 0)
    documents = [json.loads((f / "tuning.json").read_text()) for f in (output, reference)]
    assert documents[0]["losses"] == documents[1]["losses"]
    assert not partial_folder(output).exists()


@pytest.mark.slow
def test_a_killed_process_is_resumed_by_the_same_command(
    tiny: Tiny, phrases: list[str], whole: Path, tmp_path: Path
) -> None:
    source, output = tmp_path / "phrases.txt", tmp_path / "tuned"
    source.write_text("\n".join(phrases) + "\n", encoding="utf-8")
    settings = (
        "--preset sentence --batch-size 20 --epochs 2 --precision float32 --device cpu --threads 1 "
        "--checkpoint-every 3 --drophead 0.1 --keep"
    ).split()
    command = [sys.executable, "-m", "mirror_index", "tune", str(source), "-o", str(output)]
    command += ["--encoder", str(tiny("bert")), *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoint = partial_folder(output) / FILE
    while not checkpoint.is_file() and process.poll() is None:
        time.sleep(0.005)
    time.sleep(random.random() * 0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = output.is_dir()  # the dice may let it get through
    done = subprocess.run(command, capture_output=True, text=True)
    if not finished:
        assert done.returncode == 0, done.stderr
        assert "Going on after step" in done.stderr
    assert same(output, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["phrases.txt", "tuned"]


@pytest.fixture
def broken_off(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    output = tmp_path / "tuned"
    with monkeypatch.context() as patch:
        interrupt(patch, 7)
        with pytest.raises(PulledPlugError):
            tune(phrases, output, encoder=tiny("bert"), config=CONFIG)
    return output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tau": 0.5}, ["tau was 0.04, is 0.5"]),
        ({"epochs": 1, "seed": 2}, ["epochs was 2, is 1", "seed was 33, is 2"]),
        ({"precision": Precision.BFLOAT16}, ["arithmetic was 'float32', is 'bfloat16'"]),
    ],
)
def test_other_settings_are_refused_by_name(
    tiny: Tiny, phrases: list[str], broken_off: Path, changes: dict[str, Any], words: list[str]
) -> None:
    before = (partial_folder(broken_off) / FILE).read_bytes()
    with pytest.raises(UsageError) as caught:
        tune(phrases, broken_off, encoder=tiny("bert"), config=replace(CONFIG, **changes))
    assert all(word in str(caught.value) for word in words)
    assert (partial_folder(broken_off) / FILE).read_bytes() == before


def test_other_texts_and_another_base_are_refused(
    tiny: Tiny, phrases: list[str], broken_off: Path
) -> None:
    with pytest.raises(UsageError, match="texts was"):
        tune(phrases[:-1], broken_off, encoder=tiny("bert"), config=CONFIG)
    with pytest.raises(UsageError, match="encoder was"):
        tune(phrases, broken_off, encoder=tiny("roberta"), config=CONFIG)


def test_what_does_not_change_the_run_may_change(
    tiny: Tiny, phrases: list[str], broken_off: Path, whole: Path
) -> None:
    config = replace(CONFIG, checkpoint_every=0, device="auto")
    tune(phrases, broken_off, encoder=tiny("bert"), config=config)
    assert same(broken_off, whole)


def test_a_damaged_checkpoint_says_what_to_do(
    tiny: Tiny, phrases: list[str], broken_off: Path
) -> None:
    path = partial_folder(broken_off) / FILE
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(TuningError, match="Remove its folder"):
        tune(phrases, broken_off, encoder=tiny("bert"), config=CONFIG)


def test_a_checkpoint_of_a_later_format_is_not_guessed_at(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(model.parameters())
    checkpoint = Checkpoint(folder=tmp_path, every=1, request={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirror_index.tuning.checkpoint.FORMAT_VERSION", 2)
        checkpoint.save(model, optimiser, [1.0])
    with pytest.raises(TuningError, match="format 2, not 1"):
        checkpoint.load(model, optimiser)


def test_the_file_is_plain_and_holds_no_pickle(broken_off: Path) -> None:
    with safe_open(partial_folder(broken_off) / FILE, framework="pt") as file:
        about = json.loads(file.metadata()["run"])
        names = set(file.keys())
    assert len(about["losses"]) == 6
    assert about["request"]["seed"] == 33
    kinds = {name.split("/")[0] for name in names}
    assert kinds == {"weight", "optimiser"}


@pytest.mark.parametrize("operation", ["create", "sync", "rename"])
def test_a_full_disk_names_the_checkpoint_and_keeps_the_last_one(
    tiny: Tiny, phrases: list[str], broken_off: Path, whole: Path, operation: str
) -> None:
    path = partial_folder(broken_off) / FILE
    before = path.read_bytes()
    if operation == "create":
        path.unlink()
        path.parent.rmdir()

    def full(reached: str, where: Path) -> None:
        if reached == operation and ".partial" in str(where):
            raise OSError(28, "No space left on device")

    with durable.watched(full), pytest.raises(TuningError, match="--checkpoint-every 0"):
        tune(phrases, broken_off, encoder=tiny("bert"), config=CONFIG)
    if operation != "create":
        assert path.read_bytes() == before
    tune(phrases, broken_off, encoder=tiny("bert"), config=CONFIG)
    assert same(broken_off, whole)
    assert not partial_folder(broken_off).exists()


def test_a_run_without_gain_leaves_no_checkpoint(
    tiny: Tiny, phrases: list[str], tmp_path: Path
) -> None:
    config = replace(CONFIG, learning_rate=1e-9, keep=False, require_gain=True)
    with pytest.raises(NoGainError):
        tune(phrases, tmp_path / "tuned", encoder=tiny("bert"), config=config)
    assert list(tmp_path.iterdir()) == []


def test_strangers_in_the_folder_stay(tmp_path: Path) -> None:
    folder = tmp_path / "x.partial"
    folder.mkdir()
    (folder / "mine.txt").write_text("precious")
    (folder / FILE).write_text("")
    Checkpoint(folder=folder, every=1, request={}).remove()
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_differences_name_what_changed() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == [
        "b was 2, is 3",
        "c was None, is 4",
    ]
