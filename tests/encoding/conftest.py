"""Tiny encoders of every shape, written once a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny import write_tiny_encoder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    root = tmp_path_factory.mktemp("tiny-encoders")

    def folder(shape: str) -> Path:
        target = root / shape
        return target if target.is_dir() else write_tiny_encoder(target, shape)

    return folder
