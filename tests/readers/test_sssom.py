"""SSSOM mappings as more names of concepts."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers import read
from mirror_index.records import Concept, Record, Rejected, Scope, SourceItem

HEAD = "#curie_map:\n#  X: http://x.org/\n#mapping_set_id: http://x.org/set\n"
COLUMNS = "subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\tpredicate_modifier\n"
OBO = (
    "format-version: 1.4\n\n[Term]\nid: X:1\nname: one\nalt_id: X:11\n"
    'synonym: "uno" EXACT []\n\n[Term]\nid: X:2\nname: two\n\n'
    "[Term]\nid: X:3\nname: gone\nis_obsolete: true\n"
)
TSV = "concept_id\tname\tkind\nX:1\tone\tlabel\nX:1\tuno\texact\nX:2\ttwo\tlabel\n"


def _read(
    folder: Path, source: str, mappings: str | bytes, name: str = "a.obo"
) -> list[SourceItem]:
    (folder / name).write_text(source, encoding="utf-8")
    table = folder / "m.sssom.tsv"
    table.write_bytes(mappings.encode() if isinstance(mappings, str) else mappings)
    return list(read(folder / name, ReadOptions(synonyms=str(table))))


def _names(items: list[SourceItem]) -> dict[str, list[tuple[str, Scope, str | None]]]:
    names: dict[str, list[tuple[str, Scope, str | None]]] = {}
    for item in items:
        for record in item.records() if isinstance(item, Concept) else [item]:
            if isinstance(record, Record) and record.concept_id and record.scope:
                found = (record.text, record.scope, record.name_type)
                names.setdefault(record.concept_id, []).append(found)
    return names


def _reasons(items: list[SourceItem]) -> list[str]:
    return [item.reason for item in items if isinstance(item, Rejected)]


@pytest.mark.parametrize(
    ("predicate", "as_subject", "as_object"),
    [
        ("skos:exactMatch", Scope.EXACT, Scope.EXACT),
        ("owl:equivalentClass", Scope.EXACT, Scope.EXACT),
        ("owl:sameAs", Scope.EXACT, Scope.EXACT),
        ("skos:narrowMatch", Scope.NARROW, Scope.BROAD),
        ("skos:broadMatch", Scope.BROAD, Scope.NARROW),
        ("skos:closeMatch", Scope.RELATED, Scope.RELATED),
        ("skos:relatedMatch", Scope.RELATED, Scope.RELATED),
        ("oboInOwl:hasDbXref", Scope.RELATED, Scope.RELATED),
    ],
)
def test_what_a_predicate_makes_of_a_label(
    tmp_path: Path, predicate: str, as_subject: Scope, as_object: Scope
) -> None:
    rows = f"X:1\tone\t{predicate}\tY:1\teins\t\nY:2\tzwei\t{predicate}\tX:2\ttwo\t\n"
    names = _names(_read(tmp_path, OBO, HEAD + COLUMNS + rows))
    assert ("eins", as_subject, "mapping") in names["X:1"]
    assert ("zwei", as_object, "mapping") in names["X:2"]


def test_a_table_of_names_gets_the_same_as_an_ontology(tmp_path: Path) -> None:
    rows = (
        "X:1\tone\tskos:exactMatch\tY:1\tUNO!\t\nX:1\tone\tskos:closeMatch\tY:1\tEins\t\nx:1\tone\tskos:exactMatch\tY:1\tichi\t\n"
        "X:1\tone\tskos:closeMatch\tY:1\teins\t\nX:1\tone\tskos:exactMatch\tY:2\teins\t\n"
    )
    for name, source in (("a.obo", OBO), ("a.tsv", TSV)):
        names = _names(_read(tmp_path, source, HEAD + COLUMNS + rows, name))
        assert sorted(names["X:1"]) == sorted(
            [
                ("one", Scope.LABEL, None),
                ("uno", Scope.EXACT, None),
                ("eins", Scope.EXACT, "mapping"),
                ("ichi", Scope.EXACT, "mapping"),
            ]
        )
        assert names["X:2"] == [("two", Scope.LABEL, None)]


def test_literal_mappings_and_alternative_ids(tmp_path: Path) -> None:
    columns = "subject_label\tpredicate_id\tobject_id\tobject_label\tmapping_justification\n"
    rows = (
        "the first\tskos:exactMatch\tX:1\tone\tsemapv:LexicalMatching\n"
        "number one\tskos:exactMatch\tX:11\tone\tsemapv:LexicalMatching\n"
        "nothing\tskos:exactMatch\tsssom:NoTermFound\t\tsemapv:LexicalMatching\n"
        '"quoted ""one"""\tskos:exactMatch\tX:2\t\t\n'
    )
    items = _read(tmp_path, OBO, columns + rows)
    names = _names(items)
    assert [text for text, _, _ in names["X:1"]] == ["one", "uno", "the first", "number one"]
    assert [text for text, _, _ in names["X:2"]] == ["two", 'quoted "one"']
    assert _reasons(items) == [
        "m.sssom.tsv: 1 mappings are no synonyms and were left out (sssom:NoTermFound 1)"
    ]


