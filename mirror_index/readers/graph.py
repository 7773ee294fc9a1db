"""What RDF says about the subjects that may be concepts, collected from its statements."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from mirror_index.errors import SourceError
from mirror_index.readers.cells import rejected
from mirror_index.readers.languages import Worded
from mirror_index.readers.properties import LABELS, OBO, OIO, SKOS, SYNONYMS, synonym_flaw
from mirror_index.readers.rdf import Statement
from mirror_index.readers.source import source_name
from mirror_index.records import Rejected

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_XL = "http://www.w3.org/2008/05/skos-xl#"

TYPE = f"{_RDF}type"
DEPRECATED_CLASS = f"{_OWL}DeprecatedClass"
CLASSES = frozenset((f"{_OWL}Class", f"{_RDFS}Class", DEPRECATED_CLASS))
CONCEPTS = frozenset((f"{SKOS}Concept",))
NARROWER = f"{SKOS}narrower"
BROADER = f"{SKOS}broader"
XL_FORM = f"{_XL}literalForm"
XL_LABELS = {f"{_XL}{name}": f"{SKOS}{name}" for name in ("prefLabel", "altLabel", "hiddenLabel")}
IMPORTS = f"{_OWL}imports"
DEFAULT_NAMESPACE = f"{OIO}default-namespace"
AXIOM = tuple(f"{_OWL}annotated{part}" for part in ("Source", "Property", "Target"))
NAME_TYPE = f"{OIO}hasSynonymType"
XREF = f"{OIO}hasDbXref"
DEPRECATED = f"{_OWL}deprecated"
OWN_ID = f"{OIO}id"
ALT_ID = f"{OIO}hasAlternativeId"
NAMESPACE = f"{OIO}hasOBONamespace"
DEFINITIONS = (f"{OBO}IAO_0000115", f"{SKOS}definition")
PARENTS = (f"{_RDFS}subClassOf", BROADER)
REPLACED_BY = (f"{OBO}IAO_0100001", "http://purl.org/dc/terms/isReplacedBy")
CONSIDER = f"{OIO}consider"
MATCH = f"{SKOS}exactMatch"
SCHEME = f"{SKOS}inScheme"
NOTATION = f"{SKOS}notation"

_USED = {
    predicate: predicate
    for predicate in (
        *LABELS,
        *SYNONYMS,
        *XL_LABELS,
        *AXIOM,
        *DEFINITIONS,
        *PARENTS,
        *REPLACED_BY,
        XL_FORM,
        NAME_TYPE,
        XREF,
        DEPRECATED,
        OWN_ID,
        ALT_ID,
        NAMESPACE,
        CONSIDER,
        MATCH,
        SCHEME,
        NOTATION,
    )
}
"""The predicates that are kept, each by itself: the one copy of it that all facts share."""


class Vocabulary(str, Enum):
    """Which subjects of RDF are concepts."""

    OWL = "owl"
    SKOS = "skos"
    BOTH = "rdf"


WANTED = {
    Vocabulary.OWL: CLASSES,
    Vocabulary.SKOS: CONCEPTS,
    Vocabulary.BOTH: CLASSES | CONCEPTS,
}


@dataclass(slots=True)
class Subject:
    """What is said of one subject: its type, where that stood, and its facts by predicate."""

    kind: str | None = None
    line: int = 0
    facts: dict[str, list[Worded]] = field(default_factory=dict)
    flaws: tuple[Rejected, ...] = ()

    def add(self, predicate: str, value: str, language: str | None = None) -> None:
        """Take one fact."""
        self.facts.setdefault(predicate, []).append(Worded(value, language))

    def worded(self, *predicates: str) -> list[Worded]:
        """Return the texts of some predicates, in the order of these."""
        return [one for predicate in predicates for one in self.facts.get(predicate, ())]

    def values(self, *predicates: str) -> list[str]:
        """Return the values of some predicates, blank nodes left out, without repeats."""
        found = (one.text for one in self.worded(*predicates))
        return list(dict.fromkeys(value for value in found if not value.startswith("_:")))

    def first(self, predicate: str) -> str | None:
        """Return the first value of a predicate, if any."""
        found = self.facts.get(predicate)
        return found[0].text if found else None

    @property
    def obsolete(self) -> bool:
        """Whether it is marked as deprecated."""
        flags = {flag.strip().lower() for flag in self.values(DEPRECATED)}
        return bool(flags & {"true", "1"}) or self.kind == DEPRECATED_CLASS


class Graph:
    """The statements that matter, by subject."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.subjects: defaultdict[str, Subject] = defaultdict(Subject)
        self.default_namespace: str | None = None
        self.remarks: list[Rejected] = []
        self.others = 0
        self._wanted = WANTED[vocabulary]
        self._vocabulary = vocabulary
        self._flaws: dict[str, str | None] = {}

    def take(self, one: Statement) -> None:
        """Keep a statement if it matters."""
        predicate = _USED.get(one.predicate)
        if predicate is not None:
            self.subjects[one.subject].add(predicate, one.value, one.language)
        elif one.predicate == TYPE:
            self._type(one)
        elif one.predicate == NARROWER:
            self.subjects[one.value].add(BROADER, one.subject)
        elif one.predicate == DEFAULT_NAMESPACE:
            self.default_namespace = one.value
        elif one.predicate == IMPORTS:
            self.remarks.append(
                rejected(one.line, "imports are not followed", one.value, skipped=True)
            )
        elif not one.node:
            self._unknown(one)

    def _type(self, one: Statement) -> None:
        if one.value in self._wanted:
            subject = self.subjects[one.subject]
            if subject.kind is None:
                subject.line = one.line
            if subject.kind is None or one.value == DEPRECATED_CLASS:
                subject.kind = one.value
        elif one.value in CLASSES or one.value in CONCEPTS:
            self.others += 1

    def _unknown(self, one: Statement) -> None:
        if one.predicate not in self._flaws:
            self._flaws[one.predicate] = synonym_flaw(one.predicate)
        flaw = self._flaws[one.predicate]
        if flaw is not None:
            content = f"{one.subject} {one.value}"
            self.subjects[one.subject].flaws += (rejected(one.line, flaw, content),)

    def check_empty(self, source: str | Path) -> None:
        """Refuse a source that has concepts, but of the vocabulary that was not asked for."""
        if self.others:
            other = "skos" if self._vocabulary is Vocabulary.OWL else "owl"
            raise SourceError(
                f"there is no concept of the format {self._vocabulary.value}, "
                f"but {self.others} of {other}",
                where=source_name(source),
                remedy=f"Name the format {other}",
            )
