"""JSON Lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.readers.cells import RowError, rejected, text_flaw
from mirror_index.readers.layout import ID_NAMES, Layout, resolve_layout
from mirror_index.readers.rows import RowReader
from mirror_index.readers.source import Line, empty_source, source_name, text_lines
from mirror_index.records import SourceItem


def read_jsonl(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield one record per line; the first object decides which fields are the text and the id.

    Metadata keeps its JSON type; lists and objects become JSON text. An id may be a whole number; a
    text must be a string (null counts as empty). Lines that are no JSON object, name a field twice,
    or lack the text or id field are rejected.

    Raises:
        SourceError: the source cannot be read, is empty, or its first object has no usable field.
    """
    with text_lines(source, options.encoding) as lines:
        layout: Layout | None = None
        reader: RowReader | None = None
        ordinal = 0
        for ordinal, line in enumerate(lines, 1):
            if not line.body.strip():
                yield rejected(line.number, "the line is empty", line.text, skipped=True)
                continue
            try:
                values = _object(line)
                if layout is None or reader is None:
                    layout = resolve_layout(list(values), options, source_name(source))
                    reader = RowReader(layout, source)
                _check_id_field(layout, values)
            except RowError as error:
                yield rejected(line.number, error.reason, line.text)
                continue
            yield reader.item(values, ordinal=ordinal, line=line.number, content=line.text)
        if ordinal == 0:
            raise empty_source(source)


def _object(line: Line) -> dict[str, object]:
    flaw = text_flaw(line.text)
    if flaw is not None:
        raise RowError(f"the line {flaw}")
    try:
        value = json.loads(line.body, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise RowError(f"not JSON: {error.msg} at character {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        raise RowError(f"not usable JSON: {error}") from error
    if not isinstance(value, dict):
        raise RowError("not a JSON object")
    for name in value:
        flaw = text_flaw(name)
        if flaw is not None:
            raise RowError(f"the name of a field {flaw}")
    return value


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError(f"the field {twice!r} occurs twice")
    return values


def _check_id_field(layout: Layout, values: dict[str, object]) -> None:
    """Refuse an id that appears only after the first object: rows are numbered by then."""
    if layout.id is None:
        for name in ID_NAMES:
            if name in values and name != layout.text:
                raise RowError(f"there is a field {name!r}, but the first object has none")
