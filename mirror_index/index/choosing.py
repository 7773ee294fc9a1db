"""Which kinds of index are worth trying for a collection: exact, or FAISS factory strings.

Exact search reads every vector once a query; it needs nothing built, trained, calibrated or held in
memory, and its recall is 1. Inverted lists (IVF) with half a byte for four values (PQ), whose
candidates are scored exactly from the vector file, are as fast as HNSW, built in a fraction of the
time, and held in a twentieth of the memory; HNSW reads fewer rows of a vector file that is not in
memory, and gets closest to a recall of 1. A byte a value (SQ8) and whole vectors (Flat) come last.
The order and the limits are measured: see docs/adr/009.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mirror_index.config import IndexSpec
from mirror_index.errors import CollectionError

EXACT = "exact"
AUTO = "auto"
EXACT_VALUES = 38_400_000
"""Values (rows x dim) up to which exact search is the balance: 100,000 rows of 384."""
HNSW_ROWS = 2_000_000
_PQ_VALUES = 4
"""Values that share one code of four bits."""
_LEAST_LISTS = 64
_MOST_LISTS = 65_536
_ROWS_A_LIST = 39
"""FAISS wants this many rows to train a list on."""

SizeOf = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Kinds to try in this order until one does what is wished for.

    Attributes:
        kinds: "exact" or factory strings, at least one.
        note: what is known already not to be met, None when nothing is.
    """

    kinds: tuple[str, ...]
    note: str | None = None


def is_auto(spec: IndexSpec) -> bool:
    """Return whether the kind is left open."""
    return spec.kind.strip().lower() == AUTO


def choose(
    spec: IndexSpec, rows: int, dim: int, *, scan_ms: Callable[[], float], size_of: SizeOf
) -> Choice:
    """Return the kinds worth building for `rows` rows of `dim` values.

    Args:
        spec: what is wished for.
        rows: distinct texts.
        dim: values of a vector.
        scan_ms: gives the time of one exact search, in milliseconds.
        size_of: gives the bytes that a factory string takes in memory.

    Raises:
        CollectionError: a kind that was asked for by name takes more memory than is allowed.
    """
    wanted = spec.kind.strip()
    if wanted.lower() == EXACT:
        return Choice(kinds=(EXACT,))
    if not is_auto(spec):
        _refuse_too_large(spec, wanted, size_of(wanted))
        return Choice(kinds=(wanted,))
    if spec.recall >= 1.0 or rows < _LEAST_LISTS * _ROWS_A_LIST:
        return Choice(kinds=(EXACT,))
    if _exact_will_do(spec, rows, dim, scan_ms):
        return Choice(kinds=(EXACT,))
    fitting = [kind for kind in _ladder(rows, dim) if size_of(kind) <= _budget(spec)]
    if fitting:
        return Choice(kinds=tuple(fitting))
    return Choice(
        kinds=(EXACT,),
        note=f"no approximate index of {rows:,} texts fits into {_budget(spec):,.0f} bytes; search "
        f"is exact and takes about {scan_ms():.1f} ms",
    )


def _exact_will_do(spec: IndexSpec, rows: int, dim: int, scan_ms: Callable[[], float]) -> bool:
    if spec.latency is not None:
        return scan_ms() <= spec.latency
    return rows * dim <= EXACT_VALUES


def _ladder(rows: int, dim: int) -> Sequence[str]:
    """Return factory strings, the most promising first."""
    lists = lists_for(rows)
    coded = [f"IVF{lists},PQ{dim // _PQ_VALUES}x4fs"] if dim % _PQ_VALUES == 0 else []
    graph = ["HNSW16"] if rows <= HNSW_ROWS else []
    return [*coded, *graph, f"IVF{lists},SQ8", f"IVF{lists},Flat"]


def lists_for(rows: int) -> int:
    """Return the number of inverted lists: a power of two near 4 * sqrt(rows), trainable."""
    wanted = 1 << (4 * math.isqrt(rows)).bit_length() - 1
    trainable = 1 << max(1, rows // _ROWS_A_LIST).bit_length() - 1
    return min(wanted, trainable, _MOST_LISTS)


def memory_of_machine() -> int | None:
    """Return the bytes of physical memory, None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _budget(spec: IndexSpec) -> float:
    """Return the bytes an index may hold: what is allowed, else half of the machine's memory."""
    if spec.memory is not None:
        return spec.memory
    machine = memory_of_machine()
    return math.inf if machine is None else machine / 2


def _refuse_too_large(spec: IndexSpec, kind: str, size: int) -> None:
    if spec.memory is not None and size > spec.memory:
        raise CollectionError(
            f"the index would hold about {size:,} bytes in memory, {spec.memory:,} are allowed",
            value=kind,
            remedy="Allow more memory, or use auto, which takes a kind that fits",
        )
