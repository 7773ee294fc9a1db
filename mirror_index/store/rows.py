"""Records and concepts in the shape of table rows, with their hashes and checksums."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mirror_index.names import name_key
from mirror_index.records import Concept, Metadata, Record, Rejected, Scope, normalise_text
from mirror_index.store.layout import checksum, text_hash

CONCEPT_FIELDS = (
    "id, label, definition, obsolete, derived, replaced_by, consider, alt_ids, parents, "
    "semantic_types, xrefs, source_line, content_hash"
)
CONCEPT_COLUMNS = f"{CONCEPT_FIELDS}, checksum"
_SCOPES = tuple(scope.value for scope in Scope)
_OBSOLETE_PREFIX = "obsolete "


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRecord:
    """A record ready to be staged.

    Attributes:
        id: the record's id.
        text: the normalised text, which is what gets encoded.
        hash: `text_hash` of it.
        raw: the text as the source spells it; None when equal to `text`.
        metadata: canonical JSON.
        concept_id: the concept it names.
        scope: value of its `Scope`, None for a plain record.
        name_type: the source's word for the kind of name.
        line: line of the source.
        key: exact-layer key of a name; None for a plain record.
        of_concept: whether it came out of a `Concept`.
    """

    id: str
    text: str
    hash: bytes
    raw: str | None
    metadata: str
    concept_id: str | None
    scope: str | None
    name_type: str | None
    line: int | None
    key: str | None
    of_concept: bool

    def values(self) -> tuple[Any, ...]:
        """Return the columns of the staging table after the position."""
        naming = (self.concept_id, self.scope, self.name_type)
        fields = (self.id, self.hash, self.raw, self.metadata, *naming, self.line)
        return (*fields, checksum(fields), self.key, int(self.of_concept))


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedName:
    """A name of an obsolete concept, for the exact layer only."""

    key: str
    text: str
    concept_id: str
    scope: str
    name_type: str | None

    def values(self) -> tuple[Any, ...]:
        """Return the columns of the staging table."""
        fields = (self.key, self.text, self.concept_id, self.scope, self.name_type)
        return (*fields, checksum(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptRow:
    """A concept as a row; `content_hash` also covers its names, to tell a change."""

    id: str
    columns: tuple[Any, ...]
    content_hash: str
    line: int | None = None

    def values(self) -> tuple[Any, ...]:
        """Return the columns of `concepts` in the order of `CONCEPT_COLUMNS`."""
        fields = (*self.columns, self.content_hash)
        return (*fields, checksum(fields))


def rejected_values(row: Rejected) -> tuple[Any, ...]:
    """Return a row that was not taken as line, reason, content, skipped and checksum."""
    content = row.content[:200].encode("utf-8", "replace").decode()
    fields = (row.line, row.reason, content, int(row.skipped))
    return (*fields, checksum(fields))


def stage_record(record: Record, *, of_concept: bool = False) -> StagedRecord | Rejected:
    """Return the row of a record, or why it cannot be taken.

    An empty text is skipped; text that is not valid Unicode, NUL characters, an empty id, what is
    no string, no scope, or metadata that JSON cannot hold are rejected.
    """
    flaw = _of_another_type(record)
    if flaw is not None:
        return Rejected(line=record.line or 0, reason=flaw, content=repr(record.id)[:200])
    text = normalise_text(record.text)
    if not text:
        return _rejected(record, "the text is empty", skipped=True)
    metadata = _metadata_json(record.metadata)
    reason = _unusable(record, text, metadata)
    if reason is not None:
        return _rejected(record, reason)
    scope = None if record.scope is None else Scope(record.scope).value
    if record.concept_id is not None and scope is None:
        scope = Scope.EXACT.value
    return StagedRecord(
        id=record.id,
        text=text,
        hash=text_hash(text),
        raw=None if record.text == text else record.text,
        metadata=metadata,
        concept_id=record.concept_id,
        scope=scope,
        name_type=record.name_type,
        line=record.line,
        key=None if record.concept_id is None else name_key(record.text),
        of_concept=of_concept,
    )


def _of_another_type(record: Record) -> str | None:
    """Return what of a record a program made is no string where one is due, None if all are."""
    for name in ("id", "text", "concept_id", "name_type"):
        value = getattr(record, name)
        if not isinstance(value, str) and (value is not None or name in ("id", "text")):
            return f"the {name} is no string but {value!r}"[:200]
    if not (record.scope is None or record.scope in _SCOPES):
        return f"the scope {record.scope!r} is none of {', '.join(_SCOPES)}"
    return None


def _unusable(record: Record, text: str, metadata: str) -> str | None:
    fields = (record.id, text, record.concept_id or "", record.name_type or "")
    if not record.id:
        return "the id is empty"
    if any("\0" in value for value in fields):
        return "the id or text holds a NUL character"
    if not _is_unicode("".join(fields) + metadata):
        return "the id, text or metadata is not valid Unicode"
    for name, value in record.metadata.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"metadata {name!r} is not a finite number"
        if value is not None and not isinstance(value, str | int | float | bool):
            return f"metadata {name!r} is neither text, number, boolean nor empty"
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# `json.dumps` makes an encoder a call
_encode_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).encode


def _metadata_json(metadata: Metadata) -> str:
    if not metadata:
        return "{}"
    return _encode_json(dict(metadata))


def _rejected(record: Record, reason: str, *, skipped: bool = False) -> Rejected:
    content = f"{record.id}\t{record.text}".encode("utf-8", "replace").decode()[:200]
    return Rejected(
        line=record.line or 0,
        reason=reason,
        content=content.replace("\0", "\ufffd"),
        skipped=skipped,
    )


def concept_problem(concept: Concept) -> Rejected | None:
    """Return why a concept cannot be taken, None when it can."""
    texts = [concept.id, concept.label, concept.definition or ""]
    texts += [value for values in _lists(concept) for value in values]
    texts += [text for name in concept.names for text in (name.text, name.name_type or "")]
    joined = "\n".join(texts)
    reason = None
    if not concept.id:
        reason = "the id of the concept is empty"
    elif "\0" in joined:
        reason = "the concept holds a NUL character"
    elif not _is_unicode(joined):
        reason = "the concept is not valid Unicode"
    if reason is None:
        return None
    record = Record(id=concept.id, text=concept.label, line=concept.line)
    return _rejected(record, reason)


def stage_concept(concept: Concept) -> ConceptRow:
    """Return the row of a concept given by its source."""
    content = json.dumps(
        [
            concept.id,
            concept.label,
            [[n.text, n.scope.value, n.name_type] for n in concept.names],
            concept.definition,
            concept.obsolete,
            *_lists(concept),
            *_languages(concept),
        ],
        ensure_ascii=False,
    )
    columns = (
        concept.id,
        concept.label,
        concept.definition,
        int(concept.obsolete),
        0,
        *(json.dumps(values, ensure_ascii=False) for values in _lists(concept)),
        concept.line,
    )
    return ConceptRow(
        id=concept.id,
        columns=columns,
        content_hash=text_hash(content).hex(),
        line=concept.line,
    )


def _lists(concept: Concept) -> tuple[tuple[str, ...], ...]:
    return (
        concept.replaced_by,
        concept.consider,
        concept.alt_ids,
        concept.parents,
        concept.semantic_types,
        concept.xrefs,
    )


def _languages(concept: Concept) -> list[list[str | None]]:
    """Return the languages of all names in one list, no list where no name has one."""
    languages = [concept.language, *(name.language for name in concept.names)]
    return [languages] if any(languages) else []


def derived_concept(id_: str, label: str) -> ConceptRow:
    """Return the row of a concept that is known by its names only, under its best name."""
    columns = (id_, label, None, 0, 1, *["[]"] * 6, None)
    return ConceptRow(id=id_, columns=columns, content_hash="")


def obsolete_names(concept: Concept) -> Iterator[StagedName]:
    """Yield the names of an obsolete concept, "obsolete x" also as plain "x"."""
    if not concept.obsolete:
        return
    seen: set[tuple[str, str]] = set()
    names: list[tuple[str, Scope, str | None]] = [(concept.label, Scope.LABEL, None)]
    names += [(name.text, name.scope, name.name_type) for name in concept.names]
    for text, scope, name_type in names:
        for name in obsolete_spellings(text, concept.id, scope.value, name_type):
            if (name.key, text) not in seen:
                seen.add((name.key, text))
                yield name


def obsolete_spellings(
    text: str, concept_id: str, scope: str, name_type: str | None
) -> Iterator[StagedName]:
    """Yield the rows of one name of an obsolete concept, one for each key it has."""
    for key in dict.fromkeys(name_key(spelling) for spelling in _spellings(text)):
        if key:
            yield StagedName(
                key=key, text=text, concept_id=concept_id, scope=scope, name_type=name_type
            )


def _spellings(text: str) -> tuple[str, ...]:
    stripped = normalise_text(text)
    if stripped.lower().startswith(_OBSOLETE_PREFIX):
        return (text, stripped[len(_OBSOLETE_PREFIX) :])
    return (text,)
