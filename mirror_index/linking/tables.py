"""Linking a table: every row and column comes back, in order, with the answer beside it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from mirror_index.config import LinkOptions
from mirror_index.errors import UsageError
from mirror_index.evaluation.tables import Table, TableRow, require_columns
from mirror_index.linking.pipeline import link
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import Link, LinkStatus, normalise_text

if TYPE_CHECKING:
    from mirror_index.collection import Collection

ADDED = ("status", "concept_id", "label", "probability", "matched_name")
_WINDOW = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTableReport:
    """Rows written, and how many got each status."""

    rows: int
    statuses: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRow:
    """A row of a table with the answer for its mention."""

    row: TableRow
    answer: Link


def link_rows(
    collection: Collection,
    rows: Iterable[TableRow],
    column: str,
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
) -> Iterator[LinkedRow]:
    """Link the mention in `column` of each row, in order, holding some thousand rows at a time.

    Raises:
        KeyError: a row has no such column.
        MirrorIndexError: what `link` raises.
    """
    stream = iter(rows)
    while window := list(islice(stream, _WINDOW)):
        answers = link(collection, [row.cells[column] for row in window], options)
        for row, answer in zip(window, answers, strict=True):
            yield LinkedRow(row=row, answer=answer)


def link_table(
    collection: Collection,
    source: str | Path | BinaryIO,
    output: str | Path | TextIO,
    *,
    column: str = "mention",
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
    reporter: Reporter = SILENT,
) -> LinkTableReport:
    """Link a TSV (or CSV) file with a header, and write it back with the answers.

    The columns `status`, `concept_id`, `label`, `probability` (four decimals) and `matched_name`
    are appended; when the table has one of these already, all five are called ``link_...``.

    Args:
        collection: the dictionary.
        source: a file, or an open binary stream of TSV.
        output: a new file, written beside and renamed when complete (``.csv``: CSV, else TSV
            without quoting), or an open text stream for TSV.
        column: column of the mention.
        options: as for `link`.
        reporter: receives progress.

    Raises:
        SourceError: an unreadable table, an absent column, or a row with too few or too many cells
            (its line is named).
        UsageError: an output that exists, or a cell with a tab or a line break, which TSV cannot
            hold. Whatever is raised, no output file is left.
    """
    table = Table(source)
    statuses: Counter[str] = Counter({status.value: 0 for status in LinkStatus})
    with _writer(output) as writer, reporter.stage("linking", unit="mentions") as advance:
        require_columns(table, [column])
        writer.write(_header(table.columns()))
        for linked in link_rows(collection, table, column, options):
            writer.write([*linked.row.cells.values(), *_cells(linked.answer)])
            statuses[linked.answer.status.value] += 1
            advance(1)
    return LinkTableReport(rows=statuses.total(), statuses=dict(statuses))


def _header(columns: Sequence[str]) -> list[str]:
    prefix = "link_" if set(ADDED) & set(columns) else ""
    added = [f"{prefix}{name}" for name in ADDED]
    clash = sorted(set(added) & set(columns))
    if clash:
        raise UsageError(
            "the table already has a column of this name", value=clash[0], remedy="Rename it"
        )
    return [*columns, *added]


def _cells(answer: Link) -> list[str]:
    probability = "" if answer.probability is None else f"{answer.probability:.4f}"
    return [
        answer.status.value,
        answer.concept_id or "",
        normalise_text(answer.label or ""),
        probability,
        normalise_text(answer.matched_name or ""),
    ]


class _Writer:
    """Writes rows as CSV or as TSV without quoting."""

    def __init__(self, stream: TextIO, *, as_csv: bool) -> None:
        self._stream = stream
        self._csv = csv.writer(stream, lineterminator="\n") if as_csv else None
        self._line = 0

    def write(self, cells: Sequence[str]) -> None:
        self._line += 1
        if self._csv is not None:
            self._csv.writerow(cells)
            return
        for cell in cells:
            if any(mark in cell for mark in "\t\n\r"):
                raise UsageError(
                    "TSV cannot hold a cell with a tab or a line break",
                    value=cell,
                    where=f"output line {self._line}",
                    remedy="Write to a .csv file",
                )
        self._stream.write("\t".join(cells) + "\n")


@contextmanager
def _writer(output: str | Path | TextIO) -> Iterator[_Writer]:
    if not isinstance(output, str | Path):
        yield _Writer(output, as_csv=False)
        return
    path = Path(output)
    if path.exists() or path.is_symlink():
        raise UsageError(
            "the output exists already", value=str(path), remedy="Name a new file, or remove it"
        )
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            yield _Writer(stream, as_csv=path.suffix.lower() == ".csv")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
