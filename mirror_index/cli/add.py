"""`mirror-index add`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, report_change


@click.command("add")
@click.argument("collection")
@click.argument("source")
@options.vectors
@options.running
@options.taking
@options.reading
@options.home
@options.allow_quarantine
@options.as_json
def command(
    collection: str,
    source: str,
    home: Path,
    as_json: bool,
    allow_quarantine: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Add the texts of SOURCE to COLLECTION; what is there already is not encoded again."""
    return change(collection, source, home, as_json, allow_quarantine, values, update=False)


def change(
    collection: str,
    source: str,
    home: Path,
    as_json: bool,
    allow_quarantine: bool,
    values: dict[str, Any],
    *,
    update: bool,
) -> int:
    """Add or update, print the counts, and return the exit status."""
    from mirror_index.pipeline import add_to_collection

    with add_to_collection(
        source,
        options.find_collection(collection, home),
        update=update,
        vectors=values.pop("vectors", None),
        read_options=options.read_options(values),
        encoder_config=options.encoder_config(values),
        reporter=BarReporter(),
        **options.take_options(values),
    ) as changed:
        return report_change(
            changed.last_change,
            as_json=as_json,
            allow_quarantine=allow_quarantine,
            where=collection,
        )
