"""A process forked off one that has encoded or searched answers, and answers the same."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mirror_index.config import EncoderConfig, Pooling
from mirror_index.encoding import load_encoder, load_query_encoder
from mirror_index.encoding.transformer import TransformerEncoder
from mirror_index.errors import EncoderError, EncoderMismatchError
from mirror_index.vectors import FloatMatrix

Tiny = Callable[[str], Path]
# In a process of its own: a fork of the test's would have the threads of all tests before it.
ENCODE = """
import os, sys
import numpy as np
import torch
from mirror_index import EncoderConfig, load_encoder

texts = ["a", "b"] * 30  # few, so that all threads work on one batch
encoder = load_encoder(sys.argv[1], EncoderConfig(device="cpu", threads=2))
vectors = encoder.encode(texts)
child = os.fork()
if child == 0:
    again = load_encoder(sys.argv[1], EncoderConfig(device="cpu", threads=2))
    same = np.allclose(encoder.encode(texts), vectors, atol=1e-5)
    os._exit(0 if same and np.allclose(again.encode(texts), vectors, atol=1e-5) else 5)
assert os.waitpid(child, 0)[1] == 0
assert torch.get_num_threads() == 2
"""
SEARCH = """
import os, sys
from pathlib import Path
import numpy as np
from mirror_index import IndexSpec, build_collection

folder = Path(sys.argv[1])
vectors = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
np.save(folder / "v.npy", vectors)
(folder / "t.txt").write_text("".join(f"text {n}\\n" for n in range(3000)))
spec = IndexSpec(kind="IVF16,Flat")
with build_collection(
    folder / "t.txt", folder / "c", vectors=folder / "v.npy", spec=spec
) as collection:
    rows = collection.nearest(vectors[:500], k=5).rows
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(collection.nearest(vectors[:500], k=5).rows, rows) else 5)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("script", ["encode", "search"])
def test_a_forked_process_does_not_wait_for_threads_it_has_not(
    tiny: Tiny, tmp_path: Path, script: str
) -> None:
    place, program = (tiny("bert"), ENCODE) if script == "encode" else (tmp_path, SEARCH)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(place)],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        timeout=120,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def answer(encoder: TransformerEncoder) -> tuple[int, str, FloatMatrix]:
    return os.getpid(), encoder.fingerprint, encoder.encode(["a", "b c"])


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_pickled_encoder_is_loaded_where_it_is_unpickled(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    shutil.copytree(tiny("bert"), tmp_path / "base")
    monkeypatch.chdir(tmp_path)
    encoder = load_encoder("base", EncoderConfig(device="cpu", pooling=Pooling.CLS, threads=1))
    packed = pickle.dumps(encoder)
    monkeypatch.chdir("/")  # a relative name is that of the folder it was
    assert len(packed) < 2000
    again = pickle.loads(packed)
    assert (again.fingerprint, again.config, again.recipe) == (
        encoder.fingerprint,
        encoder.config,
        encoder.recipe,
    )
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        process, fingerprint, vectors = pool.submit(answer, again).result()
    assert (process != os.getpid(), fingerprint) == (True, encoder.fingerprint)
    np.testing.assert_array_equal(vectors, encoder.encode(["a", "b c"]))


def test_a_pickled_encoder_is_bound_to_what_it_was(tiny: Tiny, tmp_path: Path) -> None:
    base = tmp_path / "base"
    shutil.copytree(tiny("bert"), base)
    packed = pickle.dumps(load_encoder(base))
    shutil.rmtree(base)
    with pytest.raises(EncoderError, match="no such encoder folder"):
        pickle.loads(packed)
    load_encoder(tiny("bert"), EncoderConfig(pooling=Pooling.CLS)).save(base)
    with pytest.raises(EncoderMismatchError, match="fingerprint"):
        pickle.loads(packed)


def test_any_other_encoder_cannot_be_pickled(tiny: Tiny, tmp_path: Path) -> None:
    base = load_encoder(tiny("bert"))
    made = TransformerEncoder(base.model, base.tokenizer, base.recipe)
    for carry in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="save it"):
            carry(made)
    made.save(tmp_path / "ours")
    made.export_onnx(tmp_path / "ours")
    with pytest.raises(TypeError, match="one that load_encoder made can"):
        pickle.dumps(load_query_encoder(tmp_path / "ours"))
