"""A row of named values -> a `Record` or a `Rejected`, the same for every tabular format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

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
from mirror_index.readers.source import id_prefix
from mirror_index.records import Record, Scalar, Scope, SourceItem, normalise_text


class RowReader:
    """Turns the rows of one source into records.

    Rows of a dictionary (a layout with a concept column) become names of concepts. Without a scope
    column the first name of each concept is its label and the others are exact synonyms. Without an
    id column the label is stored under the concept's id and every other name under
    ``concept_id#name``, as `Concept.records` does, and then no repeat makes an id occur twice:

    - a further label of a concept is an exact synonym of type ``preferred``;
    - a name that its concept has had, wherever in the source, with a scope as good or better is
      skipped, and one that comes back with a better scope is stored once more, under
      ``concept_id# scope#name`` (under ``concept_id`` as its label).

    For this a digest of each name of a dictionary is kept, about 130 bytes a name; nothing of other
    sources is.
    """

    def __init__(self, layout: Layout, source: str | Path) -> None:
        self._layout = layout
        self._prefix = id_prefix(source)
        self._roles = layout.roles
        self._labelled: set[str] = set()
        # By digest of concept and name: the line and the rank of the scope, packed in one number.
        self._names: dict[bytes, int] = {}

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
            ordinal: 1-based number of the row, the end of its id when there is no id column.
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
            own_id = own_id or f"{self._prefix}{ordinal}"
            return Record(id=own_id, text=text, metadata=metadata, line=line)
        concept = id_cell(_field(values, layout.concept), "concept id")
        return self._name(concept, text, own_id, self._kind(values, concept), metadata, line)

    def _kind(self, values: Mapping[str, object], concept: str) -> NameKind:
        column = self._layout.scope
        if column is None:
            return NameKind(Scope.LABEL if self._is_first(concept) else Scope.EXACT)
        value = scalar_cell(column, values.get(column))
        kind = name_kind("" if value is None else str(value))
        if kind.scope is not Scope.LABEL or self._layout.id is not None or self._is_first(concept):
            return kind
        return NameKind(Scope.EXACT, kind.name_type or "preferred")

    def _is_first(self, concept: str) -> bool:
        first = concept not in self._labelled
        self._labelled.add(concept)
        return first

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
            key = normalise_text(text)
            own_id = self._name_id(concept, key, kind.scope, line)
        return Record(
            id=own_id,
            text=text,
            metadata=metadata,
            line=line,
            concept_id=concept,
            scope=kind.scope,
            name_type=kind.name_type,
        )

    def _name_id(self, concept: str, key: str, scope: Scope, line: int) -> str:
        digest = blake2b(f"{concept}\0{key}".encode(), digest_size=16).digest()
        earlier = self._names.get(digest)
        if earlier is not None and earlier % len(Scope) <= scope.rank:
            reason = f"the name repeats line {earlier // len(Scope)}"
            raise RowError(reason, skipped=True)
        self._names[digest] = line * len(Scope) + scope.rank
        if scope is Scope.LABEL:
            return concept
        if earlier is None:
            return f"{concept}#{key}"
        # The id is taken by a record that is out of reach. The space keeps the new one apart from
        # the ids of all names, none of which begins with one.
        return f"{concept}# {scope.value}#{key}"


def _field(values: Mapping[str, object], column: str) -> object:
    if column not in values:
        raise RowError(f"there is no field {column!r}")
    return values[column]
