"""Timing single searches, and naming the machine they were timed on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from mirror_index.index.exact import exact_search
from mirror_index.index.halves import first_rows
from mirror_index.vectors import UnitRows

_WARM_UP = 3
_K = 10
_TIMED = 20
_SCANS = 5
_PROBE_ROWS = 512
_PROBE_DIM = 384
_PROBES = 20
_SCANNED_ROWS = 20_000
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def milliseconds(search: Callable[[int], object], count: int) -> dict[str, float]:
    """Call `search` with 0, 1, ... and return p50_ms and p99_ms of `count` calls."""
    times = []
    for place in range(-_WARM_UP, count):
        start = time.perf_counter()
        search(abs(place))
        if place >= 0:
            times.append((time.perf_counter() - start) * 1000)
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3)}


def machine() -> str:
    """Return the architecture and the number of processors."""
    return f"{platform.machine()}, {os.cpu_count()} CPUs"


def threads() -> int:
    """Return the threads that a matrix product uses: the cores there are, or a lower setting."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = (os.environ.get(name, "") for name in _THREAD_SETTINGS)
    return min([cores or 1, *(int(value) for value in settings if value.isdigit() and int(value))])


def exact_facts(vectors: UnitRows) -> dict[str, Any]:
    """Return what exact search over (n, dim) rows does, in the terms of a calibrated index.

    Its recall needs no measuring: what it finds is the definition.
    """
    facts: dict[str, Any] = {
        "recall_at_10": 1.0,
        "recall_interval": [1.0, 1.0],
        "queries": 0,
        "bytes_per_vector": 0.0,
    }
    if len(vectors):
        facts |= _exact_times(vectors, _TIMED)
        facts |= {"threads": threads(), "machine": machine()}
    return facts


def scan_milliseconds(vectors: UnitRows) -> float:
    """Return the median time of an exact search over (n, dim) rows, from a part of them."""
    part = first_rows(vectors, _SCANNED_ROWS)
    return _exact_times(part, _SCANS)["p50_ms"] * len(vectors) / max(1, len(part))


def _exact_times(vectors: UnitRows, count: int) -> dict[str, float]:
    queries = vectors[np.linspace(0, len(vectors) - 1, count).astype(np.int64)]
    return milliseconds(lambda place: exact_search(queries[place][None, :], vectors, _K), count)


@cache
def _bytes_per_millisecond() -> float:
    """Return how fast a product reads a matrix that fits the cache: no scan is faster."""
    rows = np.ones((_PROBE_ROWS, _PROBE_DIM), dtype=np.float32)
    times = milliseconds(lambda place: rows @ rows[place], _PROBES)
    return rows.nbytes / max(1e-6, times["p50_ms"])


def fastest_scan(size: int) -> float:
    """Return the milliseconds below which no search can read `size` bytes on this machine."""
    return size / _bytes_per_millisecond()
