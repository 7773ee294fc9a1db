"""`mirror-index list`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json, print_table
from mirror_index.errors import MirrorIndexError


@click.command("list")
@options.home
@options.as_json
def command(home: Path, as_json: bool) -> None:
    """List the collections under --home; one that cannot be opened is shown with the reason."""
    from mirror_index.collection import Collection

    rows = []
    for database in sorted(home.glob("*/collection.db")):
        name = database.parent.name  # of a link, not of the folder it leads to
        try:
            with Collection.open(database.parent) as opened:
                info = opened.info()
            rows.append({"name": name, **{k: info[k] for k in ("records", "concepts", "dim")}})
        except MirrorIndexError as error:
            rows.append({"name": name, "error": str(error)})
    if as_json:
        for row in rows:
            print_json(row)
    elif rows:
        header = ["name", "records", "concepts", "dim", "error"]
        print_table(header, [[row.get(key) for key in header] for row in rows])
    else:
        click.echo(f"No collections under {home}")
