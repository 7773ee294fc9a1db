"""`mirror-index encode`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, print_fields, print_json
from mirror_index.errors import ExitCode


@click.command("encode")
@click.argument("source")
@click.option("-o", "--output", required=True, type=options.NEW_PATH, help="New .npy file.")
@options.encoder_name
@options.recipe
@options.running
@options.reading
@options.allow_quarantine
@options.as_json
def command(
    source: str,
    output: Path,
    allow_quarantine: bool,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Write the unit vectors of the texts of SOURCE to a NumPy file, one float32 row a record.

    Beside it, OUTPUT.ids.txt holds the record ids in the order of the rows.
    """
    from mirror_index.pipeline import encode_source

    report = encode_source(
        source,
        output,
        encoder=values.pop("encoder"),
        read_options=options.read_options(values),
        encoder_config=options.encoder_config(values),
        reporter=BarReporter(),
    )
    print_json(report) if as_json else print_fields(report)
    quarantined = report["quarantined"] and not allow_quarantine
    return ExitCode.QUARANTINED if quarantined else ExitCode.DONE
