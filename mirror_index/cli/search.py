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
    from mirror_index.collection import Collection
    from mirror_index.records import Hit


@click.command("search")
@click.argument("collection")
@click.argument("queries", nargs=-1)
@click.option("-f", "--file", help="Queries, one a line; - for standard input.")
@click.option(
    "--vector-file",
    metavar="FILE",
    help="Query vectors, a row each, from a .npy or .parquet[:column] file; texts only label them.",
)
@click.option("-k", type=int, default=10, show_default=True, help="Hits a query.")
@click.option("--where", help="Filter, e.g. \"year >= 2019 and source in ('a', 'b')\".")
@click.option("--hybrid", is_flag=True, help="Fuse with words and spelling by rank.")
@click.option("--exact", is_flag=True, help="Pass over the approximate index.")
@options.home
@options.as_json
def command(
    collection: str,
    queries: tuple[str, ...],
    file: str | None,
    vector_file: str | None,
    k: int,
    where: str | None,
    hybrid: bool,
    exact: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Find the texts of COLLECTION nearest to each query.

    Scores are cosines, higher is better. Without queries, -f and --vector-file, queries are read
    from standard input, one a line. With --hybrid, what holds words of the query, and short texts
    spelt like it or holding it, rise; --json shows the rank of each hit in each of these legs.
    """
    from mirror_index.collection import Collection

    wishes = SearchOptions(k=k, where=where, hybrid=hybrid, exact=exact)
    with Collection.open(options.find_collection(collection, home)) as opened:
        if vector_file is None:
            asked = lines_of(queries, file)
            show(asked, opened.search(asked, wishes), as_json)
        else:
            show(*by_vectors(opened, vector_file, queries, file, wishes), as_json)


def by_vectors(
    collection: Collection,
    vector_file: str,
    queries: tuple[str, ...],
    file: str | None,
    wishes: SearchOptions,
) -> tuple[list[str], list[list[Hit]]]:
    """Search with the rows of a file; return a label for each and its hits."""
    from mirror_index.readers.vectorfiles import open_vectors  # only for this way of asking

    vectors = open_vectors(vector_file)
    labels = [f"row {row}" for row in range(vectors.rows)]
    given = lines_of(queries, file) if queries or file is not None else None
    shown = given if wishes.hybrid or given is not None else labels
    hits = collection.search_vectors(vectors.raw(0, vectors.rows), wishes, queries=shown)
    return shown or labels, hits


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
