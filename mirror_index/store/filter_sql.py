"""Compiling a filter for SQLite: a predicate over `records` joined with `texts`.

A number is compared as a number also where the field holds text that looks like one ("2019" from a
CSV file); a text is compared with the field as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mirror_index.store.filter_tree import (
    And,
    Between,
    Column,
    Compare,
    Filter,
    In,
    IsNull,
    Leaf,
    Not,
    Operator,
    Or,
    Value,
)

_BUILT_IN = {
    "id": "records.id",
    "text": "coalesce(records.raw, texts.text)",
    "concept_id": "records.concept_id",
    "scope": "records.scope",
    "line": "records.source_line",
}
_INFINITY = "CAST(9e999 AS REAL)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """An SQL condition with its bound parameters."""

    sql: str
    parameters: tuple[object, ...] = ()


EVERYTHING = Predicate(sql="1")


def compile_filter(tree: Filter) -> Predicate:
    """Compile a filter tree."""
    if isinstance(tree, And | Or):
        parts = [compile_filter(part) for part in tree.parts]
        word = " AND " if isinstance(tree, And) else " OR "
        return _join(word, parts)
    if isinstance(tree, Not):
        part = compile_filter(tree.part)
        return Predicate(sql=f"(NOT {part.sql})", parameters=part.parameters)
    return _leaf(tree)


def _join(word: str, parts: Sequence[Predicate]) -> Predicate:
    """Join in halves: SQLite reads a flat chain as a tree as deep as it is long, 1,000 at most."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = _join(word, parts[:middle]), _join(word, parts[middle:])
    return Predicate(
        sql=f"({left.sql}{word}{right.sql})", parameters=(*left.parameters, *right.parameters)
    )


def _leaf(leaf: Leaf) -> Predicate:
    if isinstance(leaf, Compare):
        return _compare(leaf.column, leaf.operator, leaf.value)
    if isinstance(leaf, In):
        return _join(" OR ", [_compare(leaf.column, Operator.EQ, one) for one in leaf.values])
    if isinstance(leaf, Between):
        ends = ((Operator.GE, leaf.low), (Operator.LE, leaf.high))
        return _join(" AND ", [_compare(leaf.column, *end) for end in ends])
    column = column_sql(leaf.column)
    if isinstance(leaf, IsNull):
        return Predicate(sql=f"({column.sql} IS NULL)", parameters=column.parameters)
    return Predicate(
        sql=f"(CAST({column.sql} AS TEXT) LIKE ?)", parameters=(*column.parameters, leaf.pattern)
    )


def _compare(column: Column, operator: Operator, value: Value) -> Predicate:
    field = column_sql(column)
    if isinstance(value, str):
        return Predicate(
            sql=f"(CAST({field.sql} AS TEXT) {operator.value} ?)",
            parameters=(*field.parameters, value),
        )
    # A bare expression beside a NUMERIC one is converted when it looks like a number (SQLite,
    # "Affinity of comparison operands"); text that does not sorts above every number, hence the
    # second condition. The unary plus takes away the affinity of a TEXT column.
    sql = f"(+{field.sql} {operator.value} CAST(? AS NUMERIC))"
    parameters = (*field.parameters, value)
    if operator in (Operator.GT, Operator.GE):
        sql = f"({sql} AND +{field.sql} <= {_INFINITY})"
        parameters = (*parameters, *field.parameters)
    return Predicate(sql=sql, parameters=parameters)


def column_sql(column: Column) -> Predicate:
    """Return the SQL for a column's value; a metadata name is bound, never pasted."""
    if not column.metadata:
        return Predicate(sql=_BUILT_IN[column.name])
    if any(char in '"\\' or ord(char) < 32 for char in column.name):
        # A JSON path has no way to write these.
        return Predicate(
            sql="(SELECT json_each.value FROM json_each(records.metadata) WHERE json_each.key = ?)",
            parameters=(column.name,),
        )
    return Predicate(sql="json_extract(records.metadata, ?)", parameters=(f'$."{column.name}"',))
