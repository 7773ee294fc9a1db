"""Which column of a table is what: decided once from the column names and the options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError

TEXT_NAMES = ("text", "name", "label", "title", "sentence")
ID_NAMES = ("id", "_id")
CONCEPT_NAMES = ("concept_id",)
SCOPE_NAMES = ("kind", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The role of each column by name; the columns without a role are metadata.

    Attributes:
        text: column with the text.
        id: column with the record id; None numbers the rows.
        concept: column with the concept id; None for rows that are not names of concepts.
        scope: column with the kind of each name; only beside `concept`.
    """

    text: str
    id: str | None = None
    concept: str | None = None
    scope: str | None = None

    @property
    def roles(self) -> frozenset[str]:
        """The columns that are not metadata."""
        return frozenset(c for c in (self.text, self.id, self.concept, self.scope) if c is not None)


def resolve_layout(columns: Sequence[str], options: ReadOptions, where: str) -> Layout:
    """Return the layout of a table with these columns.

    A column named in the options must be there with that exact spelling. The others are found by
    their usual names, whatever the case: see `ReadOptions`. Failing those, the text is the only
    column that has no other role.

    Raises:
        SourceError: a named column is absent, a name occurs twice, or no column can be the text.
    """
    _check_distinct(columns, where)
    asked = (
        options.text_column,
        options.id_column,
        options.concept_column,
        options.scope_column,
    )
    for column in asked:
        if column is not None and column not in columns:
            raise SourceError("no such column", value=column, where=where, remedy=_listed(columns))
    free = [column for column in columns if column not in asked]
    concept = options.concept_column or _usual(CONCEPT_NAMES, free)
    scope = options.scope_column
    if concept is None and scope is not None:
        raise SourceError(
            "a scope column needs a concept column",
            value=scope,
            where=where,
            remedy="Name the column with the concept ids. " + _listed(columns),
        )
    if concept is not None and scope is None:
        scope = _usual(SCOPE_NAMES, free)
    record_id = options.id_column or _usual(ID_NAMES, free)
    text = options.text_column or _text_column(columns, free, {record_id, concept, scope})
    if text is None:
        raise SourceError(
            "no column can be taken as the text",
            where=where,
            remedy="Name the text column (--text-column). " + _listed(columns),
        )
    if text == record_id and options.id_column is None:
        record_id = None  # the only column, and it happens to be called `id`
    return Layout(text=text, id=record_id, concept=concept, scope=scope)


def _text_column(columns: Sequence[str], free: Iterable[str], taken: set[str | None]) -> str | None:
    left = [column for column in free if column not in taken]
    usual = _usual(TEXT_NAMES, left)
    if usual is not None:
        return usual
    if len(left) == 1:
        return left[0]
    return columns[0] if len(columns) == 1 else None


def _usual(names: Sequence[str], columns: Iterable[str]) -> str | None:
    """Return the first of `names` that is a column: spelled so, else in another case."""
    columns = list(columns)
    for name in names:
        if name in columns:
            return name
        for column in columns:
            if column.lower() == name:
                return column
    return None


def _check_distinct(columns: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise SourceError(
                "a column name occurs twice",
                value=column,
                where=where,
                remedy="Rename one of the two columns",
            )
        seen.add(column)


def _listed(columns: Sequence[str]) -> str:
    return "The columns are: " + ", ".join(columns)
