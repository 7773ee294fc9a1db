"""`mirror-index history`."""

from __future__ import annotations

from pathlib import Path

import click

from mirror_index.cli import options
from mirror_index.cli.output import print_json, print_table

_HEADER = ("generation", "committed at", "verb", "records", "concepts", "change", "source", "back")


@click.command("history")
@click.argument("collection")
@options.home
@options.as_json
def command(collection: str, home: Path, as_json: bool) -> None:
    """List the committed states of COLLECTION, the newest first, and which can be returned to."""
    from mirror_index.collection import Collection

    with Collection.open(options.find_collection(collection, home)) as opened:
        states = opened.history()
    if as_json:
        for state in states:
            print_json(state)
        return
    rows = []
    for s in states:
        back = "current" if s is states[0] else "yes" if s.reachable else "no longer"
        source = s.source if s.returned_to is None else f"back to {s.returned_to}"
        shown = _change(s.counts)
        rows.append(
            [s.generation, s.committed_at, s.verb, s.records, s.concepts, shown, source, back]
        )
    print_table(_HEADER, rows)


def _change(counts: dict[str, int]) -> str:
    """Return the records gained, changed and lost, such as "+12 ~3 -1"."""
    marks = (("+", "added"), ("~", "updated"), ("-", "deleted"))
    return " ".join(f"{mark}{counts[name]}" for mark, name in marks if counts[name]) or "none"
