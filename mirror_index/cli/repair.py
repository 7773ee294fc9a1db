"""`mirror-index repair`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import BarReporter, print_json
from mirror_index.errors import ExitCode


@click.command("repair")
@click.argument("collection")
@click.option(
    "--encoder", help="Encode with this copy of the encoder, when the stored one is damaged."
)
@options.home
@options.as_json
def command(collection: str, encoder: str | None, home: Path, as_json: bool) -> int:
    """Make again what is damaged in COLLECTION and can be made; exit 1 when problems are left.

    Vectors are encoded again from their texts, names, word indexes and the approximate index are
    rebuilt, the encoder's query copy is exported again, files of interrupted runs are removed.
    Damage to records, texts, concepts or the encoder's weights is named, and nothing is made worse.
    """
    from mirror_index.collection.repairing import repair_collection
    from mirror_index.encoding import load_query_encoder

    loaded = None if encoder is None else load_query_encoder(Path(encoder))
    folder = options.find_collection(collection, home)
    report = repair_collection(folder, encoder=loaded, reporter=BarReporter())
    if as_json:
        print_json(report.to_json())
    else:
        for what in report.repaired:
            click.echo(f"repaired: {what}")
        for problem in report.left:
            click.echo(f"left: {problem.kind}: {problem.where}: {problem.what}. {problem.remedy}")
        click.echo(f"{len(report.repaired)} repairs, {len(report.left)} problems left")
    return ExitCode.DONE if report.ok else ExitCode.FAILED
