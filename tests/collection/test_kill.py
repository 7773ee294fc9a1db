"""Writers killed with SIGKILL at random moments, as real processes; all verbs."""

from __future__ import annotations

import os

import pytest

from benchmarks.fault_kills import VERBS
from benchmarks.faults import outcomes

ROUNDS = 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_killed_writer_loses_nothing_committed_and_no_vector() -> None:
    rounds = outcomes("kills", ROUNDS * len(VERBS))
    assert len(rounds) == ROUNDS * len(VERBS)
    for one in rounds:
        assert one["encoded"] == one["expected"], one
        assert one["problems"] == [], one
    # The moments were spread: some before, some within, some after the encoding.
    assert any(one["pending"] for one in rounds)
    assert any(one["committed"] for one in rounds)
    assert not all(one["committed"] for one in rounds)
