"""`mirror-index info`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_fields, print_json


@click.command("info")
@click.argument("collection")
@options.home
@options.as_json
def command(collection: str, home: Path, as_json: bool) -> None:
    """Show what COLLECTION holds and how it was made."""
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        values = opened.info()
    print_json(values) if as_json else print_fields(values)
