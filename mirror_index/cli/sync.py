"""`mirror-index sync`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change


@click.command("sync")
@click.argument("collection")
@click.argument("source")
@options.running
@options.taking
@options.reading
@click.option("--allow-empty", is_flag=True, help="Let a SOURCE without a record empty it.")
@click.option(
    "--allow-quarantine",
    is_flag=True,
    help="Remove what is missing also when rows of SOURCE could not be read, and exit 0.",
)
@options.home
@options.as_json
def command(
    collection: str,
    source: str,
    home: Path,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Make COLLECTION equal to SOURCE: add, replace and remove records, in one commit.

    Only texts that are new are encoded. The change can be undone: see `mirror-index rollback`.
    """
    from mirror_index.pipeline import sync_collection

    allow_quarantine = values["allow_quarantine"]
    with sync_collection(
        source,
        options.find_collection(collection, home),
        read_options=options.read_options(values),
        encoder_config=options.encoder_config(values),
        reporter=BarReporter(),
        **options.take_options(values),
        **values,
    ) as synced:
        return report_change(
            synced.last_change, as_json=as_json, allow_quarantine=allow_quarantine, where=collection
        )
