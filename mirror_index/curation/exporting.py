"""The overrides that a collection keeps, as a file and with the state of their concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mirror_index.curation.importing import COLUMNS
from mirror_index.errors import UsageError
from mirror_index.linking.overrides import Override, load_overrides
from mirror_index.linking.redirects import Redirects
from mirror_index.tables.sinks import complete_file, csv_cell, open_text, tsv_cell

if TYPE_CHECKING:
    from mirror_index.collection import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideState:
    """An override and whether it still applies: "ok", "redirected to ID", or "gone"."""

    override: Override
    label: str | None
    state: str


def export_overrides(collection: Collection, output: str | Path | TextIO) -> int:
    """Write the overrides as `import_overrides` reads them, and return how many there are.

    Args:
        collection: holds them.
        output: a new .tsv or .csv file, or an open text stream for TSV.

    Raises:
        UsageError: an output that exists or is neither, or a tab or line break in TSV.
    """
    rows = load_overrides(collection).rows
    if not isinstance(output, str | Path):
        _write(output, rows, as_csv=False)
        return len(rows)
    path = Path(output)
    if path.suffix.lower() not in (".tsv", ".csv"):
        raise UsageError("overrides go to .tsv or .csv", value=str(path), remedy="Rename the file")
    with complete_file(path) as partial, open_text(partial) as stream:
        _write(stream, rows, as_csv=path.suffix.lower() == ".csv")
    return len(rows)


def _write(stream: TextIO, rows: Sequence[Override], *, as_csv: bool) -> None:
    mark, quoted = (",", csv_cell) if as_csv else ("\t", tsv_cell)
    for line, cells in enumerate([COLUMNS, *map(_cells, rows)], 1):
        stream.write(mark.join(quoted(cell, line) for cell in cells) + "\n")


def _cells(row: Override) -> tuple[str, ...]:
    action = " ".join(part for part in (row.action.value, row.concept_id) if part)
    return row.mention, action, row.reason, row.who, row.when


def override_states(collection: Collection) -> list[OverrideState]:
    """Return the overrides in order, each with what its concept is called and whether it is there.

    One that is "gone" has no live concept any more, or not exactly one, and is passed over.
    """
    rows = load_overrides(collection).rows
    redirects = Redirects(collection)
    redirects.concepts(row.concept_id for row in rows if row.concept_id is not None)  # all at once
    states = []
    for row in rows:
        label, state = None, "ok"
        if row.concept_id is not None:
            redirect = redirects.follow(row.concept_id)
            live = redirect.ids[0] if redirect.certain and len(redirect.ids) == 1 else None
            label = None if live is None else redirects.concepts([live])[live].label
            if live != row.concept_id:
                state = "gone" if live is None else f"redirected to {live}"
        states.append(OverrideState(override=row, label=label, state=state))
    return states
