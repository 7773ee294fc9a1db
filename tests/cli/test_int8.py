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


needs_int8 = pytest.mark.skipif(not cpu_has_int8(), reason="this CPU has no AVX-512 VNNI")


@needs_int8
def test_encode_takes_it(run: Run, tmp_path: Path) -> None:
    names, made = tmp_path / "names.txt", tmp_path / "v.npy"
    names.write_text("\n".join(TEXTS), encoding="utf-8")
    assert run("encode", names, "-o", made, "--precision", "int8").status == 0
    exact = load_encoder(None, EncoderConfig(precision=Precision.FLOAT32)).encode(list(TEXTS))
    cosines = np.einsum("ij,ij->i", np.load(made), exact)
    assert 0.99 <= cosines.min() < cosines.max() < 1.0 - 1e-6


@needs_int8
def test_a_collection_of_given_vectors_knows_its_encoder_again(run: Run, tmp_path: Path) -> None:
    names, vectors = tmp_path / "names.csv", tmp_path / "v.npy"
    names.write_text("id,text\n1,short stature\n2,heart attack\n", encoding="utf-8")
    assert run("encode", names, "-o", vectors).status == 0
    given = ("--vectors", vectors, "--encoder", "default", "--precision", "int8")
    assert run("build", names, "-o", tmp_path / "c", *given).status == 0
    assert run("verify", tmp_path / "c").status == 0


def test_tuning_does_not(run: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"name {n}" for n in range(60)), encoding="utf-8")
    outcome = run("tune", names, "-o", tmp_path / "e", "--precision", "int8")
    assert outcome.status != 0
    assert "tuning runs in float32 or bfloat16" in outcome.err
    assert not (tmp_path / "e").exists()
