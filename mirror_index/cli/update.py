"""`mirror-index update`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.add import change


@click.command("update")
@click.argument("collection")
@click.argument("source")
@options.vectors
@options.running
@options.taking
@options.reading
@options.home
@options.allow_quarantine
@options.as_json
def command(
    collection: str,
    source: str,
    home: Path,
    as_json: bool,
    allow_quarantine: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Add the records of SOURCE to COLLECTION, replacing those with the same id."""
    return change(collection, source, home, as_json, allow_quarantine, values, update=True)
