"""Collections of a small dictionary."""

from tests.dictionaries import build

__all__ = ["build"]
