"""`mirror-index calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_fields, print_json


@click.command("calibrate")
@click.argument("collection")
@click.option(
    "--nil-share",
    type=float,
    default=0.2,
    show_default=True,
    help="Share of the mentions to come that name nothing in the dictionary.",
)
@click.option(
    "--sample", type=int, default=2000, show_default=True, help="Names taken as mentions."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@options.home
@options.as_json
def command(
    collection: str, nil_share: float, sample: int, seed: int, home: Path, as_json: bool
) -> None:
    """Learn from the names of COLLECTION how to rank and how sure to be when linking.

    No labels are needed and nothing is encoded: names are searched without themselves. `build`,
    `add`, `update` and `sync` do this with the defaults when it is due.
    """
    from mirror_index.collection import Collection
    from mirror_index.linking import calibrate

    with Collection.open(options.find_collection(collection, home)) as opened:
        found = calibrate(opened, sample=sample, seed=seed, nil_share=nil_share)
    facts = found.summary()
    print_json({**found.to_json(), **facts}) if as_json else print_fields(facts)
