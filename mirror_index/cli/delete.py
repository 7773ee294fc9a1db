"""`mirror-index delete`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import report_change


@click.command("delete")
@click.argument("collection")
@click.argument("ids", nargs=-1)
@click.option("--where", help="Delete the records that this filter lets through.")
@options.home
@options.as_json
def command(
    collection: str, ids: tuple[str, ...], where: str | None, home: Path, as_json: bool
) -> int:
    """Delete records of COLLECTION by id, or those a filter lets through."""
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        change = opened.delete(ids or None, where)
        return report_change(change, as_json=as_json, allow_quarantine=True, where=collection)
