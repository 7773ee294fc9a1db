"""When a collection gets an approximate index, and the state of it that a commit records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirror_index import durable
from mirror_index.config import IndexSpec
from mirror_index.index.choosing import EXACT, choose_kind
from mirror_index.progress import Reporter
from mirror_index.store.generations import Generation
from mirror_index.store.layout import ann_file
from mirror_index.vectors import EncoderLike, FloatMatrix

TAIL_ROWS = 10_000
TAIL_SHARE = 0.2


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
    vectors: FloatMatrix,
    *,
    spec: IndexSpec,
    number: int,
    encoder: Callable[[], EncoderLike],
    rebuild: bool,
    texts: Callable[[Sequence[int]], list[str]],
    reporter: Reporter,
) -> AnnState:
    """Keep the current index, or build, calibrate and make durable a new one over all rows."""
    kind = choose_kind(spec.kind, len(vectors))
    if kind == EXACT:
        return AnnState()
    if current is not None and not rebuild and _still_good(current, len(vectors)):
        return AnnState(
            kind=current.ann_kind,
            file=current.ann_file,
            rows=current.ann_rows,
            sha256=current.ann_sha256,
            parameters=current.ann_parameters,
        )
    from mirror_index.index.ann import build_ann  # faiss is only loaded where it is used
    from mirror_index.index.calibration import calibrate

    name = ann_file(number)
    target = folder / name
    durable.make_folder(target.parent)
    beside = target.with_suffix(".writing")
    with reporter.stage("index", len(vectors), "rows") as advance:
        index = build_ann(vectors, kind, advance=advance)
        with durable.stated("write", beside):
            index.save(beside)
        durable.sync_file(beside)
        durable.rename(beside, target)
    with reporter.stage("calibrate", None, "queries"):
        parameters = calibrate(index, vectors, encoder(), texts, target_recall=spec.recall)
    if not parameters.get("reached", True):
        reporter.note(
            f"{kind} reaches recall@10 {parameters['recall_at_10']} at most, "
            f"{spec.recall} was asked for"
        )
    return AnnState(
        kind=kind,
        file=name,
        rows=len(vectors),
        sha256=durable.sha256_of(target),
        parameters=parameters,
    )


def _still_good(current: Generation, rows: int) -> bool:
    """An index stays while what came after it is small enough to be searched exactly."""
    if current.ann_file is None:
        return False
    tail = rows - current.ann_rows
    return tail <= TAIL_ROWS or tail <= TAIL_SHARE * current.ann_rows
