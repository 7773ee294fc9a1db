"""Cases that are about the command line run it in this process."""

from tests.cli.conftest import run

__all__ = ["run"]
