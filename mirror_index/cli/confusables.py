"""`mirror-index confusables`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, print_json, print_table

if TYPE_CHECKING:
    from mirror_index.collection.confusables import Confusable


@click.command("confusables")
@click.argument("collection")
@click.option(
    "--threshold", type=float, default=0.95, show_default=True, help="Least cosine of a near pair."
)
@click.option("--exact", is_flag=True, help="Pass over the approximate index.")
@click.option("--limit", type=click.IntRange(min=1), help="Pairs to show.  [default: all]")
@options.home
@options.as_json
def command(
    collection: str, threshold: float, exact: bool, limit: int | None, home: Path, as_json: bool
) -> None:
    """List texts of COLLECTION that look alike and belong to different concepts or records.

    These are texts that several of them share, short texts that are the same name or one slip
    apart, and for each text the nearest one of another concept or record.
    """
    from mirror_index.collection import Collection
    from mirror_index.collection.confusables import confusables

    with Collection.open(options.find_collection(collection, home)) as opened:
        found = confusables(opened, threshold=threshold, exact=exact, reporter=BarReporter())
    shown = found[:limit]
    if as_json:
        for pair in shown:
            print_json(pair)
    else:
        header = ["likeness", "score", "text", "of", "other text", "of"]
        print_table(header, [_cells(pair) for pair in shown])
    if len(shown) < len(found):
        click.echo(f"{len(found)} pairs, {len(shown)} shown.", err=True)


def _cells(pair: Confusable) -> list[str | float]:
    owners, others = ", ".join(pair.owners), ", ".join(pair.other_owners)
    return [pair.likeness.value, pair.score, pair.text, owners, pair.other_text, others]
