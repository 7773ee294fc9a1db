"""What a change did, and what a check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """What one change did, in numbers.

    Attributes:
        verb: build, add, update, sync, delete, rollback, compact or repair.
        generation: number of the committed state.
        added: records that are new.
        updated: records that were replaced.
        deleted: records that were removed.
        unchanged: records that were there already with the same content.
        duplicates: repeated ids that were dropped by the duplicate policy or because nothing
            differed.
        skipped: rows without content (an empty text), or ids to delete that were not there.
        quarantined: rows that could not be taken.
        texts_encoded: distinct texts that were encoded.
        texts_reused: distinct texts whose vector was there already, also from an interrupted run.
        truncated: newly stored texts (of a build: all) that the encoder read only in part.
        unknown: of these texts, those with a token unknown to the tokenizer.
        collisions: of these texts, those whose vector equals that of an earlier text.
        records: records after the change.
        seconds: wall time.
    """

    verb: str
    generation: int
    added: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    duplicates: int = 0
    skipped: int = 0
    quarantined: int = 0
    texts_encoded: int = 0
    texts_reused: int = 0
    truncated: int = 0
    unknown: int = 0
    collisions: int = 0
    records: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedState:
    """One committed state of a collection.

    Attributes:
        generation: its number.
        committed_at: time in UTC, ISO 8601.
        verb: the change that made it.
        source: what that change read, None when it read nothing.
        records: records it holds.
        texts: distinct texts in use.
        concepts: concepts it holds.
        counts: what the change did: added, updated, deleted, unchanged, skipped, quarantined.
        returned_to: the generation a rollback went back to, None for any other change.
        reachable: whether `rollback` can go back to it; the current state counts as reachable.
    """

    generation: int
    committed_at: str
    verb: str
    source: str | None
    records: int
    texts: int
    concepts: int
    counts: dict[str, int]
    returned_to: int | None
    reachable: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that `verify` found wrong.

    Attributes:
        kind: a short word to select by, e.g. "vectors", "ann", "database", "encoder", "leftover".
        where: the file or table.
        what: what is wrong.
        remedy: what to do about it.
    """

    kind: str
    where: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Outcome of `verify`: the problems, and what was checked.

    Leftovers of an interrupted run are listed as problems of kind "leftover"; they harm nothing and
    the next writer removes them.

    Attributes:
        problems: what was found.
        checked: what was looked at.
        recall: fields of `index.calibration.measure` when recall was measured again.
    """

    problems: tuple[Problem, ...]
    checked: tuple[str, ...]
    recall: Mapping[str, Any] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing at all was found."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"ok": self.ok, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextAudit:
    """How the encoder read the text of a record, and where the record came from.

    Attributes:
        record_id: the record.
        text: its text, as the source spells it.
        tokens: how many the text has, those that were cut included.
        truncated: whether the encoder read only a part.
        unknown: whether a token is unknown to the tokenizer.
        line: line of the source.
        collides_with: another text with the same vector, which no search can tell from this one.
    """

    record_id: str
    text: str
    tokens: int
    truncated: bool
    unknown: bool
    line: int | None
    collides_with: str | None = None
