"""What is odd about a dictionary or a list of texts, before anything is built of it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from mirror_index.names import name_key
from mirror_index.readers.lintstore import LintStore, NameRow
from mirror_index.readers.properties import SYNONYM_FLAW
from mirror_index.readers.scopes import NameKind, likely_slip
from mirror_index.records import (
    Concept,
    Record,
    Rejected,
    SourceItem,
    normalise_text,
    refuse_name,
)

WINDOW = 4096
LIMIT = 100
_SHORT = 2


class FindingKind(str, Enum):
    """What a finding is about; the value is how reports call it."""

    CLASH = "clashing name"
    DUPLICATE_ID = "duplicate id"
    ALT_ID = "alternative id clash"
    PARENT = "dangling parent"
    REPLACEMENT = "dangling replacement"
    CYCLE = "cyclic replacement"
    SYNONYM_PROPERTY = "unknown synonym property"
    NAME_KIND = "doubtful kind of name"
    REJECTED = "row not taken"
    SKIPPED = "row skipped"
    LABEL = "empty label"
    SHORT = "short name"
    NO_KEY = "name without letters or digits"
    INVISIBLE = "invisible character"
    SPACES = "untidy spaces"
    UNKNOWN_TOKEN = "unknown token"
    TRUNCATED = "truncated name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One oddity: where it stands, which id it is about, and what it is.

    `line` is None where the format has none.
    """

    kind: FindingKind
    what: str
    id: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """The oddities of a source.

    Attributes:
        concepts: distinct concepts (of a table, concept ids).
        names: searchable names or texts.
        counts: how many findings there are of each kind that has any.
        findings: the findings themselves, at most `limit` of each kind.
        limit: see `findings`.
    """

    concepts: int
    names: int
    counts: dict[FindingKind, int]
    findings: tuple[Finding, ...]
    limit: int

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.counts

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "concepts": self.concepts,
            "names": self.names,
            "counts": {kind.value: count for kind, count in self.counts.items()},
            "findings": [
                {"kind": one.kind.value, "line": one.line, "id": one.id, "what": one.what}
                for one in self.findings
            ],
            "limit": self.limit,
        }


class Tokens(Protocol):
    """What a tokeniser says of texts: flags in their order (`encoding.tokenising.Tokenised`)."""

    @property
    def tokens(self) -> Sequence[int]:
        """Tokens of each text, those beyond the limit included."""
        ...

    @property
    def truncated(self) -> Sequence[bool]:
        """Whether a text is read only in part."""
        ...

    @property
    def unknown(self) -> Sequence[bool]:
        """Whether a text holds something the vocabulary cannot spell."""
        ...


Tokenise = Callable[[Sequence[str]], Any]
"""Texts to `Tokens`; `Any`, because NumPy arrays are no `Sequence` to a type checker."""


def lint(
    items: Iterable[SourceItem], *, tokenise: Tokenise | None = None, limit: int = LIMIT
) -> LintReport:
    """Read items to their end and report what is odd about them.

    Names of live concepts and plain texts are looked at, each distinct spelling of a concept once.
    Names, ids and references go to a temporary SQLite file; memory holds a window of 4,096 names,
    `limit` findings of each kind, and the replacements of obsolete concepts.

    Args:
        items: what `read` yields.
        tokenise: `tokenise` of an encoder, to report unknown tokens and truncated names too.
        limit: findings kept of each kind; all are counted.

    Raises:
        MirrorIndexError: whatever reading the items raises.
    """
    refuse_name(items)
    with LintStore() as store:
        linter = _Linter(store, tokenise, limit)
        for item in items:
            linter.take(item)
        return linter.report()


@dataclass(slots=True)
class _Findings:
    limit: int
    counts: Counter[FindingKind] = field(default_factory=Counter)
    kept: list[Finding] = field(default_factory=list)

    def add(
        self, kind: FindingKind, what: str, *, id: str | None = None, line: int | None = None
    ) -> None:
        self.counts[kind] += 1
        if self.counts[kind] <= self.limit:
            self.kept.append(Finding(kind=kind, what=what, id=id, line=line or None))


