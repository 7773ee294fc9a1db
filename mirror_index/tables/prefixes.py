"""Concept ids as compact IRIs (CURIEs), with the prefixes they need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

BUILT_IN = frozenset("linkml owl rdf rdfs semapv skos sssom xsd".split())
"""Prefixes that every SSSOM reader knows; they must not be given another meaning."""

_OBO = "http://purl.obolibrary.org/obo/"
_OBO_PREFIXES = (
    "BTO CHEBI CL CLO DOID DRON ECO ENVO FMA FOODON FYPO GENO GO HP HSAPDV IAO MAXO MI MONDO MP "
    "MPATH NBO NCIT OBI OGMS OMIT PATO PR RO SO SYMP UBERON UO VO VT WBPHENOTYPE XAO ZFA ZP"
).split()
KNOWN_PREFIXES: Mapping[str, str] = {
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    **{prefix: f"{_OBO}{prefix}_" for prefix in _OBO_PREFIXES},
    "EFO": "http://www.ebi.ac.uk/efo/EFO_",
    "ICD10CM": "http://purl.bioontology.org/ontology/ICD10CM/",
    "MESH": "http://id.nlm.nih.gov/mesh/",
    "OMIM": "https://omim.org/entry/",
    "ORPHA": "http://www.orpha.net/ORDO/Orphanet_",
    "SNOMEDCT": "http://snomed.info/id/",
    "UMLS": "http://linkedlifedata.com/resource/umls/id/",
}
_LOCAL = "local"
_COLLECTION = "collection"
PREFIX = re.compile(r"[A-Za-z_][\w.-]*")


class Curies:
    """Turns concept ids into CURIEs and remembers the prefixes they need.

    Attributes:
        used: IRI by prefix, of every prefix used so far.
        unknown: those declared as a ``urn:``, no IRI being known.
    """

    def __init__(self, prefixes: Mapping[str, str], collection: str) -> None:
        self.used: dict[str, str] = {}
        self.unknown: list[str] = []
        self._given = {**KNOWN_PREFIXES, **prefixes}
        self._collection = collection
        self._spaces: dict[str, str] = {}

    def curie(self, identifier: str) -> str:
        """Return the id as a CURIE whose prefix is declared.

        An IRI is split after its last ``/``, ``#`` or ``_``; an id without a usable prefix gets
        `local`; characters that a CURIE cannot hold are percent-encoded.
        """
        prefix, colon, local = identifier.partition(":")
        if colon and local.startswith("//"):
            end = max(identifier.rfind(mark) for mark in "/#_") + 1
            return f"{self._space(identifier[:end])}:{_encoded(identifier[end:])}"
        if not colon or not PREFIX.fullmatch(prefix) or prefix in BUILT_IN:
            return f"{self._declared(_LOCAL)}:{_encoded(identifier)}"
        return f"{self._declared(prefix)}:{_encoded(local)}"

    def declared(self, curie: str) -> str:
        """Return a CURIE as it is, its prefix declared unless it is built in."""
        prefix = curie.partition(":")[0]
        if prefix not in BUILT_IN:
            self._declared(prefix)
        return curie

    def collection(self) -> str:
        """Return the CURIE of the collection."""
        self.used.setdefault(_COLLECTION, "urn:mirror-index:collection:")
        return f"{_COLLECTION}:{_encoded(self._collection)}"

    def _declared(self, prefix: str) -> str:
        if prefix not in self.used:
            iri = self._given.get(prefix)
            if iri is None:
                iri = f"urn:mirror-index:{_encoded(self._collection)}:{prefix}:"
                self.unknown.append(prefix)
            self.used[prefix] = iri
        return prefix

    def _space(self, iri: str) -> str:
        known = {value: prefix for prefix, value in self._given.items()}
        prefix = known.get(iri) or self._spaces.setdefault(iri, f"ns{len(self._spaces) + 1}")
        self.used[prefix] = iri
        return prefix


def _encoded(local: str) -> str:
    return quote(local, safe="-._~!$&'()*+,;=:@/?#%")