def test_what_gives_no_name_is_counted(tmp_path: Path) -> None:
    rows = (
        "X:1\tone\tskos:exactMatch\tY:1\teins\tNot\n"
        "X:1\tone\trdfs:seeAlso\tY:1\teins\t\nX:1\tone\t\tY:1\teins\t\n"
        "X:1\t\tskos:exactMatch\tY:1\t\t\n"
        "Z:1\tz\tskos:exactMatch\tY:1\ty\t\n"
        "X:1\tone\tskos:exactMatch\n\n"
        'X:1\tone\tskos:exactMatch\tY:1\t"open\t\n'
    )
    items = _read(tmp_path, OBO, HEAD + COLUMNS + rows)
    assert _names(items)["X:1"] == [("one", Scope.LABEL, None), ("uno", Scope.EXACT, None)]
    assert [(r.line, r.skipped) for r in items if isinstance(r, Rejected)] == [
        (10, False),
        (12, False),
        (0, True),
        (0, True),
        (0, True),
    ]
    assert _reasons(items) == [
        "m.sssom.tsv: the row has 3 fields, the header has 6",
        "m.sssom.tsv: the quote opened on line 12 is never closed",
        "m.sssom.tsv: 3 mappings are no synonyms and were left out "
        "(not skos:exactMatch 1, rdfs:seeAlso 1, no predicate 1)",
        "m.sssom.tsv: 1 mappings have no label to take",
        "m.sssom.tsv: 2 of 2 ids are not in the dictionary",
    ]


def test_obsolete_concepts_and_plain_texts_get_none(tmp_path: Path) -> None:
    rows = "X:3\tgone\tskos:exactMatch\tY:1\teins\t\n"
    *_, gone = [i for i in _read(tmp_path, OBO, COLUMNS + rows) if isinstance(i, Concept)]
    assert gone.names == ()
    (text, _) = _read(tmp_path, "one\n", COLUMNS + rows, "a.txt")
    assert isinstance(text, Record)
    assert text.text == "one"


def test_gzip_and_crlf(tmp_path: Path) -> None:
    content = (HEAD + COLUMNS + "X:1\tone\tskos:exactMatch\tY:1\teins\t\n").replace("\n", "\r\n")
    items = _read(tmp_path, OBO, gzip.compress(content.encode()))
    assert ("eins", Scope.EXACT, "mapping") in _names(items)["X:1"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the source is empty"),
        (HEAD, "the source is empty"),
        ("a\tb\n", "no SSSOM table: there is no column predicate_id"),
        ("predicate_id\tobject_id\n", "no SSSOM table: there is no column subject_label"),
    ],
)
def test_tables_that_are_something_else(tmp_path: Path, content: str, complaint: str) -> None:
    with pytest.raises(SourceError, match=complaint):
        _read(tmp_path, OBO, content)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(OBO)
    with pytest.raises(SourceError, match="no such file"):
        read(tmp_path / "a.obo", ReadOptions(synonyms=str(tmp_path / "none.tsv")))


def test_mappings_are_no_source(tmp_path: Path) -> None:
    (tmp_path / "m.sssom.tsv").write_text(COLUMNS)
    with pytest.raises(SourceError, match="no dictionary of their own"):
        read(tmp_path / "m.sssom.tsv")


OWN = "#curie_map:\n#  o: http://o.org/x/\n#  MyHP: 'http://purl.obolibrary.org/obo/HP_'\n"


@pytest.mark.parametrize(
    "head",
    [
        OWN,
        OWN.replace("#", "# ").replace("'", '"'),
        f"#license: https://a.org/l\n{OWN}#mapping_set_id: http://o.org/set\n",
    ],
)
@pytest.mark.parametrize(
    ("concept", "mapped"),
    [
        ("http://o.org/x/7", "o:7"),
        ("o:7", "http://o.org/x/7"),
        ("O:7", "o:7"),
        ("HP:0001", "MyHP:0001"),
        ("http://purl.obolibrary.org/obo/HP_0001", "hp:0001"),
        ("myhp:1", "MYHP:1"),
    ],
)
def test_declared_prefixes_make_ids_comparable(
    tmp_path: Path, head: str, concept: str, mapped: str
) -> None:
    source = f"concept_id\tname\n{concept}\tone\n"
    rows = f"{mapped}\tone\tskos:exactMatch\tY:1\teins\t\n"
    items = _read(tmp_path, source, head + COLUMNS + rows, "a.tsv")
    assert ("eins", Scope.EXACT, "mapping") in _names(items)[concept]


def test_other_metadata_declares_no_prefix(tmp_path: Path) -> None:
    head = "#curie_map:\n#  o: http://o.org/x/\n#license: http://l.org/\n#creator:\n#  p: http://p.org/\n"
    source = "concept_id\tname\nhttp://l.org/1\tone\nhttp://p.org/2\ttwo\n"
    rows = "license:1\tone\tskos:exactMatch\tY:1\teins\t\np:2\ttwo\tskos:exactMatch\tY:1\tzwei\t\n"
    names = _names(_read(tmp_path, source, head + COLUMNS + rows, "a.tsv"))
    assert [len(found) for found in names.values()] == [1, 1]
