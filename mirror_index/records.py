"""The frozen dataclasses that travel through everything: what is read, stored, found and linked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike

from mirror_index.errors import UsageError

Scalar = str | int | float | bool | None
Metadata = Mapping[str, Scalar]


def normalise_text(text: str) -> str:
    """Return the form under which two texts count as the same and are encoded once.

    Unicode NFC; every run of white space (line breaks included) becomes one space; ends are
    trimmed. Case, punctuation and everything else stay: the tokenizer of the encoder decides about
    those.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def several(texts: Sequence[str]) -> Sequence[str]:
    """Return texts as they are, unless they are one text, each letter of which would be one.

    Raises:
        UsageError: one text where a list of them is wanted, no list, or one of other things.
    """
    if isinstance(texts, str):
        raise UsageError("one text where several are wanted", value=texts, remedy="Pass a list")
    if not hasattr(texts, "__len__"):
        raise UsageError("texts are wanted in a list", value=texts, remedy="Pass a list")
    for text in texts:
        if not isinstance(text, str):
            raise UsageError("this is not a text", value=text, remedy="Pass a list of strings")
    return texts


def several_ids(ids: Iterable[str]) -> Iterable[str]:
    """Return ids as they are, unless they are one id, each letter of which would be one.

    Raises:
        UsageError: one id where several are wanted.
    """
    if isinstance(ids, str):
        raise UsageError("one id where several are wanted", value=ids, remedy="Pass a list")
    return ids


def refuse_name(items: object) -> None:
    """Refuse the name of a source where what is read of it is wanted: its letters would be items.

    Raises:
        UsageError: a path, or a text.
    """
    if isinstance(items, str | PathLike):
        raise UsageError(
            "the name of a source where its items are wanted",
            value=str(items),
            remedy="Pass mirror_index.read(...) of it",
        )


class Scope(str, Enum):
    """How a name relates to its concept (OBO synonym scopes, with the label above them)."""

    LABEL = "label"
    EXACT = "exact"
    NARROW = "narrow"
    BROAD = "broad"
    RELATED = "related"

    @property
    def rank(self) -> int:
        """0 for a label, rising as the name says less about the concept."""
        return list(Scope).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row of a collection: an id, its text, and what else is known about it.

    Attributes:
        id: unique within a collection; always text, never parsed as a number.
        text: as the source spells it; stored raw, encoded after `normalise_text`.
        metadata: JSON scalars by name, searchable with ``--where``.
        line: 1-based line (or row) of the source, when it came from one.
        concept_id: the concept this text names, when the source is a dictionary or ontology.
        scope: relation of the name to the concept; None for a plain record.
        name_type: the source's own word for the kind of name, e.g. "layperson" or "abbreviation".
    """

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    line: int | None = None
    concept_id: str | None = None
    scope: Scope | None = None
    name_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One name of a concept other than its label; `language` is a tag such as ``en-GB``."""

    text: str
    scope: Scope
    name_type: str | None = None
    xrefs: tuple[str, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """A concept of an ontology or dictionary.

    An obsolete concept has no searchable names; `replaced_by` and `consider` say where it went.
    `language` is that of the label, where the source tells.
    """

    id: str
    label: str
    names: tuple[Name, ...] = ()
    definition: str | None = None
    alt_ids: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    semantic_types: tuple[str, ...] = ()
    obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    line: int | None = None
    language: str | None = None

    def records(self) -> Iterator[Record]:
        """Yield a record per distinct name: the label under the id, others under ``id#name``.

        A name that occurs twice keeps its best scope (label, exact, narrow, broad, related). The
        language of a name becomes its metadata `language`. An obsolete concept yields nothing.
        """
        if self.obsolete:
            return
        seen: set[str] = set()
        label = Name(text=self.label, scope=Scope.LABEL, language=self.language)
        for name in (label, *sorted(self.names, key=lambda n: n.scope.rank)):
            text = normalise_text(name.text)
            if not text or text in seen:
                continue
            seen.add(text)
            yield Record(
                id=self.id if name.scope is Scope.LABEL else f"{self.id}#{text}",
                text=name.text,
                metadata={} if name.language is None else {"language": name.language},
                line=self.line,
                concept_id=self.id,
                scope=name.scope,
                name_type=name.name_type,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A row that was not taken: where it stood, why, and an excerpt (200 characters at most).

    `skipped` rows (e.g. an empty text) are counted and listed but do not make a run "quarantined".
    `source` is filled when the row comes back out of a collection.
    """

    line: int
    reason: str
    content: str = ""
    skipped: bool = False
    source: str | None = None


SourceItem = Record | Concept | Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSize:
    """How many rows a source holds at most, and how that is known, e.g. "lines counted"."""

    rows: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One search result: `score` is the exact cosine in [-1, 1], `rank` counts from 1.

    `path` says how it was found: "exact", "candidates" (an approximate index, re-scored exactly) or
    "widened" (the approximate index gave too few, so the search was widened). `legs` gives the
    rank in each leg of a hybrid search, e.g. ``{"dense": 3, "words": 1}``.
    """

    query: str
    rank: int
    id: str
    text: str
    score: float
    metadata: Metadata
    path: str = "exact"
    concept_id: str | None = None
    scope: Scope | None = None
    legs: Mapping[str, int] | None = None


class LinkStatus(str, Enum):
    """Outcome of linking one mention."""

    LINKED = "linked"
    AMBIGUOUS = "ambiguous"
    NIL = "nil"
    EMPTY = "empty"
    COMPOSITE = "composite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A concept proposed for a mention, with the name that brought it and how it was matched."""

    concept_id: str
    label: str
    score: float
    probability: float
    matched_name: str
    scope: Scope
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The answer for one mention; concept fields are None unless it is linked or ambiguous.

    A composite mention ("breast and ovarian cancer") has the answers for its `parts`, each linked
    or ambiguous, and no concept of its own; `parts` is empty for all others.

    `score` is the cosine (1.0 for an exact-layer match), `probability` the calibrated chance that
    the concept is right, `margin` the probability gap to the runner-up, `trace` the steps taken in
    order.
    """

    mention: str
    status: LinkStatus
    concept_id: str | None = None
    label: str | None = None
    score: float | None = None
    probability: float | None = None
    matched_name: str | None = None
    scope: Scope | None = None
    method: str | None = None
    margin: float | None = None
    candidates: tuple[Candidate, ...] = ()
    trace: tuple[str, ...] = ()
    parts: tuple[Link, ...] = ()
