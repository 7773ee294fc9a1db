"""What changed between two linkings of the same mentions: after an update, or a re-tuning."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from mirror_index.errors import SourceError, UsageError
from mirror_index.evaluation.linking import canonical_id
from mirror_index.records import LinkStatus
from mirror_index.tables.opening import open_table
from mirror_index.tables.outcomes import ERROR, LinkSource, answer_columns

_STATUSES = (*(status.value for status in LinkStatus), ERROR)
KINDS = ("same", "moved", "concept", "gained", "lost", "status", "only_old", "only_new")
"""Same answer; probability moved; another concept; newly linked; no longer linked; another status
without a link on either side; rows that only one of the two has."""

_WINDOW = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLink:
    """One row of a linking that was written to a file."""

    line: int
    key: str
    mention: str
    status: str
    concept_id: str | None
    probability: float | None
    matched_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChange:
    """A row whose answer changed; `kind` is one of `KINDS`, a side that lacks the row is None."""

    kind: str
    key: str
    mention: str
    old: PastLink | None
    new: PastLink | None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        fields = ("line", "status", "concept_id", "probability")
        sides = {
            name: None if side is None else {one: getattr(side, one) for one in fields}
            for name, side in (("old", self.old), ("new", self.new))
        }
        return {"kind": self.kind, "key": self.key, "mention": self.mention, **sides}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksDiff:
    """Two linkings compared.

    Attributes:
        counts: rows by kind, in the order of `KINDS`.
        changes: all rows that are not the same, in the order of the new linking; rows that only the
            old one has come last.
        repeated: keys that occur several times in one of the two. Their rows are paired by equal
            answers first and then in order.
    """

    counts: Mapping[str, int]
    changes: tuple[LinkChange, ...]
    repeated: int

    @property
    def changed(self) -> bool:
        """Whether any row is not the same."""
        return bool(self.changes)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "counts": dict(self.counts),
            "repeated": self.repeated,
            "changes": [change.to_json() for change in self.changes],
        }


def read_links(
    source: str | Path | BinaryIO, *, column: str = "mention", key: str | None = None
) -> Iterator[PastLink]:
    """Read a linking: what `link` wrote as TSV, CSV, JSON lines or Parquet, or printed as JSON.

    Of a table that was linked several times the newest answers count.

    Args:
        source: the file, or an open binary stream of TSV.
        column: column of the mention.
        key: column that tells rows apart; None takes the mention.

    Raises:
        SourceError: no such column, no answers, or a row that cannot be read.
    """
    table = open_table(source)
    if not table.columns:  # JSON lines of no mentions are an empty file
        return
    answers = answer_columns(table.columns)
    if answers is None:
        raise SourceError(
            "the table has no answers",
            where=table.name,
            remedy="It needs the columns status, concept_id and probability that `link` writes",
        )
    wanted = {"mention": _place(table, column), "key": _place(table, key or column)}
    for field, name in zip(
        ("status", "concept_id", "label", "probability", "matched_name"), answers, strict=False
    ):
        if name in table.columns:
            wanted[field] = list(table.columns).index(name)
    if "parts" in table.columns:  # what `link --json` prints of a composite mention
        wanted["parts"] = list(table.columns).index("parts")
    for window in table.windows(_WINDOW):
        for row in window:
            if row.blank:
                continue
            if row.problem is not None:
                raise SourceError(row.problem, where=f"{table.name}, line {row.line}")
            cells = {field: row.cells[place] for field, place in wanted.items()}
            yield _past(cells, row.line, table.name)


def _place(table: LinkSource, column: str) -> int:
    if table.columns.count(column) != 1:
        there = "is there twice" if column in table.columns else "is not there"
        raise SourceError(
            f"the column {column!r} {there}",
            where=table.name,
            remedy=f"Name another. The table has: {', '.join(table.columns)}",
        )
    return table.columns.index(column)


def _past(cells: Mapping[str, object], line: int, name: str) -> PastLink:
    status = _text(cells["status"])
    if status not in _STATUSES:
        raise SourceError(
            "this is no status of a link",
            value=status,
            where=f"{name}, line {line}",
            remedy=f"They are: {', '.join(_STATUSES)}",
        )
    shown = cells.get("probability")
    try:
        probability = None if shown in (None, "") else float(str(shown))
    except ValueError as error:
        raise SourceError(
            "the probability is no number", value=shown, where=f"{name}, line {line}"
        ) from error
    return PastLink(
        line=line,
        key=_text(cells["key"]),
        mention=_text(cells["mention"]),
        status=status,
        concept_id=_text(cells.get("concept_id")) or _parts(cells.get("parts")),
        probability=probability,
        matched_name=_text(cells.get("matched_name")) or None,
    )


def _parts(value: object) -> str | None:
    """Return the concepts of a composite mention as a linked table spells them: ``A|B``."""
    if not isinstance(value, list):
        return None
    return "|".join(_text(part.get("concept_id")) for part in value) or None


def _text(value: object) -> str:
    return "" if value is None else str(value)


def diff_links(
    old: str | Path,
    new: str | Path,
    *,
    column: str = "mention",
    key: str | None = None,
    tolerance: float = 0.001,
) -> LinksDiff:
    """Compare two linkings row by row, whatever the order of their rows and their other columns.

    The answers of the old linking are held in memory.

    Args:
        old: the earlier linking.
        new: the later one; may be of another format.
        column: column of the mention in both.
        key: column that tells rows apart, e.g. an id; None pairs rows by mention.
        tolerance: probabilities that differ by no more are the same.

    Raises:
        SourceError: see `read_links`.
        UsageError: a tolerance that is negative or no number.
    """
    if not 0 <= tolerance:  # nor not a number
        raise UsageError("the tolerance must be 0 or more", value=tolerance, remedy="Try 0.001")
    before = _by_key(read_links(old, column=column, key=key))
    after = _by_key(read_links(new, column=column, key=key))
    repeated = {name for side in (before, after) for name, rows in side.items() if len(rows) > 1}
    counts: Counter[str] = Counter({kind: 0 for kind in KINDS})
    changes: list[LinkChange] = []
    for name in dict.fromkeys((*after, *before)):
        for pair in _paired(before.get(name, []), after.get(name, [])):
            kind = _kind(*pair, tolerance)
            counts[kind] += 1
            if kind != "same":
                shown = pair[1] or pair[0]
                assert shown is not None  # a pair has at least one side
                changes.append(
                    LinkChange(kind=kind, key=name, mention=shown.mention, old=pair[0], new=pair[1])
                )
    changes.sort(key=lambda one: (one.new is None, (one.new or one.old or _NOWHERE).line))
    return LinksDiff(counts=dict(counts), changes=tuple(changes), repeated=len(repeated))


_NOWHERE = PastLink(line=0, key="", mention="", status="", concept_id=None, probability=None)


def _by_key(rows: Iterator[PastLink]) -> dict[str, list[PastLink]]:
    found: dict[str, list[PastLink]] = {}
    for row in rows:
        found.setdefault(row.key, []).append(row)
    return found


Pair = tuple[PastLink | None, PastLink | None]


def _paired(old: Sequence[PastLink], new: Sequence[PastLink]) -> list[Pair]:
    """Pair the rows of one key: those with the same answer first, the others in order."""
    if len(old) == 1 and len(new) == 1:
        return [(old[0], new[0])]
    waiting: dict[tuple[str, str | None], deque[PastLink]] = {}
    for row in old:
        waiting.setdefault(_answer(row), deque()).append(row)
    pairs: list[Pair] = []
    others: list[PastLink] = []
    for row in new:
        same = waiting.get(_answer(row))
        if same:
            pairs.append((same.popleft(), row))
        else:
            others.append(row)
    left = sorted((row for rows in waiting.values() for row in rows), key=lambda row: row.line)
    pairs.extend(zip_longest(left, others))
    return pairs


def _answer(row: PastLink) -> tuple[str, str | None]:
    return row.status, _concepts(row)


def _concepts(row: PastLink) -> str | None:
    """Return the concepts of a row, so that the case of a prefix makes no other concept."""
    if row.concept_id is None:
        return None
    return "|".join(map(canonical_id, row.concept_id.split("|")))


def _kind(old: PastLink | None, new: PastLink | None, tolerance: float) -> str:
    if old is None or new is None:
        return "only_new" if old is None else "only_old"
    linked = LinkStatus.LINKED.value
    if (old.status == linked) != (new.status == linked):
        return "gained" if new.status == linked else "lost"
    if old.status != new.status:
        return "status"
    if _concepts(old) != _concepts(new):
        return "concept"
    # Both were printed with a few decimals: what is left beyond nine is an error of the difference.
    if round(abs((old.probability or 0.0) - (new.probability or 0.0)), 9) > tolerance:
        return "moved"
    return "same"
