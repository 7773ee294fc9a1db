"""`mirror-index search`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.inputs import lines_of
from mirror_index.cli.output import print_json, print_table
from mirror_index.config import SearchOptions

if TYPE_CHECKING:
    from mirror_index.records import Hit


@click.command("search")
@click.argument("collection")
@click.argument("queries", nargs=-1)
@click.option("-f", "--file", help="Queries, one a line; - for standard input.")
@click.option("-k", type=int, default=10, show_default=True, help="Hits a query.")
@click.option("--where", help="Filter, e.g. \"year >= 2019 and source in ('a', 'b')\".")
@click.option("--hybrid", is_flag=True, help="Fuse with keyword search by reciprocal rank.")
@click.option("--exact", is_flag=True, help="Pass over the approximate index.")
@options.home
@options.as_json
def command(
    collection: str,
    queries: tuple[str, ...],
    file: str | None,
    k: int,
    where: str | None,
    hybrid: bool,
    exact: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Find the texts of COLLECTION nearest to each query.

    Scores are cosines, higher is better. Without queries and without -f, queries are read from
    standard input, one a line.
    """
    from mirror_index.collection import Collection

    wishes = SearchOptions(k=k, where=where, hybrid=hybrid, exact=exact)
    with Collection.open(options.find_collection(collection, home)) as opened:
        asked = lines_of(queries, file)
        show(asked, opened.search(asked, wishes), as_json)


def show(queries: list[str], results: list[list[Hit]], as_json: bool) -> None:
    """Print hits as JSON lines or as a table a query."""
    for query, hits in zip(queries, results, strict=True):
        if as_json:
            for hit in hits:
                print_json(hit)
            continue
        click.echo(f"{query!r}: {'nothing found' if not hits else ''}".rstrip())
        if hits:
            print_table(
                ["rank", "score", "id", "text"], [[h.rank, h.score, h.id, h.text] for h in hits]
            )
