"""A row of named values -> a `Record` or a `Rejected`, the same for every tabular format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mirror_index.readers.cells import (
    RowError,
    id_cell,
    plain_text,
    rejected,
    scalar_cell,
    text_cell,
)
from mirror_index.readers.layout import Layout
from mirror_index.readers.scopes import NameKind, name_kind
from mirror_index.records import Record, Scalar, Scope, SourceItem, normalise_text


@dataclass(frozen=True, slots=True)
class _Seen:
    """A name that the concept at hand has had: the rank of its scope, and where."""

    rank: int
    line: int


class RowReader:
    """Turns the rows of one source into records.

    Rows of a dictionary (a layout with a concept column) become names of concepts. Without an id
    column the label is stored under the concept's id and every other name under
    ``concept_id#name``, as `Concept.records` does; a name that a concept has had a few rows before,
    with a scope that is no worse, is skipped. Without a scope column the first name of each concept
    is its label and the others are exact synonyms.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._roles = layout.roles
        self._labelled: set[str] = set()
        # The concept at hand only: bounded memory, and dictionaries keep a concept together.
        self._concept: str | None = None
        self._names: dict[str, _Seen] = {}

    def item(
        self,
        values: Mapping[str, object],
        *,
        ordinal: int,
        line: int,
        content: str | None = None,
    ) -> SourceItem:
        """Return the record of one row, or why there is none.

        Args:
            values: the row by column name.
            ordinal: 1-based number of the row; its id when the layout has no id column.
            line: 1-based line to report.
            content: the row as the source spells it, for the excerpt; None shows `values` as JSON.
        """
        try:
            return self._record(values, ordinal, line)
        except RowError as error:
            shown = content
            if shown is None:
                shown = json.dumps(dict(values), ensure_ascii=False, default=plain_text)
            return rejected(line, error.reason, shown, skipped=error.skipped)

    def _record(self, values: Mapping[str, object], ordinal: int, line: int) -> Record:
        layout = self._layout
        text = text_cell(_field(values, layout.text))
        own_id = None if layout.id is None else id_cell(_field(values, layout.id), "id")
        metadata = {
            name: scalar_cell(name, value)
            for name, value in values.items()
            if name not in self._roles
        }
        if layout.concept is None:
            return Record(id=own_id or str(ordinal), text=text, metadata=metadata, line=line)
        concept = id_cell(_field(values, layout.concept), "concept id")
        return self._name(concept, text, own_id, self._kind(values, concept), metadata, line)

    def _kind(self, values: Mapping[str, object], concept: str) -> NameKind:
        if self._layout.scope is not None:
            value = scalar_cell(self._layout.scope, values.get(self._layout.scope))
            return name_kind("" if value is None else str(value))
        if concept in self._labelled:
            return NameKind(Scope.EXACT)
        self._labelled.add(concept)
        return NameKind(Scope.LABEL)

    def _name(
        self,
        concept: str,
        text: str,
        own_id: str | None,
        kind: NameKind,
        metadata: Mapping[str, Scalar],
        line: int,
    ) -> Record:
        if own_id is None:
            own_id = concept
            key = normalise_text(text)
            self._check_repeat(concept, key, kind, line)
            if kind.scope is not Scope.LABEL:
                own_id = f"{concept}#{key}"
        return Record(
            id=own_id,
            text=text,
            metadata=metadata,
            line=line,
            concept_id=concept,
            scope=kind.scope,
            name_type=kind.name_type,
        )

    def _check_repeat(self, concept: str, key: str, kind: NameKind, line: int) -> None:
        if concept != self._concept:
            self._concept = concept
            self._names = {}
        rank = kind.scope.rank
        earlier = self._names.get(key)
        if earlier is not None and earlier.rank <= rank:
            raise RowError(f"the name repeats line {earlier.line}", skipped=True)
        self._names[key] = _Seen(rank, line)


def _field(values: Mapping[str, object], column: str) -> object:
    if column not in values:
        raise RowError(f"there is no field {column!r}")
    return values[column]
