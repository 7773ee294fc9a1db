"""Linking a table: every row and column comes back, in order, with the answer beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from mirror_index.config import LinkOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.linking.pipeline import link
from mirror_index.progress import SILENT, Reporter
from mirror_index.readers.cells import text_flaw
from mirror_index.records import LinkStatus
from mirror_index.tables.opening import kind_of, open_table
from mirror_index.tables.outcomes import ERROR, LinkedRow, LinkSource, TableRow
from mirror_index.tables.sinks import DelimitedSink, JsonSink, Sink, complete_file, open_text
from mirror_index.tables.sources import MentionList
from mirror_index.tables.sssom import SssomOptions, SssomSink

if TYPE_CHECKING:
    from mirror_index.collection import Collection

FORMATS = ("tsv", "csv", "jsonl", "parquet", "sssom")
_WINDOW = 4096
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A row whose mention could not be linked: its line and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTableReport:
    """What became of a table.

    Attributes:
        rows: rows written; in SSSOM, rows read.
        statuses: how many rows got each status; "error" are the bad ones.
        blank: empty lines, which are no rows.
        bad: the first 20 bad rows.
        records: mappings in an SSSOM file, None in other formats.
        left_out: rows without a mapping in an SSSOM file: bad ones, repeats, and mentions that are
            nothing but white space.
        unknown_prefixes: prefixes of ids in an SSSOM file for which no IRI is known.
    """

    rows: int
    statuses: Mapping[str, int]
    blank: int = 0
    bad: tuple[BadRow, ...] = ()
    records: int | None = None
    left_out: int | None = None
    unknown_prefixes: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """How many rows are bad."""
        return self.statuses[ERROR]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def link_table(
    collection: Collection,
    source: str | Path | BinaryIO | MentionList,
    output: str | Path | TextIO,
    *,
    column: str = "mention",
    context_column: str | None = None,
    output_format: str | None = None,
    sssom: SssomOptions | None = None,
    options: LinkOptions = LinkOptions(),  # noqa: B008 (frozen)
    reporter: Reporter = SILENT,
) -> LinkTableReport:
    """Link the mentions of a table, and write the table back with the answers.

    The formats are TSV (.tsv, .tab, .txt), CSV, JSON lines (.jsonl, .ndjson) and Parquet, by file
    name; the input may be compressed with gzip. Written in its own format, a table keeps every byte
    (or Arrow type) of its columns. `outcomes.ADDED` are appended, all with a prefix when the table
    has one of these names. Numbers have four decimals in text, six in JSON.

    A row that cannot be read (too few or too many cells, a quote that is never closed, no JSON
    object, a mention that is no text) keeps its place with the status "error"; the column `error`
    says why and spells out what the columns cannot hold. An empty line of a table with several
    columns is kept but is no row.

    Some thousand rows are held at a time; repeated mentions are linked once in each such window.

    Args:
        collection: the dictionary.
        source: a file; an open binary stream of TSV, which is read once; or mentions as they are.
        output: a new file, written beside and renamed when complete, or an open text stream.
        column: column of the mention.
        context_column: column of the text the mention stands in; see `link`.
        output_format: one of `FORMATS`; None goes by the output's name, and is TSV for a stream.
        sssom: what an SSSOM file says about itself.
        options: as for `link`.
        reporter: receives progress.

    Raises:
        SourceError: an unreadable table, a column that is absent or there twice.
        UsageError: an output that exists; Parquet to a stream; a cell with a tab or a line break,
            which TSV cannot hold. Whatever is raised, no output file is left.
    """
    table = open_table(source)
    places = [_place(table, column)]
    if context_column is not None:
        places.append(_place(table, context_column))
    counts = _Counts()
    kind = _output_kind(output, output_format)
    with (
        _opened_sink(output, kind, table, collection, sssom or SssomOptions()) as sink,
        reporter.stage("linking", table.total, unit="mentions") as advance,
    ):
        for window in table.windows(_WINDOW):
            linked = _linked(collection, window, places, options)
            sink.write(linked)
            counts.take(linked)
            advance(len(window))
    return counts.report(sink)


def _place(table: LinkSource, column: str) -> int:
    """Return where the column is.

    Raises:
        SourceError: it is absent, or there twice.
    """
    found = [place for place, name in enumerate(table.columns) if name == column]
    if len(found) != 1:
        if not table.columns:
            raise SourceError("the table is empty", where=table.name, remedy="Check the file")
        raise SourceError(
            "a column of this name is there twice" if found else "no such column",
            value=column,
            where=table.name,
            remedy="Rename one of the two"
            if found
            else f"The table has: {', '.join(table.columns)}",
        )
    return found[0]


def _output_kind(output: str | Path | TextIO, wished: str | None) -> str:
    if wished is not None and wished not in FORMATS:
        raise UsageError("unknown output format", value=wished, remedy=f"Use {', '.join(FORMATS)}")
    if not isinstance(output, str | Path):
        if wished == "parquet":
            raise UsageError("Parquet cannot go to a stream", remedy="Name a file with -o")
        return wished or "tsv"
    path = Path(output)
    if wished is None and path.name.lower().endswith(".gz"):
        raise UsageError(
            "tables are not written compressed", value=str(path), remedy="Leave out .gz"
        )
    if wished is None and path.name.lower().endswith(".sssom.tsv"):
        return "sssom"
    return wished or kind_of(path)


@contextmanager
def _opened_sink(
    output: str | Path | TextIO,
    kind: str,
    table: LinkSource,
    collection: Collection,
    sssom: SssomOptions,
) -> Iterator[Sink]:
    with ExitStack() as stack:
        if not isinstance(output, str | Path):
            stream = output
        else:
            partial = stack.enter_context(complete_file(Path(output)))
            if kind == "parquet":
                from mirror_index.tables.arrow import ParquetSink  # pyarrow is slow to load

                writer = ParquetSink(partial, table)
                stack.callback(writer.close)
                yield writer
                return
            stream = stack.enter_context(open_text(partial))
        if kind == "sssom":
            with SssomSink(stream, collection, sssom) as mappings:
                yield mappings
        else:
            yield JsonSink(stream, table) if kind == "jsonl" else DelimitedSink(stream, table, kind)


def _linked(
    collection: Collection,
    window: Sequence[TableRow],
    places: Sequence[int],
    options: LinkOptions,
) -> list[LinkedRow]:
    """Link the mentions of a window that has at least one row."""
    cells = [_cells(row, places) for row in window]
    good = [one for one in cells if one.problem is None]
    mentions = [one.mention for one in good]
    if len(places) > 1:
        links = link(collection, mentions, options, contexts=[one.context for one in good])
    else:
        links = link(collection, mentions, options)
    answers = iter(links)
    return [
        LinkedRow(
            row=row,
            mention=one.mention,
            answer=next(answers) if one.problem is None else None,
            error=one.problem,
        )
        for row, one in zip(window, cells, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    mention: str = ""
    context: str | None = None
    problem: str | None = None


def _cells(row: TableRow, places: Sequence[int]) -> _Cells:
    if row.blank or row.problem is not None:
        return _Cells(problem=row.problem or "the line is empty")
    texts = []
    for what, place in zip(("mention", "context"), places, strict=False):
        value = row.cells[place]
        if value is not None and not isinstance(value, str):
            return _Cells(problem=f"the {what} is not text but {type(value).__name__}")
        # A NUL is as good as a space in a mention; what cannot be decoded is none.
        flaw = text_flaw((value or "").replace("\0", ""))
        if flaw is not None:
            return _Cells(problem=f"the {what} {flaw}")
        texts.append(value or "")
    return _Cells(mention=texts[0], context=texts[1] if len(texts) > 1 else None)


class _Counts:
    """Counts what a report tells."""

    def __init__(self) -> None:
        self._statuses: Counter[str] = Counter(
            {status: 0 for status in (*(one.value for one in LinkStatus), ERROR)}
        )
        self._blank = 0
        self._bad: list[BadRow] = []

    def take(self, rows: Sequence[LinkedRow]) -> None:
        """Count a window."""
        for linked in rows:
            if linked.row.blank:
                self._blank += 1
                continue
            self._statuses[linked.status] += 1
            if linked.error is not None and len(self._bad) < _SHOWN:
                self._bad.append(BadRow(line=linked.row.line, reason=linked.error))

    def report(self, sink: Sink) -> LinkTableReport:
        """Return the report."""
        mappings = sink if isinstance(sink, SssomSink) else None
        return LinkTableReport(
            rows=self._statuses.total(),
            statuses=dict(self._statuses),
            blank=self._blank,
            bad=tuple(self._bad),
            records=mappings.records if mappings else None,
            left_out=mappings.left_out if mappings else None,
            unknown_prefixes=tuple(mappings.unknown_prefixes) if mappings else (),
        )
