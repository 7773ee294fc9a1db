"""How long work reports on itself; the library is silent, the command line shows bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int], None]


class Reporter(Protocol):
    """Receives stages (with a total when known) and one-line notes."""

    def stage(
        self, name: str, total: int | None = None, unit: str = "texts"
    ) -> AbstractContextManager[Advance]:
        """Enter a stage; call the value with the number of units just finished."""
        ...

    def note(self, message: str) -> None:
        """Say one line to the user."""
        ...


class SilentReporter:
    """The default: says nothing."""

    @contextmanager
    def stage(self, name: str, total: int | None = None, unit: str = "texts") -> Iterator[Advance]:
        """Accept and ignore progress."""
        yield lambda n: None

    def note(self, message: str) -> None:
        """Accept and ignore a note."""


SILENT = SilentReporter()
