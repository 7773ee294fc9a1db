"""A build with a stopwatch on each stage, in a process of its own; prints one JSON line.

    python -m benchmarks.profiled_build SOURCE FOLDER THREADS

It does what `mirror-index build` does, and knows the functions of the library that make up the
stages by name: a renamed one is an error here.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.launch import STARTED


class Instant(NamedTuple):
    """A moment on the wall clock and on the clock of the process (all threads)."""

    wall: float
    cpu: float


@dataclass(slots=True)
class Stage:
    """What a stage has taken so far."""

    calls: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


class Stopwatch:
    """Adds up exclusive time by stage: a stage stops while another one runs inside it.

    It starts inside the stage "start of Python".
    """

    def __init__(self, started: float) -> None:
        self.stages: dict[str, Stage] = {}
        self._running: list[Stage] = [self._stage("start of Python")]
        self._since = Instant(started, 0.0)
        self._switch()
        self._running.clear()

    def _stage(self, name: str) -> Stage:
        stage = self.stages.setdefault(name, Stage())
        stage.calls += 1
        return stage

    @contextmanager
    def running(self, stage: str) -> Iterator[None]:
        """Count the block as `stage`."""
        self._switch()
        self._running.append(self._stage(stage))
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def _switch(self) -> None:
        """Give the time since the last change to the innermost stage."""
        now = Instant(time.monotonic(), time.process_time())
        if self._running:
            self._running[-1].seconds += now.wall - self._since.wall
            self._running[-1].cpu_seconds += now.cpu - self._since.cpu
        self._since = now

    def watch(self, owner: Any, name: str, stage: str) -> None:  # noqa: ANN401
        """Replace a function of a module or class by one that is counted."""
        function: Callable[..., Any] = vars(owner)[name]

        @functools.wraps(function)
        def counted(*values: Any, **named: Any) -> Any:  # noqa: ANN401
            with self.running(stage):
                return function(*values, **named)

        setattr(owner, name, counted)

    def watch_items(self, owner: Any, name: str, stage: str) -> None:  # noqa: ANN401
        """Replace a function that returns an iterator by one whose items are counted."""
        function: Callable[..., Iterator[Any]] = vars(owner)[name]

        @functools.wraps(function)
        def counted(*values: Any, **named: Any) -> Iterator[Any]:  # noqa: ANN401
            return self._items(function(*values, **named), stage)

        setattr(owner, name, counted)

    def _items(self, items: Iterator[Any], stage: str) -> Iterator[Any]:
        end = object()
        while True:
            with self.running(stage):
                item = next(items, end)
            if item is end:
                return
            yield item


def watch_stages(watch: Stopwatch) -> None:
    """Put the stopwatch on what a build calls."""
    from mirror_index.collection import Collection, changing
    from mirror_index.encoding import adaptive, known
    from mirror_index.index.vectorfile import VectorWriter
    from mirror_index.pipeline import building
    from mirror_index.store.staging import Staging
    from mirror_index.store.writing import WriteStore

    watch.watch_items(building, "read", "read the source")
    watch.watch(building, "open_encoder", "open the encoder")
    watch.watch(known, "has_fingerprint", "fingerprint of the encoder")
    watch.watch(known.KnownEncoder, "save", "save the encoder")
    watch.watch(adaptive.AdaptiveEncoder, "_load", "load the model into torch")
    watch.watch(changing, "write_encoder", "sync and hash the encoder's files")
    watch.watch(adaptive.AdaptiveEncoder, "encode_audited", "encode")
    watch.watch(Staging, "add_records", "SQLite: stage records")
    watch.watch(WriteStore, "known_hashes", "SQLite: look up texts")
    watch.watch(WriteStore, "add_pending", "SQLite: store texts")
    watch.watch(VectorWriter, "append", "write vectors")
    watch.watch(changing, "make_ann", "index")
    watch.watch(changing.Change, "_commit", "SQLite: commit")
    watch.watch(building, "refit_when_due", "calibrate linking")
    watch.watch(Collection, "__init__", "open the collection")


def main() -> None:
    watch = Stopwatch(float(os.environ[STARTED]))
    source, folder, threads = sys.argv[1:]
    with watch.running("import torch"):
        import torch  # noqa: F401
    with watch.running("import the library"):
        from mirror_index.collection import changing, housekeeping  # noqa: F401
        from mirror_index.config import EncoderConfig, ReadOptions
        from mirror_index.pipeline import build_collection

        watch_stages(watch)
    columns = ReadOptions(text_column="name", concept_column="concept_id", scope_column="kind")
    config = EncoderConfig(device="cpu", threads=int(threads))
    with build_collection(
        source, Path(folder), read_options=columns, encoder_config=config
    ) as built:
        assert built.last_change is not None
    stages = {name: asdict(stage) for name, stage in watch.stages.items()}
    ended = {"wall": time.monotonic(), "cpu": time.process_time()}
    print(json.dumps({"stages": stages, "ended": ended}), flush=True)


if __name__ == "__main__":
    main()
