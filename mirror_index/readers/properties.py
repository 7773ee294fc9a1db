"""The properties of ontologies that name concepts, and those that only look as if they did."""

from __future__ import annotations

import difflib
import re

from mirror_index.readers.curies import local_name
from mirror_index.records import Scope

OIO = "http://www.geneontology.org/formats/oboInOwl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
OBO = "http://purl.obolibrary.org/obo/"
_NCIT = "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl#"

SYNONYMS: dict[str, tuple[Scope, str | None]] = {
    f"{OIO}hasExactSynonym": (Scope.EXACT, None),
    f"{OIO}hasNarrowSynonym": (Scope.NARROW, None),
    f"{OIO}hasBroadSynonym": (Scope.BROAD, None),
    f"{OIO}hasRelatedSynonym": (Scope.RELATED, None),
    f"{OIO}hasSynonym": (Scope.RELATED, None),
    f"{SKOS}altLabel": (Scope.EXACT, None),
    f"{SKOS}hiddenLabel": (Scope.EXACT, "hidden"),
    f"{OBO}IAO_0000118": (Scope.EXACT, None),
    "http://www.ebi.ac.uk/efo/alternative_term": (Scope.EXACT, None),
    f"{_NCIT}P90": (Scope.EXACT, None),
}
"""Scope and type of the name by the IRI of its property."""

LABELS = ("http://www.w3.org/2000/01/rdf-schema#label", f"{SKOS}prefLabel")

SYNONYM_FLAW = "unknown synonym property"
"""How the reason of every such rejected row begins."""

_KNOWN = {local_name(iri): iri for iri in SYNONYMS if "Synonym" in iri or "Label" in iri}
_LABEL_NAMES = ("prefLabel",)
_KIN = frozenset(
    f"{OIO}{name}" for name in ("hasSynonymType", "SynonymTypeProperty", "hasSynonymTypeProperty")
)
_LIKE = re.compile("synon|synom|sinon|syonym|altlabel|preflabel|hiddenlabel", re.IGNORECASE)


def synonym_flaw(prop: str) -> str | None:
    """Return what to say about a property with a text that no reader knows but looks like a name's.

    That is one whose local name holds the word synonym (or one of its common misspellings), is
    nearly that of a known one, or is a known one in another namespace. None for all others.
    """
    if prop in SYNONYMS or prop in LABELS or prop in _KIN:
        return None
    name = local_name(prop)
    near = difflib.get_close_matches(name, (*_KNOWN, *_LABEL_NAMES), n=1, cutoff=0.85)
    if not near and _LIKE.search(name) is None:
        return None
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{SYNONYM_FLAW} {prop}{hint}"
