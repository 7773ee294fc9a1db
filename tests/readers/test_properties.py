from __future__ import annotations

import pytest

from mirror_index.readers.properties import LABELS, SYNONYMS, synonym_flaw

OIO = "http://www.geneontology.org/formats/oboInOwl#"


@pytest.mark.parametrize(
    ("prop", "hint"),
    [
        (f"{OIO}hasExactSynonim", "hasExactSynonym"),
        (f"{OIO}hasExactSynonyms", "hasExactSynonym"),
        (f"{OIO}hasexactsynonym", "hasExactSynonym"),
        (f"{OIO}hasNarowSynonym", "hasNarrowSynonym"),
        ("http://elsewhere.org/hasExactSynonym", "hasExactSynonym"),
        ("http://www.w3.org/2004/02/skos/core#altlabel", "altLabel"),
        ("http://example.org/commonSynonym", None),
        ("hasExactSynonim", "hasExactSynonym"),
        ("synonims", None),
    ],
)
def test_what_looks_like_a_synonym_property_is_reported(prop: str, hint: str | None) -> None:
    flaw = synonym_flaw(prop)
    assert flaw is not None
    assert flaw.startswith(f"unknown synonym property {prop}")
    assert ("did you mean" in flaw) == (hint is not None)
    assert hint is None or hint in flaw


@pytest.mark.parametrize(
    "prop",
    [
        *SYNONYMS,
        *LABELS,
        f"{OIO}hasSynonymType",
        f"{OIO}hasDbXref",
        "http://www.w3.org/2000/01/rdf-schema#comment",
        "http://purl.org/dc/terms/title",
        f"{OIO}shorthand",
    ],
)
def test_what_is_known_or_something_else_is_not(prop: str) -> None:
    assert synonym_flaw(prop) is None
