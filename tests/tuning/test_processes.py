"""Several processes give the loss curve and the weights of one."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mirror_index.config import EncoderConfig, MirrorConfig, Precision
from mirror_index.encoding import load_encoder
from mirror_index.errors import TuningError
from mirror_index.progress import SILENT
from mirror_index.tuning import processes, tune
from mirror_index.tuning.checkpoint import Checkpoint
from mirror_index.tuning.loop import plan, train
from mirror_index.tuning.pairs import PairSampler
from mirror_index.tuning.processes import ALONE, Team, device_of, launched, team
from mirror_index.tuning.strings import Split
from tests.tiny import write_tiny_mlm

Tiny = Callable[[str], Path]
needs_gloo = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()),
    reason="torch was built without gloo",
)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def launcher(name: str) -> list[str]:
    """Return how a program is started in two processes."""
    if name == "torchrun":
        start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        return [*start, "--master-port", str(free_port())]
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    start = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    return [*start, "--main_process_port", str(free_port())]


@needs_gloo
@pytest.mark.slow
@pytest.mark.parametrize("name", ["torchrun", "accelerate"])
def test_two_processes_give_the_loss_curve_of_one(
    name: str, phrases: list[str], tmp_path: Path
) -> None:
    """Under dropout and DropHead, with negatives from all processes, after a warm-up of theirs."""
    base = write_tiny_mlm(tmp_path / "base")
    source = tmp_path / "phrases.txt"
    source.write_text("\n".join(phrases) + "\n", encoding="utf-8")
    config = MirrorConfig(
        batch_size=60,
        max_length=25,
        drophead=0.1,
        precision=Precision.FLOAT32,
        keep=True,
        device="cpu",
        learning_rate=1e-3,
        micro_batch=8,
        checkpoint_every=2,
        mlm_steps=3,
    )
    tune(phrases, tmp_path / "one", encoder=base, config=config)
    command = [*launcher(name), "-m", "mirror_index", "tune"]
    command += [str(source), "-o", str(tmp_path / "two"), "--encoder", str(base)]
    command += (
        "--preset sentence --batch-size 60 --max-length 25 --drophead 0.1 --precision float32 "
        "--keep --device cpu --learning-rate 1e-3 --micro-batch 8 --checkpoint-every 2 "
        "--mlm-steps 3 --json"
    ).split()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 1  # one process reports
    assert json.loads(done.stdout)["kept"]
    told = [
        json.loads((tmp_path / folder / "tuning.json").read_text()) for folder in ("one", "two")
    ]
    for curve, steps in (("losses", 5), ("mlm_losses", 3)):
        assert len(told[0][curve]) == steps
        assert told[1][curve] == pytest.approx(told[0][curve], rel=1e-4)
    one, two, before = (
        load_encoder(tmp_path / folder).encode(phrases) for folder in ("one", "two", "base")
    )
    assert np.abs(one - two).max() < 0.05 * np.abs(one - before).max()  # Adam magnifies rounding
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["base", "one", "phrases.txt", "two"]


@pytest.fixture
def a_team_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a launcher sets for the first of two processes, but with one alone in the group."""
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setattr(processes, "launched", lambda: True)


@needs_gloo
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_a_team_is_joined_and_left(a_team_of_one: None) -> None:
    with team(torch.device("cpu")) as joined:
        assert torch.distributed.is_initialized()
        assert (joined.rank, joined.size, joined.leads) == (0, 1, True)
        # as two processes that hold the same values would
        both = Team(rank=0, size=2)
        value = torch.tensor([2.0, 3.0])
        both.add_up(value)
        assert value.tolist() == [2.0, 3.0]
        weights = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(2, 3))]
        weights[1].grad = torch.ones(2, 3)
        both.add_up_gradients(weights)
        assert weights[0].grad is None
        assert torch.equal(weights[1].grad, torch.ones(2, 3))
        weights[1].grad = None
        both.add_up_gradients(weights)
        assert weights[1].grad is None
    assert not torch.distributed.is_initialized()


def test_alone_nothing_is_joined() -> None:
    assert not launched()
    with team(torch.device("cpu")) as alone:
        assert alone is ALONE
        assert not torch.distributed.is_initialized()
    assert not Team(rank=1, size=2).leads


@pytest.mark.parametrize(
    ("world", "wish", "gpus", "device"),
    [
        ("2", "auto", 4, "cuda:3"),
        ("2", "cuda", 4, "cuda:3"),
        ("2", "cuda", 2, "cuda:1"),
        ("2", "cuda:0", 4, "cuda:0"),
        ("2", "cpu", 4, "cpu"),
        ("2", "auto", 0, "auto"),
        ("1", "auto", 4, "auto"),
    ],
)
def test_each_process_has_a_gpu_of_its_own(
    world: str, wish: str, gpus: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", world)
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert device_of(wish) == device


def test_processes_that_see_other_checkpoints_are_refused(
    tiny: Tiny, phrases: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process of two has done a step that this one's folder does not show."""
    config = MirrorConfig(precision=Precision.FLOAT32)
    parts = Split(
        strings=tuple(phrases), concepts={}, dictionary={}, held_strings=(), held_names=()
    )
    sampler = PairSampler(parts, config, "[MASK]")
    encoder = load_encoder(tiny("bert"), EncoderConfig(device="cpu"))
    monkeypatch.setattr(Team, "add_up", lambda self, tensor: tensor.add_(1))
    with pytest.raises(TuningError, match="do not see the same checkpoint"):
        train(
            encoder,
            sampler,
            config,
            plan(sampler, config, torch.device("cpu")),
            SILENT,
            team=Team(rank=0, size=2),
            checkpoint=Checkpoint(folder=tmp_path, every=1, request={}),
        )
