"""The tree a filter is reduced to.

Search takes this, not SQL, so that another backend can compile it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

Value = str | int | float | bool

BUILT_IN = ("id", "text", "concept_id", "scope", "line")


class Operator(str, Enum):
    """Comparison of a column with a constant."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def flipped(self) -> Operator:
        """The operator that says the same with the sides exchanged."""
        return _FLIPPED.get(self, self)


_FLIPPED = {
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A field: one of `BUILT_IN`, or a metadata field when `metadata` is set."""

    name: str
    metadata: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """`column operator value`."""

    column: Column
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class In:
    """`column IN (values)`."""

    column: Column
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """`column LIKE pattern`: % is any run, _ any one; ASCII letters in either case."""

    column: Column
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """`column BETWEEN low AND high`, both ends included."""

    column: Column
    low: Value
    high: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """`column IS NULL`: the field is empty or not there."""

    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """`NOT part`; as in SQL, a comparison with a missing field is neither true nor false."""

    part: Filter


@dataclass(frozen=True, slots=True, kw_only=True)
class And:
    """All parts hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or:
    """At least one part holds."""

    parts: tuple[Filter, ...]


Leaf = Compare | In | Like | Between | IsNull
Filter = And | Or | Not | Leaf


def columns_of(tree: Filter) -> Iterator[Column]:
    """Yield the column of every leaf."""
    if isinstance(tree, And | Or):
        for part in tree.parts:
            yield from columns_of(part)
    elif isinstance(tree, Not):
        yield from columns_of(tree.part)
    else:
        yield tree.column
