"""Arithmetic in 8-bit integers, asked for on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding import load_encoder
from mirror_index.encoding.arithmetic import cpu_has_int8
from tests.cli.conftest import Run

TEXTS = ("short stature", "broad nose")


@pytest.mark.skipif(not cpu_has_int8(), reason="this CPU has no AVX-512 VNNI")
def test_encode_takes_it(run: Run, tmp_path: Path) -> None:
    names, made = tmp_path / "names.txt", tmp_path / "v.npy"
    names.write_text("\n".join(TEXTS), encoding="utf-8")
    assert run("encode", names, "-o", made, "--precision", "int8").status == 0
    exact = load_encoder(None, EncoderConfig(precision=Precision.FLOAT32)).encode(list(TEXTS))
    cosines = np.einsum("ij,ij->i", np.load(made), exact)
    assert 0.99 <= cosines.min() < cosines.max() < 1.0 - 1e-6


def test_tuning_does_not(run: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"name {n}" for n in range(60)), encoding="utf-8")
    outcome = run("tune", names, "-o", tmp_path / "e", "--precision", "int8")
    assert outcome.status != 0
    assert "tuning runs in float32 or bfloat16" in outcome.err
    assert not (tmp_path / "e").exists()
