"""`mirror-index rollback`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change


@click.command("rollback")
@click.argument("collection")
@click.argument("generation", type=int)
@options.home
@options.as_json
def command(collection: str, generation: int, home: Path, as_json: bool) -> int:
    """Return COLLECTION to an earlier state, by its number in `mirror-index history`.

    This is a new commit, which can be undone in the same way. Nothing is encoded.
    """
    from mirror_index.linking.refitting import roll_back_collection

    folder = options.find_collection(collection, home)
    with roll_back_collection(folder, generation, reporter=BarReporter()) as opened:
        return report_change(
            opened.last_change, as_json=as_json, allow_quarantine=True, where=collection
        )