class _Linter:
    def __init__(self, store: LintStore, tokenise: Tokenise | None, limit: int) -> None:
        self._store = store
        self._tokenise = tokenise
        self._found = _Findings(limit)
        self._window: list[Record] = []
        self._names = 0
        self._types: set[str] = set()

    def take(self, item: SourceItem) -> None:
        """Look at one item."""
        if isinstance(item, Rejected):
            self._rejected(item)
        elif isinstance(item, Concept):
            self._concept(item)
        else:
            self._store.add_id(item.id, item.line)
            self._record(item)

    def _rejected(self, row: Rejected) -> None:
        kind = FindingKind.SKIPPED if row.skipped else FindingKind.REJECTED
        if row.reason.startswith(SYNONYM_FLAW):
            kind = FindingKind.SYNONYM_PROPERTY
        shown = f"{row.reason}: {row.content}" if row.content.strip() else row.reason
        self._found.add(kind, shown, line=row.line)

    def _concept(self, concept: Concept) -> None:
        self._store.add_concept(concept)
        if not concept.obsolete and not concept.label.strip():
            self._found.add(
                FindingKind.LABEL, "the label is empty", id=concept.id, line=concept.line
            )
        for record in concept.records():
            self._record(record)

    def _record(self, record: Record) -> None:
        self._names += 1
        for kind, what in _oddities(record.text):
            self._found.add(kind, what, id=record.concept_id or record.id, line=record.line)
        self._kind_of(record)
        self._window.append(record)
        if len(self._window) >= WINDOW:
            self._flush()

    def _kind_of(self, record: Record) -> None:
        """Report, once, a word for the kind of a name that looks like a slip."""
        if record.scope is None or record.name_type is None or record.name_type in self._types:
            return
        self._types.add(record.name_type)
        meant = likely_slip(NameKind(record.scope, record.name_type))
        if meant is not None:
            what = f"{record.name_type!r} makes a name a related one: was {meant!r} meant?"
            self._found.add(FindingKind.NAME_KIND, what, id=record.concept_id, line=record.line)

    def _flush(self) -> None:
        window, self._window = self._window, []
        self._store.add_names(
            NameRow(name_key(one.text), one.concept_id, one.scope.value, one.text, one.line)
            for one in window
            if one.concept_id is not None and one.scope is not None
        )
        if self._tokenise is None or not window:
            return
        read = self._tokenise([normalise_text(one.text) for one in window])
        for one, tokens, cut, unknown in zip(
            window, read.tokens, read.truncated, read.unknown, strict=True
        ):
            own = one.concept_id or one.id
            if cut:
                what = f"{one.text!r} has {tokens} tokens, more than the encoder reads"
                self._found.add(FindingKind.TRUNCATED, what, id=own, line=one.line)
            if unknown:
                what = f"{one.text!r} holds something that the encoder does not know"
                self._found.add(FindingKind.UNKNOWN_TOKEN, what, id=own, line=one.line)

    def report(self) -> LintReport:
        """Look at what only the whole can tell, and return the report."""
        self._flush()
        for clash in self._store.clashes():
            what = f"{clash.names[0].text!r} names " + ", ".join(map(_holder, clash.names))
            if clash.more:
                what += f" and {clash.more} more"
            first = clash.names[0]
            self._found.add(FindingKind.CLASH, what, id=first.concept, line=first.line)
        for kind, found in (
            (FindingKind.DUPLICATE_ID, self._store.duplicate_ids()),
            (FindingKind.ALT_ID, self._store.alt_id_clashes()),
            (FindingKind.PARENT, self._store.dangling("parent")),
            (FindingKind.REPLACEMENT, self._store.dangling("replaced_by", "consider")),
            (FindingKind.CYCLE, self._store.cycles()),
        ):
            for one in found:
                self._found.add(kind, one.what, id=one.id, line=one.line)
        order = list(FindingKind)
        self._found.kept.sort(key=lambda one: (order.index(one.kind), one.line or 0))
        counts = {kind: self._found.counts[kind] for kind in order if self._found.counts[kind]}
        return LintReport(
            concepts=self._store.concepts(),
            names=self._names,
            counts=counts,
            findings=tuple(self._found.kept),
            limit=self._found.limit,
        )


def _holder(name: NameRow) -> str:
    line = "" if name.line is None else f", line {name.line}"
    return f"{name.concept} ({name.scope}{line})"


_EDGES = re.compile(r"^\s|\s$|\s\s|[^\S ]")


def _oddities(text: str) -> Iterator[tuple[FindingKind, str]]:
    bare = normalise_text(text)
    hidden = [c for c in dict.fromkeys(text) if not c.isspace() and _is_invisible(c)]
    if hidden:
        called = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in hidden)
        yield FindingKind.INVISIBLE, f"{text!r} holds {called}"
    if _EDGES.search(text) is not None:
        yield FindingKind.SPACES, f"{text!r} has spaces at an end, several in a row or unusual ones"
    if len(bare) <= _SHORT:
        yield FindingKind.SHORT, f"{text!r} has {len(bare)} characters"
    if not name_key(text):
        yield FindingKind.NO_KEY, f"{text!r} can never be an exact match"


def _is_invisible(char: str) -> bool:
    """Control and format characters, and those that stand for nothing (unassigned, private)."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cn", "Co", "Cs")
