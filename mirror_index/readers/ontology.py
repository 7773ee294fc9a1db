"""OWL classes and SKOS concepts out of RDF, whatever order its statements come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.readers.cells import RowError, rejected, text_flaw
from mirror_index.readers.curies import curie, type_name
from mirror_index.readers.graph import (
    ALT_ID,
    AXIOM,
    CONCEPTS,
    CONSIDER,
    DEFINITIONS,
    MATCH,
    NAME_TYPE,
    NAMESPACE,
    NOTATION,
    OWN_ID,
    PARENTS,
    REPLACED_BY,
    SCHEME,
    XL_FORM,
    XL_LABELS,
    XREF,
    Graph,
    Subject,
    Vocabulary,
)
from mirror_index.readers.languages import Languages, Worded
from mirror_index.readers.properties import LABELS, SYNONYMS
from mirror_index.readers.rdf import RdfSource
from mirror_index.records import Concept, Name, Scope, SourceItem


def read_rdf(
    source: str | Path, options: ReadOptions, vocabulary: Vocabulary
) -> Iterator[SourceItem]:
    """Yield a concept per OWL class or SKOS concept of RDF/XML or Turtle (N-Triples included).

    Labels and synonyms carry their language and their type (`owl:Axiom`); ids are CURIEs by the
    rules of `curies.curie`. `oboInOwl` and SKOS properties are read alike. A class without any name
    is skipped (imports leave such stubs), an obsolete one is named by its id; a property that looks
    like a synonym but is not known is rejected with the text it held. Imports are not followed.

    What is used of the statements is held in memory, as those of one class may stand anywhere:
    about 3 KB a class for an ontology such as HPO.

    Raises:
        SourceError: the source cannot be read to its end, or holds concepts of the other vocabulary
            only, or no name in a chosen language.
    """
    rdf = RdfSource(source)
    graph = Graph(vocabulary)
    for statement in rdf.statements():
        graph.take(statement)
    yield from graph.remarks
    languages = Languages(options.languages)
    items = _Builder(graph, rdf.prefixes, languages).items()
    first = next(items, None)
    if first is None:
        graph.check_empty(source)
        return
    yield first
    yield from items
    left_out = languages.summary(source)
    if left_out is not None:
        yield left_out


class _Builder:
    """Turns the subjects of a graph into concepts."""

    def __init__(self, graph: Graph, prefixes: Mapping[str, str], languages: Languages) -> None:
        self._graph = graph
        self._prefixes = prefixes
        self._languages = languages
        self._axioms = self._annotations()
        self._own_ids: dict[str, str] = {}

    def items(self) -> Iterator[SourceItem]:
        """Yield concepts in the order of the source, and the rows that gave none."""
        typed = [(iri, one) for iri, one in self._graph.subjects.items() if one.kind is not None]
        nameless = [one for iri, one in typed if iri.startswith("_:")]  # most are expressions
        for one in nameless:
            for label in self._texts(one, *LABELS):
                yield rejected(one.line, "a concept without an IRI", label.text, skipped=True)
        typed = [(iri, one) for iri, one in typed if not iri.startswith("_:")]
        typed.sort(key=lambda pair: pair[1].line)
        self._find_own_ids(typed)
        merged = {self._id(alt) for _, one in typed for alt in one.values(ALT_ID)}
        taken: dict[str, str] = {}
        for iri, subject in typed:
            yield from subject.flaws
            identifier = self._id(iri)
            if identifier in merged and subject.obsolete and not self._texts(subject, *LABELS):
                continue  # how `alt_id` of OBO is written in OWL: the other class has it
            try:
                if identifier in taken:
                    raise RowError(f"the id {identifier} is that of {taken[identifier]} already")
                taken[identifier] = iri
                yield self._concept(identifier, iri, subject)
            except RowError as error:
                yield rejected(subject.line, error.reason, iri, skipped=error.skipped)

    def _find_own_ids(self, typed: Iterable[tuple[str, Subject]]) -> None:
        """Note the ids that classes without a CURIE by rule give themselves."""
        for iri, subject in typed:
            own = subject.first(OWN_ID)
            if own and curie(iri, self._prefixes) == iri:
                self._own_ids[iri] = own

    def _id(self, iri: str) -> str:
        return self._own_ids.get(iri) or curie(iri, self._prefixes)

    def _ids(self, iris: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._id(iri) for iri in iris))

    def _annotations(self) -> dict[tuple[str, str, str], Subject]:
        """Return the axioms that say more about a statement, by that statement."""
        found: dict[tuple[str, str, str], Subject] = {}
        for axiom in self._graph.subjects.values():
            if AXIOM[2] in axiom.facts:
                source, prop, target = (axiom.first(part) or "" for part in AXIOM)
                found[source, prop, target] = axiom
        return found

    def _texts(self, subject: Subject, *predicates: str) -> list[Worded]:
        """Return texts, those of SKOS-XL labels (which are nodes of their own) included."""
        found = subject.worded(*predicates)
        for through, stands_for in XL_LABELS.items():
            if stands_for in predicates:
                for node in subject.worded(through):
                    label = self._graph.subjects.get(node.text)
                    found.extend(label.worded(XL_FORM) if label is not None else ())
        return [one for one in found if one.text.strip()]

    def _names(self, iri: str, subject: Subject) -> Iterator[Name]:
        for prop, (scope, name_type) in SYNONYMS.items():
            for one in self._texts(subject, prop):
                if not self._languages.take(one.language):
                    continue
                axiom = self._axioms.get((iri, prop, one.text), _NOTHING)
                kind = axiom.first(NAME_TYPE)
                yield Name(
                    text=one.text,
                    scope=scope,
                    name_type=name_type if kind is None else type_name(kind),
                    xrefs=tuple(axiom.values(XREF)),
                    language=one.language,
                )

    def _concept(self, identifier: str, iri: str, subject: Subject) -> Concept:
        labels = [
            one for one in self._texts(subject, *LABELS) if self._languages.take(one.language)
        ]
        names = list(self._names(iri, subject))
        label = self._languages.best(labels)
        names += [
            Name(text=one.text, scope=Scope.EXACT, name_type="preferred", language=one.language)
            for one in labels
            if one is not label
        ]
        label = label or self._stand_in(identifier, subject, names)
        for text in (label.text, *(name.text for name in names)):
            flaw = text_flaw(text)
            if flaw is not None:
                raise RowError(f"a name {flaw}")
        definition = self._languages.best(subject.worded(*DEFINITIONS))
        return Concept(
            id=identifier,
            label=label.text,
            names=tuple(names),
            definition=None if definition is None else definition.text,
            alt_ids=self._ids(subject.values(ALT_ID)) + tuple(subject.values(NOTATION)),
            xrefs=tuple(subject.values(XREF)) + self._ids(subject.values(MATCH)),
            parents=self._ids(subject.values(*PARENTS)),
            semantic_types=self._types(subject),
            obsolete=subject.obsolete,
            replaced_by=self._ids(subject.values(*REPLACED_BY)),
            consider=self._ids(subject.values(CONSIDER)),
            line=subject.line,
            language=label.language,
        )

    def _stand_in(self, identifier: str, subject: Subject, names: list[Name]) -> Worded:
        """Return what stands for a label: an exact name, else the id (other names, or obsolete)."""
        exact = [Worded(one.text, one.language) for one in names if one.scope is Scope.EXACT]
        label = self._languages.best(exact)
        if label is not None:
            return label
        if names or subject.obsolete:
            return Worded(identifier)
        wanted = " in a chosen language" if self._texts(subject, *LABELS) else ""
        raise RowError(f"there is no label{wanted}", skipped=True)

    def _types(self, subject: Subject) -> tuple[str, ...]:
        own = subject.values(NAMESPACE) or list(self._ids(subject.values(SCHEME)))
        if not own and self._graph.default_namespace and subject.kind not in CONCEPTS:
            own = [self._graph.default_namespace]
        return tuple(own)


_NOTHING = Subject()
