"""`mirror-index link`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.inputs import lines_of
from mirror_index.cli.output import BarReporter, print_fields, print_json, print_table
from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError

if TYPE_CHECKING:
    from mirror_index.records import Link


@click.command("link")
@click.argument("collection")
@click.argument("mentions", nargs=-1)
@click.option("-f", "--file", help="Mentions, one a line, or a table with --column; - for stdin.")
@click.option("--column", help="Column of the mentions in a .tsv or .csv file.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Table to write.")
@click.option("-k", type=int, default=5, show_default=True, help="Candidates a mention.")
@click.option(
    "--min-probability", type=float, default=0.5, show_default=True, help="Below it: none."
)
@options.home
@options.as_json
def command(
    collection: str,
    mentions: tuple[str, ...],
    file: str | None,
    column: str | None,
    output: Path | None,
    k: int,
    min_probability: float,
    home: Path,
    as_json: bool,
) -> None:
    """Link each mention to a concept of COLLECTION, or honestly to none.

    One answer a mention, in order: linked, ambiguous, nil or empty. With --column, FILE is a table:
    every row and column is kept, and status, concept_id, label, probability and matched_name are
    added.
    """
    from mirror_index.collection import Collection
    from mirror_index.linking import link, link_table

    wishes = LinkOptions(k=k, min_probability=min_probability)
    with Collection.open(options.find_collection(collection, home)) as opened:
        if column is not None:
            source, target = table_paths(file, output, mentions)
            report = link_table(
                opened, source, target, column=column, options=wishes, reporter=BarReporter()
            ).to_json()
            print_json(report) if as_json else print_fields(report)
            return
        if output is not None:
            raise UsageError("-o goes with --column", value=str(output))
        show(link(opened, lines_of(mentions, file), wishes), as_json)


def table_paths(file: str | None, output: Path | None, mentions: tuple[str, ...]) -> list[Path]:
    """Return the input and output of a table, or say what is missing."""
    if file in (None, "-") or output is None or mentions:
        raise UsageError(
            "--column reads a table: it needs -f TABLE and -o OUTPUT, and no mentions",
            remedy="mirror-index link COLLECTION -f mentions.tsv --column mention -o out.tsv",
        )
    return [Path(str(file)), output]


def show(links: list[Link], as_json: bool) -> None:
    """Print links as JSON lines or as one table."""
    if as_json:
        for answer in links:
            print_json(answer)
        return
    print_table(
        ["mention", "status", "concept", "label", "prob.", "matched name", "method"],
        [
            [a.mention, a.status, a.concept_id, a.label, a.probability, a.matched_name, a.method]
            for a in links
        ],
    )
