"""Parsing a filter: an SQL-like expression becomes the tree of `filter_tree`.

The grammar is sqlglot's (SQLite dialect); what it parses is walked node by node, and anything that
has no place in the tree is refused with the part that is to blame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mirror_index.errors import FilterError
from mirror_index.store.filter_tree import (
    BUILT_IN,
    And,
    Between,
    Column,
    Compare,
    Filter,
    In,
    IsNull,
    Like,
    Not,
    Operator,
    Or,
    Value,
)

MAX_LENGTH = 20_000
MAX_DEPTH = 100
_EXAMPLE = "Write comparisons such as: year >= 2019 and source in ('pubmed', 'pmc')"
_PARTS = {"this", "expression", "expressions", "low", "high", "negate"}
_OPERATORS: Mapping[type[exp.Expression], Operator] = {
    exp.EQ: Operator.EQ,
    exp.NEQ: Operator.NE,
    exp.LT: Operator.LT,
    exp.LTE: Operator.LE,
    exp.GT: Operator.GT,
    exp.GTE: Operator.GE,
}


def parse_filter(text: str) -> Filter:
    """Parse one filter expression.

    Columns are `id`, `text`, `concept_id`, `scope`, `line`, or a metadata field; a name with
    unusual characters goes in double quotes, and `metadata.name` means the field even where a
    built-in column has that name.

    Raises:
        FilterError: it cannot be parsed, or holds anything but comparisons of a column with
            constants, IN, LIKE, BETWEEN, IS NULL, AND, OR and NOT.
    """
    if len(text) > MAX_LENGTH:
        raise FilterError(
            f"the filter is longer than {MAX_LENGTH} characters", value=text, remedy=_EXAMPLE
        )
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text):
        raise FilterError(
            "the filter holds a NUL character or is not valid Unicode", value=text, remedy=_EXAMPLE
        )
    try:
        _check_tokens(text)
        parsed = [one for one in sqlglot.parse(text, read="sqlite") if one is not None]
    except SqlglotError as error:
        raise FilterError(
            "the filter cannot be parsed", value=text, where=_position(error), remedy=_EXAMPLE
        ) from error
    except RecursionError as error:
        raise FilterError("the filter is nested too deeply", value=text, remedy=_EXAMPLE) from error
    if len(parsed) != 1:
        raise FilterError("the filter is empty", value=text, remedy=_EXAMPLE)
    return _walk(cast("exp.Expression", parsed[0]), 0)


def _check_tokens(text: str) -> None:
    for token in sqlglot.tokenize(text, read="sqlite"):
        if token.comments or (token.text == ";" and token.token_type.name == "SEMICOLON"):
            what = "a comment" if token.comments else "a semicolon"
            raise FilterError(
                f"the filter holds {what}",
                value=text,
                where=f"character {token.start + 1}",
                remedy=_EXAMPLE,
            )


def _position(error: SqlglotError) -> str | None:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    return None if column is None else f"line {line}, character {column}"


def _refuse(node: exp.Expression, why: str = "is not allowed in a filter") -> FilterError:
    return FilterError(f"{node.sql(dialect='sqlite')} {why}", remedy=_EXAMPLE)


def _walk(node: exp.Expression, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise FilterError("the filter is nested too deeply", remedy=_EXAMPLE)
    if isinstance(node, exp.Paren):
        return _walk(node.this, depth + 1)
    if isinstance(node, exp.And | exp.Or):
        parts = tuple(_walk(cast("exp.Expression", part), depth + 1) for part in node.flatten())
        return And(parts=parts) if isinstance(node, exp.And) else Or(parts=parts)
    if isinstance(node, exp.Not):
        return Not(part=_walk(node.this, depth + 1))
    if type(node) in _OPERATORS:
        return _compare(node)
    return _leaf(node)


def _leaf(node: exp.Expression) -> Filter:
    if _is_column(node):
        raise _refuse(node, "is a column by itself; a yes or no is compared too: = true, = false")
    leaf = _LEAVES.get(type(node))
    extras = {name for name, value in node.args.items() if value} - _PARTS
    if leaf is None or extras:
        raise _refuse(node)
    # How "x NOT LIKE y" is parsed depends on sqlglot's version: as a negated LIKE, or inside a NOT.
    return Not(part=leaf(node)) if node.args.get("negate") else leaf(node)


def _compare(node: exp.Expression) -> Compare:
    operator = _OPERATORS[type(node)]
    left, right = node.this, node.expression
    if _is_column(left):
        return Compare(column=_column(left), operator=operator, value=_value(right))
    if _is_column(right):
        return Compare(column=_column(right), operator=operator.flipped, value=_value(left))
    raise _refuse(
        node,
        "does not compare a column with a constant (an unusual name of a column goes in double "
        "quotes)",
    )


def _in(node: exp.Expression) -> In:
    if not node.expressions:
        raise _refuse(node, "is not a list of constants")
    return In(column=_column(node.this), values=tuple(_value(value) for value in node.expressions))


def _like(node: exp.Expression) -> Like:
    pattern = _value(node.expression)
    if not isinstance(pattern, str):
        raise _refuse(node, "needs a text pattern")
    return Like(column=_column(node.this), pattern=pattern)


def _between(node: exp.Expression) -> Between:
    return Between(
        column=_column(node.this), low=_value(node.args["low"]), high=_value(node.args["high"])
    )


def _is(node: exp.Expression) -> IsNull:
    if not isinstance(node.expression, exp.Null):
        raise _refuse(node, "has something else than NULL after IS; compare with = instead")
    return IsNull(column=_column(node.this))


_LEAVES: Mapping[type[exp.Expression], Callable[[exp.Expression], Filter]] = {
    exp.In: _in,
    exp.Like: _like,
    exp.Between: _between,
    exp.Is: _is,
}


def _is_column(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column)


def _column(node: exp.Expression) -> Column:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        raise _refuse(node, "is not the name of a column")
    table = node.table
    if node.args.get("db") or (table and table.lower() != "metadata"):
        raise _refuse(node, "is not the name of a column; only metadata.name may hold a dot")
    if not table and node.name.lower() in BUILT_IN:
        return Column(name=node.name.lower(), metadata=False)
    return Column(name=node.name, metadata=True)


def _value(node: exp.Expression) -> Value:
    if isinstance(node, exp.Paren):
        return _value(node.this)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg):
        inner = _value(node.this)
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            return -inner
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(node)
    raise _refuse(node, "is not a constant; text goes in single quotes")


def _number(node: exp.Literal) -> int | float:
    try:
        number = int(node.this)
    except ValueError:
        return float(node.this)
    # SQLite integers have 64 bits; a larger one can only be compared as a float.
    return number if abs(number) < 1 << 63 else float(number)
