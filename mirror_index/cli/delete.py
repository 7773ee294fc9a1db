"""`mirror-index delete`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import report_change
from mirror_index.errors import CollectionError


@click.command("delete")
@click.argument("collection")
@click.argument("ids", nargs=-1)
@click.option("--where", help="Delete the records that this filter lets through.")
@options.home
@options.as_json
def command(
    collection: str, ids: tuple[str, ...], where: str | None, home: Path, as_json: bool
) -> int:
    """Delete records of COLLECTION by id, or those a filter lets through.

    With both, those of the ids are deleted that the filter lets through.
    Ids that are not there are counted as skipped; when none is there, that is a failure.
    """
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        change = opened.delete(ids or None, where)
        check_found(ids, change.skipped, collection)
        return report_change(change, as_json=as_json, allow_quarantine=True, where=collection)


def check_found(ids: tuple[str, ...], absent: int, collection: str) -> None:
    """Say on stderr how many ids were not there.

    Raises:
        CollectionError: not one of them was there.
    """
    asked = len(set(ids))
    if not absent:
        return
    if absent == asked:
        raise CollectionError(
            "there is no record of this id" if asked == 1 else f"none of the {asked} ids is there",
            value=ids[0],
            where=collection,
            remedy="`mirror-index search COLLECTION TEXT` shows the ids of its records",
        )
    click.echo(f"{absent} of {asked} ids were not in {collection}.", err=True)
