"""`mirror-index diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirror_index.cli import options
from mirror_index.cli.inputs import text_of
from mirror_index.cli.output import print_fields, print_json, print_table
from mirror_index.errors import ExitCode

if TYPE_CHECKING:
    from mirror_index.curation import LinksDiff


@click.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--column", default="mention", show_default=True, help="Column of the mentions.")
@click.option("--key", help="Column that tells rows apart, such as an id.  [default: the mention]")
@click.option(
    "--tolerance", type=float, default=0.001, show_default=True, help="Of the probability."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Changes to show; 0 is all.",
)
@click.option("--fail-on-change", is_flag=True, help="Exit 1 when any row changed.")
@options.as_json
def command(
    old: Path,
    new: Path,
    column: str,
    key: str | None,
    tolerance: float,
    limit: int,
    fail_on_change: bool,
    as_json: bool,
) -> int:
    """Compare two linkings, OLD and NEW, that `link` wrote: what an update or a re-tuning changed.

    Rows are counted as same, moved (only the probability), concept (another one), gained (newly
    linked), lost, status, only_old and only_new. Their order and other columns do not matter, and
    the two files may be of different formats.
    """
    from mirror_index.curation import diff_links

    key = key and text_of(key)
    diff = diff_links(old, new, column=text_of(column), key=key, tolerance=tolerance)
    print_json(diff.to_json()) if as_json else show(diff, limit, key)
    return ExitCode.FAILED if fail_on_change and diff.changed else ExitCode.DONE


def show(diff: LinksDiff, limit: int, key: str | None) -> None:
    """Print the counts, and a table of the first changes."""
    print_fields(diff.counts)
    shown = diff.changes[: limit or None]
    if not shown:
        return
    click.echo()
    print_table(
        [*([key] if key else []), "mention", "change", "old", "new", "prob. old", "prob. new"],
        [
            [
                *([one.key] if key else []),
                one.mention,
                one.kind,
                *(
                    None if side is None else side.concept_id or side.status
                    for side in (one.old, one.new)
                ),
                *(None if side is None else side.probability for side in (one.old, one.new)),
            ]
            for one in shown
        ],
    )
    if len(shown) < len(diff.changes):
        click.echo(f"... and {len(diff.changes) - len(shown)} more; --limit 0 shows all", err=True)
