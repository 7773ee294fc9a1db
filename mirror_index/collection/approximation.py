"""When a collection gets an approximate index, and the state of it that a commit records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirror_index import durable
from mirror_index.config import IndexSpec
from mirror_index.errors import UsageError
from mirror_index.index.choosing import EXACT, choose, is_auto
from mirror_index.index.latency import exact_facts, scan_milliseconds
from mirror_index.progress import Reporter
from mirror_index.store.generations import Generation
from mirror_index.store.layout import ann_file
from mirror_index.vectors import EncoderLike, UnitRows

TAIL_ROWS = 10_000
TAIL_SHARE = 0.2
TRIALS = 3
"""Kinds that `auto` builds at most before it takes the best of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnState:
    """The approximate index of a state; `file` is None when every search is exact."""

    kind: str = EXACT
    file: str | None = None
    rows: int = 0
    sha256: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def make_ann(
    folder: Path,
    current: Generation | None,
    vectors: UnitRows,
    *,
    spec: IndexSpec,
    number: int,
    encoder: Callable[[], EncoderLike],
    rebuild: bool,
    texts: Callable[[Sequence[int]], list[str]],
    reporter: Reporter,
    lenient: bool = False,
) -> AnnState:
    """Keep the current index, or build, calibrate and make durable a new one over all rows.

    With `lenient`, a kind that needs more rows than there are gives way to exact search, which the
    reporter is told; as soon as there are enough rows it is built again.

    Raises:
        CollectionError: the kind that was asked for takes more memory than is allowed.
        UsageError: it cannot be built from these rows.
    """
    if current is not None and not rebuild and _still_good(current, len(vectors)):
        return kept_ann(current)
    rows, dim = vectors.shape
    choice = choose(
        spec,
        rows,
        dim,
        scan_ms=lambda: scan_milliseconds(vectors),
        size_of=lambda kind: size_of_index(kind, rows, dim),
    )
    if choice.note is not None:
        reporter.note(choice.note)
    if choice.kinds[0] == EXACT:
        if current is not None and not rebuild and current.ann_kind == EXACT:
            return kept_ann(current)
        return AnnState(parameters=exact_facts(vectors))
    making = _Making(folder, vectors, spec, number, encoder, texts, reporter)
    try:
        return making.best_of(choice.kinds[:TRIALS])
    except UsageError as error:
        if not lenient:
            raise
        reporter.note(f"search is exact until there are more texts: {error.what}")
        return AnnState(parameters=exact_facts(vectors))


def kept_ann(current: Generation) -> AnnState:
    """Return the approximate index of a committed state."""
    return AnnState(
        kind=current.ann_kind,
        file=current.ann_file,
        rows=current.ann_rows,
        sha256=current.ann_sha256,
        parameters=current.ann_parameters,
    )


def size_of_index(kind: str, rows: int, dim: int) -> int:
    """Return the bytes that a factory string takes in memory; see `index.footprint`."""
    from mirror_index.index.footprint import index_bytes  # faiss is only loaded where it is used

    return index_bytes(kind, rows, dim)


def _still_good(current: Generation, rows: int) -> bool:
    """An index stays while what came after it is small enough to be searched exactly."""
    if current.ann_file is None:
        return False
    tail = rows - current.ann_rows
    return tail <= TAIL_ROWS or tail <= TAIL_SHARE * current.ann_rows


class _Making:
    """Building one index after the other until one does what is wished for."""

    def __init__(
        self,
        folder: Path,
        vectors: UnitRows,
        spec: IndexSpec,
        number: int,
        encoder: Callable[[], EncoderLike],
        texts: Callable[[Sequence[int]], list[str]],
        reporter: Reporter,
    ) -> None:
        self._vectors = vectors
        self._spec = spec
        self._name = ann_file(number)
        self._target = folder / self._name
        self._encoder = encoder
        self._texts = texts
        self._reporter = reporter

    def best_of(self, kinds: Sequence[str]) -> AnnState:
        """Return the first kind that reaches the recall and the latency, else the best one."""
        durable.make_folder(self._target.parent)
        best: AnnState | None = None
        for kind in kinds:
            made = self._make(kind)
            if best is None or self._worth(made) > self._worth(best):
                durable.rename(self._beside, self._target)
                best = made
            if not self._misses(best):
                break
            self._reporter.note(f"{kind}: {self._misses(made)}")
        durable.remove(self._beside)
        assert best is not None  # there is at least one kind
        if len(kinds) > 1 and self._misses(best):
            self._reporter.note(f"nothing that was tried does; taking {best.kind}")
        return best

    @property
    def _beside(self) -> Path:
        return self._target.with_suffix(".writing")

    def _make(self, kind: str) -> AnnState:
        from mirror_index.index.building import build_ann  # faiss is only loaded where it is used
        from mirror_index.index.calibration import calibrate

        rows = len(self._vectors)
        with self._reporter.stage("index", rows, "rows") as advance:
            index = build_ann(self._vectors, kind, advance=advance)
            with durable.stated("write", self._beside):
                index.save(self._beside)
            durable.sync_file(self._beside)
        size = self._beside.stat().st_size
        index.parameters["bytes_per_vector"] = round(size / max(1, rows), 1)
        with self._reporter.stage("calibrate", None, "queries"):
            parameters = calibrate(
                index,
                self._vectors,
                self._encoder(),
                self._texts,
                target_recall=self._spec.recall,
            )
        return AnnState(
            kind=kind,
            file=self._name,
            rows=rows,
            sha256=durable.sha256_of(self._beside),
            parameters=parameters,
        )

    def _misses(self, state: AnnState) -> str:
        """Say what of the wishes a measured index does not do, nothing when it does all."""
        found = state.parameters
        missed = []
        if not found.get("reached", True):
            low, high = found["recall_interval"]
            missed.append(
                f"recall@10 is {found['recall_at_10']} [{low}, {high}] at most, "
                f"{self._spec.recall} was asked for"
            )
        if is_auto(self._spec) and not self._fast(state):
            missed.append(
                f"a search takes {found['p50_ms']} ms, {self._spec.latency} were asked for"
            )
        return "; ".join(missed)

    def _fast(self, state: AnnState) -> bool:
        wish = self._spec.latency
        return wish is None or float(state.parameters.get("p50_ms", 0.0)) <= wish

    def _worth(self, state: AnnState) -> tuple[bool, bool, float]:
        found = state.parameters
        reached = bool(found.get("reached", True))
        return reached, self._fast(state), float(found.get("recall_at_10", 0.0))
