"""`mirror-index export`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, print_fields, print_json


@click.command("export")
@click.argument("collection")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write: .jsonl, .csv, .tsv or .parquet.",
)
@click.option(
    "--vectors", type=click.Path(path_type=Path), help="Also write the vectors, to this .npy file."
)
@options.home
@options.as_json
def command(collection: str, output: Path, vectors: Path | None, home: Path, as_json: bool) -> None:
    """Write the records of COLLECTION to a file that `build` reads back.

    The rows have an id, the text as its source spelt it, the metadata, and in a dictionary the
    concept. The vectors are float32 rows in the same order.
    """
    from mirror_index.export.records import export_collection

    folder = options.find_collection(collection, home)
    report = export_collection(folder, output, vectors=vectors, reporter=BarReporter())
    if as_json:
        print_json(report.to_json())
    else:
        print_fields(report.to_json())
