"""The command line: a command parses, makes one library call and prints."""

from mirror_index.cli.app import main

__all__ = ["main"]
