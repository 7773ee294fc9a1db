"""`mirror-index compare-releases`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_fields, print_json, print_table
from mirror_index.errors import CollectionError, ExitCode, SourceError

if TYPE_CHECKING:
    from mirror_index.config import ReadOptions
    from mirror_index.curation import ReleaseReport, TouchedLink, TouchedOverride

CONCEPTS = ("new", "merged", "obsoleted", "lost", "revived", "relabelled")
NAMES = ("names_added", "names_removed", "names_moved", "rescoped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is printed."""

    report: ReleaseReport
    overrides: Sequence[TouchedOverride]
    links: Sequence[TouchedLink]


@click.command("compare-releases")
@click.argument("old")
@click.argument("new")
@click.option("--links", help="A past output of `link`: which of its rows are touched?")
@click.option("--column", default="mention", show_default=True, help="Column of its mentions.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Rows a table; 0 is all.",
)
@options.reading
@options.home
@options.allow_quarantine
@options.as_json
def command(
    old: str,
    new: str,
    links: str | None,
    column: str,
    limit: int,
    home: Path,
    allow_quarantine: bool,
    as_json: bool,
    **values: Any,  # noqa: ANN401
) -> int:
    """Say how the dictionary NEW (a source) differs from OLD (a collection or a source).

    Concepts that are new, merged into another, obsolete, lost, live again or relabelled; names that
    were added, removed, moved to another concept or got another scope; which overrides of the
    collection and which past links this touches. Nothing is changed.
    """
    found = findings(old, new, links, column, home, options.read_options(values))
    if as_json:
        print_json(
            {
                "counts": found.report.counts,
                **found.report.to_json(),
                "overrides": [one.to_json() for one in found.overrides],
                "links": [one.to_json() for one in found.links],
            }
        )
    else:
        show(found, limit or None)
    if not found.report.rejected:
        return ExitCode.DONE
    click.echo(f"{found.report.rejected} rows of {new} could not be read.", err=True)
    return ExitCode.DONE if allow_quarantine else ExitCode.QUARANTINED


def findings(
    old: str, new: str, links: str | None, column: str, home: Path, reading: ReadOptions
) -> Findings:
    """Compare, and look up what the changes touch."""
    from mirror_index.collection import Collection
    from mirror_index.curation import (
        compare_releases,
        read_links,
        read_release,
        release_of,
        touched_links,
        touched_overrides,
    )

    after = read_release(new, reading)
    folder = collection_of(old, home)
    if folder is None:
        report = compare_releases(read_release(old, reading), after)
        overrides: Sequence[TouchedOverride] = ()
    else:
        with Collection.open(folder) as opened:
            report = compare_releases(release_of(opened), after)
            overrides = touched_overrides(opened, report)
    past = () if links is None else touched_links(read_links(links, column=column), report)
    return Findings(report=report, overrides=overrides, links=list(past))


def collection_of(name: str, home: Path) -> Path | None:
    """Return the folder of a collection, None when `name` is a source.

    Raises:
        SourceError: it is neither.
    """
    try:
        return options.find_collection(name, home)
    except CollectionError as error:
        if Path(name).exists() or name == "-":
            return None
        raise SourceError(
            "this is neither a collection nor a file",
            value=name,
            remedy="`mirror-index list` shows the collections",
        ) from error


def show(found: Findings, limit: int | None) -> None:
    """Print the counts, and a table of each kind of change."""
    print_fields(
        {**found.report.counts, "overrides": len(found.overrides), "links": len(found.links)}
    )
    values = found.report.to_json()
    for kind in CONCEPTS:
        tabulate(kind, ("id", "label", "became"), values[kind], limit)
    for kind in NAMES:
        columns = ("text", "old_concept", "new_concept", "old_scope", "new_scope")
        tabulate(kind, columns, values[kind], limit)
    overrides = [one.to_json() for one in found.overrides]
    tabulate("overrides", ("mention", "action", "concept_id", "effect"), overrides, limit)
    past = [one.to_json() for one in found.links]
    tabulate("links", ("line", "mention", "status", "concept_id", "effect"), past, limit)


def tabulate(
    name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], limit: int | None
) -> None:
    """Print a table under its name, unless it is empty."""
    if not rows:
        return
    click.echo(f"\n{name}:")
    print_table(columns, [[_cell(row[column]) for column in columns] for row in rows[:limit]])
    if limit is not None and len(rows) > limit:
        click.echo(f"... and {len(rows) - limit} more; --limit 0 shows all", err=True)


def _cell(value: Any) -> Any:  # noqa: ANN401 - a table cell
    return ", ".join(value) or None if isinstance(value, tuple | list) else value
