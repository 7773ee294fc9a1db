"""`mirror-index link`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mirror_index.cli import options
from mirror_index.cli.inputs import lines_of, text_of
from mirror_index.cli.output import BarReporter, print_fields, print_json, print_table
from mirror_index.config import LinkOptions
from mirror_index.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from mirror_index.collection import Collection
    from mirror_index.records import Link
    from mirror_index.tables import LinkTableReport

FORMATS = ("tsv", "csv", "jsonl", "parquet", "sssom")


@click.command("link")
@click.argument("collection")
@click.argument("mentions", nargs=-1)
@click.option("-f", "--file", help="Mentions, one a line, or a table with --column; - for stdin.")
@click.option("--column", help="Column of the mentions: FILE is a table.")
@click.option("--context-column", help="Column of the text that a mention stands in.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="New file to write.")
@click.option(
    "--format", "output_format", type=click.Choice(FORMATS), help="Of the output; else by its name."
)
@click.option("--license", "license_", metavar="IRI", help="License of an SSSOM mapping set.")
@click.option("--mapping-set-id", metavar="IRI", help="Id of an SSSOM mapping set.")
@click.option(
    "--prefix", multiple=True, metavar="PREFIX=IRI", help="What a prefix of ids means in SSSOM."
)
@click.option("-k", type=int, default=5, show_default=True, help="Candidates a mention.")
@click.option(
    "--min-probability", type=float, default=0.5, show_default=True, help="Below it: none."
)
@click.option(
    "--precision", type=float, metavar="SHARE", help="Of the linked, right: sets --min-probability."
)
@click.option(
    "--type", "types", multiple=True, metavar="TYPE", help="Only concepts of this semantic type."
)
@click.option("--allow-errors", is_flag=True, help="Exit 0 even though rows could not be read.")
@options.home
@options.as_json
def command(
    collection: str,
    mentions: tuple[str, ...],
    file: str | None,
    column: str | None,
    k: int,
    min_probability: float,
    home: Path,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Link each mention to a concept of COLLECTION, or honestly to none.

    One answer a mention, in order: linked, ambiguous, nil or empty, or composite where it names
    several things ("breast and ovarian cancer"), each with an answer of its own.

    With --column, FILE is a table (.tsv, .csv, .jsonl, .parquet; - is TSV from standard input).
    Every row and column is kept as it is, and status, concept_id, label, probability,
    matched_name, method, margin and error are added, with the prefix link_ when the table has one
    of these names. Without -o it goes to standard output. A row that cannot be read has the status
    error, and the exit status is 3.

    --format sssom (or -o NAME.sssom.tsv) writes SSSOM mappings of the distinct mentions instead.
    """
    from mirror_index.collection import Collection

    check_threshold(values["precision"])
    wishes = LinkOptions(
        k=k,
        min_probability=min_probability,
        precision=values["precision"],
        types=tuple(map(text_of, values["types"])),
    )
    check_sssom(values)
    if values["context_column"] is not None and column is None:
        raise UsageError("--context-column goes with --column", value=values["context_column"])
    with Collection.open(options.find_collection(collection, home)) as opened:
        if column is None:
            hint_at_tables(file)
        if column is not None or values["output"] or values["output_format"]:
            source = table_source(file, column, mentions)
            return write_table(opened, source, column or "mention", wishes, as_json, values)
        show_links(opened, lines_of(mentions, file), wishes, as_json)
    return ExitCode.DONE


def hint_at_tables(file: str | None) -> None:
    """Say on stderr that a file which looks like a table is read as one mention a line."""
    if file is not None and file.lower().endswith((".tsv", ".csv", ".jsonl", ".parquet")):
        click.echo(f"{file} is read as one mention a line; --column makes it a table.", err=True)


def check_threshold(precision: float | None) -> None:
    """Refuse a precision beside a probability: the one stands for the other."""
    context = click.get_current_context()
    source = context.get_parameter_source("min_probability")
    if precision is not None and source is not ParameterSource.DEFAULT:
        raise UsageError(
            "--precision sets the threshold that --min-probability gives",
            value=precision,
            remedy="Leave out one of the two",
        )


