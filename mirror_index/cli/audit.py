"""`mirror-index audit`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json, print_table


@click.command("audit")
@click.argument("collection")
@click.option("--limit", type=click.IntRange(min=1), help="Records to show.  [default: all]")
@options.home
@options.as_json
def command(collection: str, limit: int | None, home: Path, as_json: bool) -> None:
    """List the records of COLLECTION that its encoder does not read as they are.

    That is only in part, with unknown tokens, or exactly like another text, which then no search
    can tell from it.
    """
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        rows = [
            {
                "id": row.record_id,
                "tokens": row.tokens,
                "truncated": row.truncated,
                "unknown": row.unknown,
                "line": row.line,
                "text": row.text,
                "collides_with": row.collides_with,
            }
            for row in opened.audit(limit)
        ]
    if as_json:
        for row in rows:
            print_json(row)
    else:
        header = ["id", "tokens", "truncated", "unknown", "line", "text", "collides_with"]
        print_table(header, [[_cell(row[key]) for key in header] for row in rows])


def _cell(value: str | int | bool | None) -> str | int | None:
    return ("yes" if value else "no") if isinstance(value, bool) else value
