"""`mirror-index quarantine`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json, print_table


@click.command("quarantine")
@click.argument("collection")
@click.option("--limit", type=click.IntRange(min=1), help="Rows to show.  [default: all]")
@options.home
@options.as_json
def command(collection: str, limit: int | None, home: Path, as_json: bool) -> None:
    """List the source rows that COLLECTION did not take, with source, line number and reason."""
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        rows = opened.quarantine(limit)
    if as_json:
        for row in rows:
            print_json(row)
    else:
        print_table(
            ["source", "line", "skipped", "reason", "content"],
            [[row.source, str(row.line), row.skipped, row.reason, row.content] for row in rows],
        )
