"""Writers killed with SIGKILL at random moments, as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = 16


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_killed_writer_loses_nothing_committed_and_no_vector(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tests.collection.killing", str(tmp_path), str(ROUNDS)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    rounds = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rounds) == 3 * ROUNDS
    for one in rounds:
        assert one["encoded"] == one["expected"], one
        assert one["problems"] == [], one
    # The moments were spread: some before, some within, some after the encoding.
    assert any(one["pending"] for one in rounds)
    assert any(one["committed"] for one in rounds)
    assert not all(one["committed"] for one in rounds)
