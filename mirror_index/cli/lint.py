"""`mirror-index lint`."""

from __future__ import annotations

from typing import Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json
from mirror_index.errors import ExitCode


@click.command("lint")
@click.argument("source")
@click.option(
    "--encoder",
    metavar="ENCODER",
    help="Model folder, hub name or `default`: also report names it does not know or cuts.",
)
@click.option("--strict", is_flag=True, help="Exit 1 when anything is found.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Findings listed of each kind; all are counted.",
)
@options.reading
@options.as_json
def command(
    source: str,
    encoder: str | None,
    strict: bool,
    limit: int,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Report what is odd about SOURCE, with line numbers, without building anything.

    Clashing names, unknown synonym properties, duplicate ids, dangling or cyclic references, rows
    that would not be taken, short names, invisible characters and untidy spaces.
    """
    from mirror_index.readers import read
    from mirror_index.readers.lint import lint

    tokenise = None if encoder is None else tokeniser_of(encoder)
    report = lint(read(source, options.read_options(values)), tokenise=tokenise, limit=limit)
    if as_json:
        print_json(report.to_json())
    else:
        show(report)
    return ExitCode.FAILED if strict and not report.ok else ExitCode.DONE


def tokeniser_of(encoder: str) -> Any:  # noqa: ANN401 - a Tokenise
    """Return what turns texts into tokens for an encoder."""
    from mirror_index.encoding import load_encoder

    return load_encoder(None if encoder == "default" else encoder).tokenise


def show(report: Any) -> None:  # noqa: ANN401 - a LintReport, kept out of this module's imports
    """Print a line a finding, then how many there are of each kind."""
    for one in report.findings:
        place = "" if one.line is None else f"line {one.line}: "
        about = "" if one.id is None else f"{one.id}: "
        text = f"{place}{one.kind.value}: {about}{one.what}"
        click.echo("".join(char if char.isprintable() else " " for char in text))
    counts = ", ".join(f"{kind.value} {count}" for kind, count in report.counts.items())
    total = sum(report.counts.values())
    click.echo(
        f"{total} findings in {report.concepts} concepts and {report.names} names"
        + (f": {counts}" if counts else "")
    )
