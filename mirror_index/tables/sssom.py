"""Linked mentions as SSSOM/TSV, the Simple Standard for Sharing Ontological Mappings, version 1.1.

https://mapping-commons.github.io/sssom/spec-formats-tsv/ - a mention has no id, so each mapping is
a literal one: `subject_type` is "rdfs literal" and `subject_label` the mention.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from mirror_index.errors import UsageError
from mirror_index.names import name_key
from mirror_index.records import Candidate, Link, LinkStatus, normalise_text
from mirror_index.tables.outcomes import LinkedRow
from mirror_index.tables.predicates import (
    BY_NAME,
    MATCH_FIELDS,
    MEASURES,
    SAME,
    candidates_of,
    justification_of,
    predicate_of,
)
from mirror_index.tables.prefixes import BUILT_IN, PREFIX, Curies

if TYPE_CHECKING:
    from mirror_index.collection import Collection

COLUMNS = (
    "subject_label",
    "predicate_id",
    "object_id",
    "object_label",
    "mapping_justification",
    "confidence",
    "object_match_field",
    "match_string",
    "similarity_score",
    "similarity_measure",
    "comment",
)
NO_TERM = "sssom:NoTermFound"
NO_LICENSE = "https://w3id.org/sssom/license/unspecified"
"""What the SSSOM tools write for a set whose license nobody stated."""

_AMBIGUOUS = {
    True: "ambiguous: several concepts fit",
    False: "ambiguous: the concept may be more general, more special or out of date",
}
"""Comment of an ambiguous answer, by whether it has several concepts."""

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SssomOptions:
    """What a mapping set says about itself.

    Attributes:
        mapping_set_id: IRI of the set; None makes a ``urn:uuid:`` from its content.
        license: IRI of its license.
        prefixes: IRI by prefix of concept ids, beside and before `curies.KNOWN_PREFIXES`.
    """

    mapping_set_id: str | None = None
    license: str = NO_LICENSE
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value in (("mapping set id", self.mapping_set_id), ("license", self.license)):
            if value is not None and not _IRI.fullmatch(value):
                raise UsageError(
                    f"the {what} is no absolute IRI", value=value, remedy="Such as https://..."
                )
        for prefix, iri in self.prefixes.items():
            if not PREFIX.fullmatch(prefix) or prefix in BUILT_IN or not _IRI.fullmatch(iri):
                raise UsageError(
                    "this prefix cannot be declared",
                    value=f"{prefix}={iri}",
                    remedy="Give PREFIX=IRI, such as HP=http://purl.obolibrary.org/obo/HP_",
                )


class SssomSink:
    """Writes one mapping per distinct mention and concept, the metadata block before them.

    The mappings go through a temporary file, as the prefixes they need are known at their end only;
    a digest of each distinct mapping is kept, some 100 bytes.

    Attributes:
        records: mappings written.
        left_out: rows without a mapping: bad ones, repeats, mentions of white space only.
        unknown_prefixes: prefixes that were declared as a ``urn:``, no IRI being known.
    """

    def __init__(self, stream: TextIO, collection: Collection, options: SssomOptions) -> None:
        self.records = 0
        self.left_out = 0
        self._stream = stream
        self._options = options
        info = collection.info()
        self._name: str = info["name"]
        self._about = f"Linked to the collection {self._name}, generation {info['generation']}"
        self._curies = Curies(options.prefixes, self._name)
        self._seen: set[bytes] = set()
        self._digest = hashlib.sha256()
        self._body = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")
        self._plain = csv.writer(self._body, delimiter="\t", lineterminator="\n")
        self._quoted = csv.writer(
            self._body, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_ALL
        )

    @property
    def unknown_prefixes(self) -> list[str]:
        """Prefixes declared as a ``urn:``."""
        return self._curies.unknown

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._body:
            if error is None:
                self._finish()

    def write(self, rows: Sequence[LinkedRow]) -> None:
        """Take the mappings of a window of rows."""
        for linked in rows:
            if linked.row.blank:
                continue
            before = self.records
            if linked.answer is not None and normalise_text(linked.mention):
                for cells in self._mappings(linked.answer):
                    self._put(cells)
            self.left_out += self.records == before

    def _put(self, cells: Sequence[str]) -> None:
        digest = hashlib.blake2b("\t".join(cells).encode(), digest_size=16).digest()
        if digest in self._seen:
            return
        self._seen.add(digest)
        self._digest.update(digest)
        # A line that begins with # could be taken for one of the metadata block.
        writer = self._quoted if cells[0].startswith("#") else self._plain
        writer.writerow(cells)
        self.records += 1

    def _mappings(self, answer: Link) -> Iterator[list[str]]:
        candidates = candidates_of(answer)
        for part in answer.parts:
            for candidate in candidates_of(part):
                yield self._part(answer, part, candidate)
        if not candidates and not answer.parts:
            yield self._nothing(answer)
        for candidate in candidates:
            yield self._mapping(answer, candidate)

    def _nothing(self, answer: Link) -> list[str]:
        curated = any(step.startswith("override:") for step in answer.trace[:1])
        likely = sum(candidate.probability for candidate in answer.candidates)
        return self._row(
            subject_label=answer.mention,
            predicate_id="skos:exactMatch",
            object_id=NO_TERM,
            mapping_justification="semapv:ManualMappingCuration"
            if curated
            else "semapv:CompositeMatching",
            confidence=_number(1.0 if curated else 1.0 - likely),
        )

    def _mapping(self, answer: Link, candidate: Candidate) -> list[str]:
        method = candidate.method
        ambiguous = answer.status is LinkStatus.AMBIGUOUS
        exact = method in BY_NAME
        same = name_key(answer.mention) == name_key(candidate.matched_name)
        return self._row(
            subject_label=answer.mention,
            predicate_id=predicate_of(answer, candidate),
            object_id=self._curies.curie(candidate.concept_id),
            object_label=normalise_text(candidate.label),
            mapping_justification=justification_of(method),
            confidence=_number(candidate.probability),
            object_match_field=self._curies.declared(MATCH_FIELDS[candidate.scope])
            if exact
            else "",
            match_string=name_key(answer.mention).replace("|", r"\|") if exact and same else "",
            similarity_score="" if method in SAME else _number(candidate.score),
            similarity_measure=MEASURES.get(method, ""),
            comment=_AMBIGUOUS[len(candidates_of(answer)) > 1] if ambiguous else "",
        )

    def _part(self, answer: Link, part: Link, candidate: Candidate) -> list[str]:
        return self._row(
            subject_label=answer.mention,
            predicate_id="skos:relatedMatch",
            object_id=self._curies.curie(candidate.concept_id),
            object_label=normalise_text(candidate.label),
            mapping_justification="semapv:CompositeMatching",
            confidence=_number(candidate.probability),
            comment=f"composite: the part {normalise_text(part.mention)!r}",
        )

    def _row(self, **cells: str) -> list[str]:
        return [cells.get(column, "") for column in COLUMNS]

    def _finish(self) -> None:
        for line in self._metadata():
            self._stream.write(f"#{line}\n")
        csv.writer(self._stream, delimiter="\t", lineterminator="\n").writerow(COLUMNS)
        self._body.seek(0)
        shutil.copyfileobj(self._body, self._stream)

    def _metadata(self) -> Iterator[str]:
        own = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, self._digest.hexdigest())}"
        source = self._curies.collection()
        yield 'sssom_version: "1.1"'
        yield "curie_map:"
        for prefix, iri in sorted(self._curies.used.items()):
            yield f"  {prefix}: {_scalar(iri)}"
        yield f"mapping_set_id: {_scalar(self._options.mapping_set_id or own)}"
        yield f"license: {_scalar(self._options.license)}"
        yield "subject_type: rdfs literal"
        yield f"object_source: {_scalar(source)}"
        yield "mapping_tool: mirror-index"
        yield f"mapping_tool_version: {_scalar(version('mirror-index'))}"
        yield f"comment: {_scalar(self._about)}"


def _number(value: float) -> str:
    return f"{min(1.0, max(0.0, value)):.4f}"


def _scalar(value: str) -> str:
    """Return a YAML scalar: plain where that is safe, else in double quotes."""
    if re.fullmatch(r"[A-Za-z][\w./:?=&~%+-]*[\w/#=_]", value, re.ASCII) and ": " not in value:
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
