"""What a change did, and what a check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """What one change did, in numbers.

    Attributes:
        verb: build, add, update, delete or compact.
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
        truncated: newly stored texts that the encoder read only in part.
        unknown: newly stored texts with a token unknown to the tokenizer.
        collisions: newly stored texts whose vector equals that of an earlier text.
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
    """How the encoder read the text of a record, and where the record came from."""

    record_id: str
    text: str
    tokens: int
    truncated: bool
    unknown: bool
    line: int | None
