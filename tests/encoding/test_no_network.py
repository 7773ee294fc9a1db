"""What is on disk is loaded without a look at the network, and a hub is told nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Tiny = Callable[[str], Path]
# In a process of its own, as the hub's library reads its settings once.
PROGRAM = """
import socket, sys

asked = []

def refuse(*place, **_):
    asked.append(place[:2])
    raise OSError("no network here")

socket.getaddrinfo = socket.socket.connect = refuse
import mirror_index
from mirror_index.errors import EncoderError

mirror_index.load_encoder(sys.argv[1]).encode(["a text"])
assert not asked, asked
from huggingface_hub.utils import build_hf_headers

agent = build_hf_headers()["user-agent"]
assert "torch" not in agent, agent
try:
    mirror_index.load_encoder("some-owner/some-model")
except EncoderError as error:
    assert "the model hub did not provide it" in str(error), error
assert asked
"""


@pytest.mark.slow
def test_a_folder_is_loaded_without_the_network(tiny: Tiny, tmp_path: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tiny("bert"))],
        env={**environment, "HF_HOME": str(tmp_path)},
        timeout=120,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
