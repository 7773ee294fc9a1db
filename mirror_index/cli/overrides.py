"""`mirror-index overrides`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_fields, print_json, print_table
from mirror_index.errors import UsageError

if TYPE_CHECKING:
    from mirror_index.collection import Collection


@click.command("overrides")
@click.argument("collection")
@click.argument("action", type=click.Choice(["import", "export", "list"]))
@click.argument("file", required=False)
@click.option("--replace", is_flag=True, help="Import: drop the overrides of other mentions.")
@options.home
@options.as_json
def command(
    collection: str, action: str, file: str | None, replace: bool, home: Path, as_json: bool
) -> None:
    """Import, export or list the decisions of a person that `link` obeys in COLLECTION.

    FILE is a .tsv or .csv with the columns mention and action, and perhaps reason, who and when.
    An action is "concept ID" (the mention is this concept), "never ID" (never this one) or "nil"
    (none at all). Every spelling with the same key is meant. An import is checked as a whole and
    is one commit. Without FILE, or with -, import reads and export writes TSV on standard streams.
    """
    from mirror_index.collection import Collection

    if replace and action != "import":
        raise UsageError("--replace goes with import", value=action)
    if file is not None and action == "list":
        raise UsageError("list takes no file", value=file, remedy="Use export")
    with Collection.open(options.find_collection(collection, home)) as opened:
        if action == "list":
            show(opened, as_json)
        elif action == "export":
            write(opened, file, as_json)
        else:
            take(opened, file, replace, as_json)


def take(collection: Collection, file: str | None, replace_all: bool, as_json: bool) -> None:
    """Import overrides and print what that changed."""
    from mirror_index.curation import import_overrides

    source = sys.stdin.buffer if file in (None, "-") else str(file)
    report = import_overrides(collection, source, replace_all=replace_all).to_json()
    print_json(report) if as_json else print_fields(report)


def write(collection: Collection, file: str | None, as_json: bool) -> None:
    """Export overrides; how many is printed when they go to a file."""
    from mirror_index.curation import export_overrides

    if file in (None, "-"):
        export_overrides(collection, sys.stdout)
        return
    report = {"overrides": export_overrides(collection, str(file))}
    print_json(report) if as_json else print_fields(report)


def show(collection: Collection, as_json: bool) -> None:
    """Print the overrides, each with the state of its concept."""
    from mirror_index.curation import override_states

    states = override_states(collection)
    if as_json:
        for one in states:
            row = one.override
            print_json(
                {
                    "mention": row.mention,
                    "action": row.action,
                    "concept_id": row.concept_id,
                    "label": one.label,
                    "state": one.state,
                    "reason": row.reason,
                    "who": row.who,
                    "when": row.when,
                }
            )
    else:
        print_table(
            ["mention", "action", "concept", "label", "state", "reason", "who", "when"],
            [
                [r.mention, r.action, r.concept_id, one.label, one.state, r.reason, r.who, r.when]
                for one in states
                for r in [one.override]
            ],
        )
