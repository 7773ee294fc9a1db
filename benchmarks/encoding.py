"""Texts a second of every way to encode, against sentence-transformers, and how faithful it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.harness import (
    Pairs,
    Spread,
    UnavailableError,
    interleave,
    say,
    seconds_of,
    threads,
    workspace,
)
from benchmarks.report import Cell, Column, Result, Table
from mirror_index.config import EncoderConfig, Precision
from mirror_index.encoding import load_encoder, load_query_encoder
from mirror_index.vectors import FloatMatrix

PEER = "sentence-transformers"
_BLOCK = 50
Encode = Callable[[Sequence[str]], FloatMatrix]

_RATES = (
    Column(name="texts"),
    Column(name="n", spec="d"),
    Column(name="path"),
    Column(name="texts/s", spec=",.0f"),
    Column(name="times the peer", spec=".2f"),
    Column(name="lowest pair", spec=".2f"),
    Column(name="highest pair", spec=".2f"),
    Column(name="lowest cosine", spec=".6f"),
    Column(name="mean cosine", spec=".6f"),
)
_LATENCIES = (
    Column(name="path"),
    Column(name="texts, one at a time", spec="d"),
    Column(name="p50 ms", spec=".2f"),
    Column(name="p99 ms", spec=".2f"),
    Column(name="p50, times the peer", spec=".2f"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    names: int
    sentences: int
    checked: int
    single: int
    pairs: int


FULL = _Sizes(names=4000, sentences=2000, checked=200, single=500, pairs=5)
QUICK = _Sizes(names=200, sentences=60, checked=20, single=20, pairs=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paths:
    """The ways to encode, ours by name, and the one-text-at-a-time float32 reference."""

    ours: dict[str, Encode]
    peer: Encode
    reference: Callable[[str], Any]


def run(quick: bool) -> Result:
    """Measure encoding."""
    sizes = QUICK if quick else FULL
    names = data.texts(data.records(data.find(data.HPO)))
    sets = {
        "HPO names": data.sample(names, sizes.names),
        "SciFact sentences": data.sample(list(data.lines(data.SENTENCES)), sizes.sentences),
    }
    with workspace() as folder:
        paths = _load(folder)
        rates = [row for name, texts in sets.items() for row in _rates(name, texts, paths, sizes)]
        latencies = _latencies(sets["HPO names"][: sizes.single], paths)
    return Result(
        title="batches and single texts against sentence-transformers, same weights",
        tables=(
            Table(title="Batches", columns=_RATES, rows=rates),
            Table(title="One text at a time", columns=_LATENCIES, rows=latencies),
        ),
        note=(
            "The peer is SentenceTransformer.encode with its defaults on the same model folder, "
            "in the same process. Each path of ours is timed in turns with it (A B A B); the ratio "
            "is the median over these pairs. Cosines are to the float32 model run on one text at a "
            "time, over a sample of each set, with the vectors of a whole batched run."
        ),
        settings={"threads": threads(), "pairs": sizes.pairs, "cosines over": sizes.checked},
    )


def _load(folder: Path) -> _Paths:
    """Load the same weights for every path."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise UnavailableError("the peer is absent: pip install 'mirror-index[bench]'") from error
    import torch

    from mirror_index.encoding.arithmetic import cpu_has_int8
    from mirror_index.encoding.default import default_encoder_folder

    fast = load_encoder(None, _config(Precision.AUTO))
    plain = load_encoder(None, _config(Precision.FLOAT32))
    plain.save(folder)
    plain.export_onnx(folder)
    peer = SentenceTransformer(str(default_encoder_folder()), device="cpu")
    torch.set_num_threads(threads())
    return _Paths(
        ours={
            f"torch {fast.precision.value}": fast.encode,
            "torch float32": plain.encode,  # the same key where there is no faster arithmetic
            **({"torch int8": _whole_numbers()} if cpu_has_int8() else {}),
            "ONNX float32": load_query_encoder(folder).encode,
        },
        peer=lambda texts: np.asarray(peer.encode(list(texts)), dtype=np.float32),
        reference=plain.encode_reference,
    )


def _whole_numbers() -> Encode:
    return load_encoder(None, _config(Precision.INT8)).encode


def _config(precision: Precision) -> EncoderConfig:
    return EncoderConfig(device="cpu", precision=precision, threads=threads())


def _rates(name: str, texts: Sequence[str], paths: _Paths, sizes: _Sizes) -> list[list[Cell]]:
    """Return a row for each path of ours, and one for the peer over all of its runs."""
    say(f"  {name}: {len(texts)} texts")
    checked = data.sample(range(len(texts)), sizes.checked)
    reference = np.stack([paths.reference(texts[row]) for row in checked])
    rows: list[list[Cell]] = []
    peer_seconds: list[float] = []
    peer_vectors = paths.peer(texts)  # warms up, too
    for label, encode in paths.ours.items():
        vectors = encode(texts)
        pairs = _timed(encode, paths.peer, texts, sizes.pairs)
        peer_seconds += pairs.second
        rate = len(texts) / Spread.of(pairs.first).median
        ratio = pairs.ratio
        rows.append(
            [
                name,
                len(texts),
                label,
                rate,
                ratio.median,
                ratio.low,
                ratio.high,
                *_cosines(vectors[checked], reference),
            ]
        )
    rate = len(texts) / Spread.of(peer_seconds).median
    cosines = _cosines(peer_vectors[checked], reference)
    rows.append([name, len(texts), PEER, rate, 1.0, None, None, *cosines])
    return rows


def _timed(ours: Encode, peer: Encode, texts: Sequence[str], pairs: int) -> Pairs:
    return interleave(
        lambda: seconds_of(lambda: ours(texts)), lambda: seconds_of(lambda: peer(texts)), pairs
    )


def _cosines(vectors: FloatMatrix, reference: FloatMatrix) -> list[float]:
    """Return the lowest and the mean cosine of each row to its reference."""
    left = vectors.astype(np.float64)
    right = reference.astype(np.float64)
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = np.einsum("ij,ij->i", left, right) / norms
    return [float(cosines.min()), float(cosines.mean())]


def _latencies(texts: Sequence[str], paths: _Paths) -> list[list[Cell]]:
    """Time single texts, the paths in turns by blocks: threads of one must not disturb another."""
    ways = {**paths.ours, PEER: paths.peer}
    seconds: dict[str, list[float]] = {label: [] for label in ways}
    for encode in ways.values():
        encode(texts[:1])
    for start in range(0, len(texts), _BLOCK):
        for label, encode in ways.items():
            for text in texts[start : start + _BLOCK]:
                started = time.perf_counter()
                encode([text])
                seconds[label].append(time.perf_counter() - started)
    medians = {label: float(np.median(values)) for label, values in seconds.items()}
    return [
        [
            label,
            len(texts),
            1000 * medians[label],
            1000 * float(np.quantile(values, 0.99)),
            medians[PEER] / medians[label],
        ]
        for label, values in seconds.items()
    ]
