"""Vocabularies of the Comparative Toxicogenomics Database, such as CTD_diseases.tsv (MEDIC)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers.cells import RowError, id_cell, rejected, text_cell, text_flaw
from mirror_index.readers.fields import RawRow, split_quoted, split_unquoted
from mirror_index.readers.source import Line, empty_source, source_name, text_lines
from mirror_index.records import Concept, Name, Scope, SourceItem

_COMMENT = "#"
_NAME = re.compile(r"(\w+)Name")
# Alternative ids of the Disease Ontology carry the database before the prefix: DO:DOID:1.
_TWICE = re.compile(r"DO:(?=DOID:)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The columns of a vocabulary of one kind of thing."""

    all: tuple[str, ...]
    name: str
    id: str
    alt_ids: str


def is_ctd(source: str | Path) -> bool:
    """Return whether a file begins with comments that name the columns as CTD does."""
    with text_lines(source, "utf-8") as lines:
        for line in itertools.islice(lines, 200):
            if not line.body.startswith(_COMMENT):
                return False
            if line.body.lstrip(_COMMENT).strip().lower() == "fields:":
                return True
    return False


def read_ctd(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield a concept per row of a CTD vocabulary (diseases, chemicals, pathways; TSV or CSV).

    The columns are named in a comment below ``# Fields:``, or in a header line. `Synonyms` are
    exact synonyms; `Alt...IDs`, `ParentIDs` and `SlimMappings` (as semantic types) are lists
    between vertical bars; tree numbers and the rest are not used. In a TSV, quotes are text. Rows
    with another number of fields, without a name or without an id are rejected.

    Raises:
        SourceError: the source cannot be read, is empty, or has no columns for a name and an id.
    """
    with text_lines(source, options.encoding) as lines:
        header, rest = _header(lines, source)
        split = split_unquoted if "\t" in header.body else split_quoted
        delimiter = "\t" if "\t" in header.body else ","
        columns = _columns(header, delimiter, source)
        for row in split(rest, delimiter):
            yield _item(row, columns)


def _header(lines: Iterator[Line], source: str | Path) -> tuple[Line, Iterator[Line]]:
    """Return the line that names the columns, and the lines of the data."""
    named: Line | None = None
    after_fields = False
    for line in lines:
        body = line.body.lstrip(_COMMENT).strip()
        if not line.body.startswith(_COMMENT):
            if named is None:
                return line, lines
            return named, itertools.chain((line,), lines)
        if after_fields and body:
            named, after_fields = Line(line.number, body), False
        after_fields = after_fields or body.lower() == "fields:"
    if named is None:
        raise empty_source(source)
    return named, iter(())


def _columns(header: Line, delimiter: str, source: str | Path) -> _Columns:
    names = tuple(name.strip() for name in header.body.split(delimiter))
    for found in filter(None, map(_NAME.fullmatch, names)):
        kind = found[1]
        if f"{kind}ID" in names:
            return _Columns(all=names, name=found[0], id=f"{kind}ID", alt_ids=f"Alt{kind}IDs")
    raise SourceError(
        "there are no columns for a name and an id, such as DiseaseName and DiseaseID",
        value=header.body[:200],
        where=f"{source_name(source)}, line {header.number}",
        remedy="For a table of your own, name the format tsv",
    )


def _item(row: RawRow, columns: _Columns) -> SourceItem:
    if row.problem is not None:
        return rejected(row.line, row.problem, row.content)
    if not row.content.strip():
        return rejected(row.line, "the line is empty", row.content, skipped=True)
    if len(row.fields) != len(columns.all):
        reason = f"the row has {len(row.fields)} fields, there are {len(columns.all)} columns"
        return rejected(row.line, reason, row.content)
    try:
        return _concept(dict(zip(columns.all, row.fields, strict=True)), columns, row.line)
    except RowError as error:
        return rejected(row.line, error.reason, row.content, skipped=error.skipped)


def _concept(values: Mapping[str, str], columns: _Columns, line: int) -> Concept:
    label = text_cell(values[columns.name])
    for value in values.values():
        flaw = text_flaw(value)
        if flaw is not None:
            raise RowError(f"the row {flaw}")
    return Concept(
        id=id_cell(values[columns.id], columns.id),
        label=label,
        names=tuple(
            Name(text=text, scope=Scope.EXACT) for text in _list(values.get("Synonyms", ""))
        ),
        definition=values.get("Definition", "").strip() or None,
        alt_ids=tuple(_TWICE.sub("", one) for one in _list(values.get(columns.alt_ids, ""))),
        parents=_list(values.get("ParentIDs", "")),
        semantic_types=_list(values.get("SlimMappings", "")),
        line=line,
    )


def _list(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in value.split("|") if part.strip()))