def check_sssom(values: dict[str, Any]) -> None:
    """Refuse options that say something about a mapping set when none is written."""
    output, wished = values["output"], values["output_format"]
    by_name = output is not None and output.name.lower().endswith(".sssom.tsv")
    if wished == "sssom" or (wished is None and by_name):
        return
    for option in ("license_", "mapping_set_id", "prefix"):
        if values[option]:
            raise UsageError(
                f"--{option.strip('_').replace('_', '-')} goes with --format sssom",
                value=values[option],
            )


def table_source(file: str | None, column: str | None, mentions: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return the table to link: a file, standard input, or the mentions themselves."""
    from mirror_index.tables.sources import MentionList

    if column is None:
        return MentionList(lines_of(mentions, file), file or "the mentions")
    if file is None or mentions:
        raise UsageError(
            "--column reads a table: it needs -f TABLE, and no mentions",
            remedy="mirror-index link COLLECTION -f mentions.tsv --column mention -o out.tsv",
        )
    return sys.stdin.buffer if file == "-" else file


def write_table(
    collection: Collection,
    source: Any,  # noqa: ANN401
    column: str,
    wishes: LinkOptions,
    as_json: bool,
    values: dict[str, Any],
) -> int:
    """Link a table to a file or to standard output, and say what became of it."""
    from mirror_index.tables import SssomOptions, link_table

    output = None if values["output"] == Path("-") else values["output"]
    target = output or sys.stdout
    report = link_table(
        collection,
        source,
        target,
        column=text_of(column),
        context_column=values["context_column"] and text_of(values["context_column"]),
        output_format=values["output_format"]
        or ("jsonl" if target is sys.stdout and as_json else None),
        sssom=SssomOptions(
            mapping_set_id=values["mapping_set_id"] and text_of(values["mapping_set_id"]),
            prefixes=prefixes(values["prefix"]),
            **({"license": text_of(values["license_"])} if values["license_"] else {}),
        ),
        options=wishes,
        reporter=BarReporter(),
    )
    if output is not None:
        shown = report.to_json()
        if as_json:
            print_json(shown)
        else:  # what is wrong follows on stderr
            print_fields({k: v for k, v in shown.items() if k not in ("bad", "unknown_prefixes")})
    return complain(report, values["allow_errors"])


def prefixes(given: tuple[str, ...]) -> dict[str, str]:
    """Return IRIs by prefix from ``PREFIX=IRI``."""
    for one in given:
        if "=" not in one:
            raise UsageError("a prefix has no =", value=one, remedy="--prefix PREFIX=IRI")
    return dict(text_of(one).partition("=")[::2] for one in given)


def complain(report: LinkTableReport, allow_errors: bool) -> int:
    """Say on stderr what is not as it should be, and return the exit status."""
    for prefix in report.unknown_prefixes:
        click.echo(
            f"No IRI is known for the prefix {prefix}: it is declared as a urn. "
            f"--prefix {prefix}=IRI gives one.",
            err=True,
        )
    for bad in report.bad:
        click.echo(f"line {bad.line}: {bad.reason}", err=True)
    if not report.errors:
        return ExitCode.DONE
    more = report.errors - len(report.bad)
    click.echo(
        f"{report.errors} rows could not be read{f' ({more} more than shown)' if more else ''}; "
        "they have the status error. --allow-errors makes this exit 0.",
        err=True,
    )
    return ExitCode.DONE if allow_errors else ExitCode.QUARANTINED


def show_links(
    collection: Collection, mentions: list[str], wishes: LinkOptions, as_json: bool
) -> None:
    """Print links as JSON lines or as one table."""
    from mirror_index.linking import link

    links: list[Link] = link(collection, mentions, wishes)
    if as_json:
        for answer in links:
            print_json(answer)
        return
    print_table(
        ["mention", "status", "concept", "label", "prob.", "matched name", "method"],
        [row for answer in links for row in shown_rows(answer)],
    )


def shown_rows(answer: Link, indent: str = "") -> Iterator[list[object]]:
    """Yield the row of a link, and those of its parts under it."""
    a = answer
    name = indent + a.mention
    yield [name, a.status, a.concept_id, a.label, a.probability, a.matched_name, a.method]
    for part in a.parts:
        yield from shown_rows(part, indent="  ")
