"""`mirror-index compact`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change


@click.command("compact")
@click.argument("collection")
@options.home
@options.as_json
def command(collection: str, home: Path, as_json: bool) -> int:
    """Reclaim the space of deleted records; results stay the same."""
    from mirror_index.pipeline import open_for_writing

    with open_for_writing(options.find_collection(collection, home)) as opened:
        change = opened.compact(BarReporter())
        return report_change(change, as_json=as_json, allow_quarantine=True, where=collection)
