"""`mirror-index annotate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.inputs import text_of
from mirror_index.cli.output import BarReporter
from mirror_index.cli.streams import wait_for_input
from mirror_index.errors import ExitCode

if TYPE_CHECKING:
    from mirror_index.annotation import AnnotateReport


@click.command("annotate")
@click.argument("collection")
@click.argument("sources", nargs=-1)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File, or folder for brat.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["jsonl", "pubtator", "bioc", "brat"]),
    default="jsonl",
    show_default=True,
    help="What is written.",
)
@click.option("--nested", is_flag=True, help="Also give mentions inside a longer one.")
@click.option("--under", multiple=True, metavar="ID", help="Only this concept and those below it.")
@click.option(
    "--min-probability", type=float, default=0.5, show_default=True, help="Below it: left out."
)
@options.home
def command(
    collection: str,
    sources: tuple[str, ...],
    output: Path | None,
    output_format: str,
    nested: bool,
    under: tuple[str, ...],
    min_probability: float,
    home: Path,
) -> int:
    """Find the concepts of COLLECTION that running texts name, and where.

    SOURCES are text files, folders of them, .jsonl files with id and text, or - (the default) for
    standard input. The output is JSON, one mention a line, unless --format says otherwise. Offsets
    count Unicode code points of the file as it is, from 0. Exit status 3 says that some documents
    could not be read.
    """
    from mirror_index.annotation import AnnotateOptions, annotate_documents
    from mirror_index.collection import Collection

    wishes = AnnotateOptions(
        nested=nested, under=tuple(map(text_of, under)), min_probability=min_probability
    )
    with Collection.open(options.find_collection(collection, home)) as opened:
        report = annotate_documents(
            opened,
            [wait_for_input() if one == "-" else one for one in sources or ("-",)],
            sys.stdout if output in (None, Path("-")) else output,
            output_format=output_format,
            options=wishes,
            reporter=BarReporter(),
        )
    return _told(report)


def _told(report: AnnotateReport) -> int:
    """Say on stderr what was done, and return the exit status it deserves."""
    ways = ", ".join(f"{count} {way}" for way, count in sorted(report.methods.items()))
    click.echo(
        f"{report.documents} documents, {report.mentions} mentions ({ways or 'none'})", err=True
    )
    for one in report.first_rejected:
        click.echo(f"Not read: {one.source}, line {one.line}: {one.reason}", err=True)
    if report.passed_over:
        click.echo(
            f"{report.passed_over} other entries of folders were passed over, such as "
            f"{report.first_passed_over}.",
            err=True,
        )
    if report.rejected:
        click.echo(f"{report.rejected} documents could not be read.", err=True)
        return ExitCode.QUARANTINED
    return ExitCode.DONE
