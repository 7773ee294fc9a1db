"""Forward passes side by side on the cores of a CPU.

Two batches on a core each beat one batch on two cores: the many small operations of a small encoder
then meet no barrier, and run where the other core would have waited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

Task = TypeVar("Task")
Result = TypeVar("Result")
_PROCESS = os.getpid()


def use_threads(count: int) -> None:
    """Let torch compute with this many threads; in a process forked off this one, with one."""
    torch.set_num_threads(count if os.getpid() == _PROCESS else 1)


if hasattr(os, "register_at_fork"):  # not on Windows
    # OpenMP's threads stay behind in the parent; a pass that waited for them would never end.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread while inside: many small operations, which barriers slow down."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def run_on_cores(
    function: Callable[[Task], Result], tasks: Iterable[Task], device: torch.device
) -> Iterator[Result]:
    """Yield ``function(task)`` for every task, in order; on a CPU, one a thread side by side.

    Few tasks, or a GPU, run one after the other with all threads.
    """
    waiting = list(tasks)
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(waiting) < 2 * threads:
        yield from map(function, waiting)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(function, waiting)
    finally:
        torch.set_num_threads(threads)  # torch hands the last value set to threads started later
