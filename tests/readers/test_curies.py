from __future__ import annotations

import pytest

from mirror_index.readers.curies import curie, local_name, type_name

PREFIXES = {
    "": "http://default.org/",
    "ex": "http://example.org/",
    "deep": "http://example.org/deep/",
    "obo": "http://purl.obolibrary.org/obo/",
    "x": "http://other.org/x",
    "xy": "http://other.org/xy",
}


@pytest.mark.parametrize(
    ("iri", "short"),
    [
        ("http://purl.obolibrary.org/obo/HP_0000118", "HP:0000118"),
        ("https://purl.obolibrary.org/obo/NCIT_C3262", "NCIT:C3262"),
        ("http://purl.obolibrary.org/obo/APOLLO_SV_00000001", "APOLLO_SV:00000001"),
        ("http://www.orpha.net/ORDO/Orphanet_558", "Orphanet:558"),
        ("http://www.ebi.ac.uk/efo/EFO_0000400", "EFO:0000400"),
        ("http://purl.org/obo/owl/GO#GO_0008150", "GO:0008150"),
        ("http://aims.fao.org/aos/agrovoc/c_330834", "http://aims.fao.org/aos/agrovoc/c_330834"),
        ("http://example.org/apple", "ex:apple"),
        ("http://example.org/deep/apple", "deep:apple"),
        ("http://example.org/other/apple", "http://example.org/other/apple"),
        ("http://example.org/", "http://example.org/"),
        ("http://other.org/xyz", "xy:z"),
        ("http://default.org/apple", "http://default.org/apple"),
        ("http://purl.obolibrary.org/obo/hp.owl", "obo:hp.owl"),
        ("HP:0000118", "HP:0000118"),
        ("#apple", "#apple"),
        ("_:b1", "_:b1"),
    ],
)
def test_short_ids(iri: str, short: str) -> None:
    assert curie(iri, PREFIXES) == short


@pytest.mark.parametrize(
    ("iri", "name", "kind"),
    [
        ("http://purl.obolibrary.org/obo/hp#layperson", "layperson", "layperson"),
        ("http://purl.obolibrary.org/obo/OMO_0003012", "OMO_0003012", "OMO:0003012"),
        ("oio:hasExactSynonym", "hasExactSynonym", "hasExactSynonym"),
        ("layperson", "layperson", "layperson"),
        ("http://example.org/", "", "http://example.org/"),
    ],
)
def test_names_of_properties_and_types(iri: str, name: str, kind: str) -> None:
    assert local_name(iri) == name
    assert type_name(iri) == kind
