"""`mirror-index verify`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_fields, print_json
from mirror_index.errors import ExitCode


@click.command("verify")
@click.argument("collection")
@click.option("--recall", is_flag=True, help="Measure the recall of an approximate index again.")
@click.option(
    "--encoder", help="Check the answers of this encoder folder, not those of the stored encoder."
)
@options.home
@options.as_json
def command(collection: str, recall: bool, encoder: str | None, home: Path, as_json: bool) -> int:
    """Check every file and row of COLLECTION against what was committed; exit 1 on any problem."""
    from mirror_index.collection.verifying import verify_collection
    from mirror_index.encoding import load_query_encoder

    loaded = None if encoder is None else load_query_encoder(Path(encoder))
    folder = options.find_collection(collection, home)
    report = verify_collection(folder, recall=recall, encoder=loaded)
    if as_json:
        print_json(report.to_json())
    else:
        if report.recall is not None:
            print_fields(report.recall)
        for problem in report.problems:
            click.echo(f"{problem.kind}: {problem.where}: {problem.what}. {problem.remedy}")
        click.echo(f"{len(report.problems)} problems in {len(report.checked)} checks")
    return ExitCode.DONE if report.ok else ExitCode.FAILED
