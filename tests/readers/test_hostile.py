"""Whatever bytes a dictionary holds, reading it gives items or one error of the family."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.errors import MirrorIndexError
from mirror_index.readers import read
from mirror_index.readers.lint import LintReport, lint
from tests.readers.test_ontology import SKOS
from tests.readers.test_rrf import best

_NODE = {
    "id": "http://purl.obolibrary.org/obo/X_1",
    "lbl": "one",
    "meta": {
        "synonyms": [{"pred": "hasExactSynonym", "val": "uno", "xrefs": ["a"]}],
        "basicPropertyValues": [{"pred": "p", "val": "v"}],
        "deprecated": False,
    },
}
_CLASS = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#">
<owl:Class rdf:about="http://purl.obolibrary.org/obo/X_1"><rdfs:label>one</rdfs:label>
<owl:deprecated>true</owl:deprecated></owl:Class></rdf:RDF>"""
SOURCES = {
    "a.owl": _CLASS,
    "a.ttl": SKOS,
    "a.json": json.dumps({"graphs": [{"nodes": [_NODE], "edges": [], "meta": {}}]}, indent=1),
    "a.rrf": best("C1", "one") + best("C2", "two"),
    "CTD_a.tsv": "# Fields:\n# DiseaseName\tDiseaseID\tSynonyms\n#\na\tM:1\tb|c\n",
    "a.obo": 'format-version: 1.4\n\n[Term]\nid: X:1\nname: one\nsynonym: "u" EXACT [] {a="b"}\n',
}
_PIECES = [
    b'"',
    b"\\",
    b"\0",
    b"\xff",
    b"<",
    b">",
    b"{",
    b"}",
    b"[",
    b"]",
    b"|",
    b"\t",
    b"\n",
    b"&x;",
]
_PIECES += [b"null", b"1", b"\xed\xa0\x80", b"\\ud800", b":", b",", b".", b"_:b", b"@en", b""]
_EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(_PIECES)), min_size=1, max_size=4
)


@given(name=st.sampled_from(sorted(SOURCES)), edits=_EDITS)
def test_edits_never_end_in_another_kind_of_error(
    tmp_path_factory: pytest.TempPathFactory, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    content = SOURCES[name].encode()
    for place, removed, piece in edits:
        at = int(place * len(content))
        content = content[:at] + piece + content[at + removed :]
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    outcome = _outcome(path)
    if isinstance(outcome, MirrorIndexError):
        assert outcome.what
    else:
        assert sum(outcome.counts.values()) >= len(outcome.findings)


def _outcome(path: Path) -> LintReport | MirrorIndexError:
    try:
        return lint(read(path))
    except MirrorIndexError as error:
        return error


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_sources_themselves_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SOURCES[name], encoding="utf-8")
    report = lint(read(tmp_path / name))
    assert report.concepts >= 1
