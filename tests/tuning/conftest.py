"""Tiny encoders of every shape, written once a run, and texts to tune them on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.tiny import write_tiny_encoder

SYLLABLES = "ba ce di fo gu ha ke li mo nu pa re si to vu za".split()


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Models this small only lose by waking more threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("tuning-encoders")

    def folder(shape: str) -> Path:
        target = root / shape
        return target if target.is_dir() else write_tiny_encoder(target, shape)

    return folder


@pytest.fixture(scope="session")
def phrases() -> list[str]:
    """300 distinct two- or three-word phrases."""
    rng = random.Random(5)

    def word() -> str:
        return "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))

    found: dict[str, None] = {}
    while len(found) < 300:
        found[" ".join(word() for _ in range(rng.randint(2, 3)))] = None
    return list(found)
