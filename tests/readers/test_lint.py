"""What lint finds, against hand-written dictionaries and a plain model of clashes."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror_index.config import ReadOptions
from mirror_index.names import name_key
from mirror_index.readers import read
from mirror_index.readers.lint import Finding, FindingKind, LintReport, lint
from mirror_index.records import Concept, Name, Record, Rejected, Scope
from tests.fakes import HashEncoder

OBO = """format-version: 1.4

[Term]
id: X:1
name: acute kidney failure
alt_id: X:5
is_a: X:99

[Term]
id: X:2
name: renal failure
synonym: "Acute  Kidney-Failure" EXACT []
synonym: "ARF" EXACT []
synonym: "RF" EXACT []
exact_synonim: "lost" []

[Term]
id: X:3
name: obsolete three
is_obsolete: true
replaced_by: X:4

[Term]
id: X:4
name: obsolete four
is_obsolete: true
replaced_by: X:3

[Term]
id: X:5
name: zero\u200bwidth

[Term]
id: X:6
name: obsolete six
is_obsolete: true
replaced_by: X:77
consider: X:5

[Term]
id: X:5
name: again
synonym: "!!!" RELATED []

[Term]
id: X:8
"""


def _by_kind(report: LintReport) -> dict[FindingKind, list[Finding]]:
    found: dict[FindingKind, list[Finding]] = defaultdict(list)
    for one in report.findings:
        found[one.kind].append(one)
    assert report.counts == {kind: len(ones) for kind, ones in found.items()}
    return found


def test_an_ontology_with_everything_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.obo").write_text(OBO, encoding="utf-8")
    report = lint(read(tmp_path / "a.obo"))
    shown = [(f.kind.value, f.line, f.id, f.what) for f in report.findings]
    assert shown == [
        (
            "clashing name",
            3,
            "X:1",
            "'acute kidney failure' names X:1 (label, line 3), X:2 (exact, line 9)",
        ),
        ("duplicate id", 29, "X:5", "2 concepts have the id X:5, from line 29 to line 40"),
        ("alternative id clash", 3, "X:1", "the alternative id X:5 is that of a concept (line 29)"),
        ("alternative id clash", 3, "X:1", "the alternative id X:5 is that of a concept (line 40)"),
        ("dangling parent", 3, "X:1", "parent X:99 is not in the source"),
        ("dangling replacement", 33, "X:6", "replaced_by X:77 is not in the source"),
        ("cyclic replacement", 17, "X:3", "replaced_by runs in a circle: X:3 -> X:4 -> X:3"),
        (
            "unknown synonym property",
            15,
            None,
            'unknown synonym property exact_synonim: exact_synonim: "lost" []',
        ),
        (
            "row not taken",
            45,
            None,
            "there is no name clause (term X:8, which begins on line 45): [Term]",
        ),
        ("short name", 9, "X:2", "'RF' has 2 characters"),
        ("name without letters or digits", 40, "X:5", "'!!!' can never be an exact match"),
        ("invisible character", 29, "X:5", "'zero\\u200bwidth' holds U+200B ZERO WIDTH SPACE"),
        (
            "untidy spaces",
            9,
            "X:2",
            "'Acute  Kidney-Failure' has spaces at an end, several in a row or unusual ones",
        ),
    ]
    assert (report.concepts, report.names, report.ok) == (6, 8, False)
    assert report.to_json()["counts"]["alternative id clash"] == 2
    assert report.to_json()["findings"][0]["kind"] == "clashing name"


def test_a_clean_source_has_no_findings() -> None:
    items = [
        Concept(id="X:1", label="one", alt_ids=("X:3",), parents=("X:2",), line=1),
        Concept(id="X:2", label="two", names=(Name(text="One more", scope=Scope.EXACT),), line=2),
        Concept(id="X:3", label="gone", obsolete=True, replaced_by=("X:1",), line=3),
        Concept(id="X:4", label="one", obsolete=True, consider=("X:3",), line=4),
    ]
    report = lint(items)
    assert report.ok
    assert report.findings == ()


def test_merged_concepts_are_no_clash_unless_they_went_elsewhere() -> None:
    def kinds(replaced_by: tuple[str, ...]) -> list[FindingKind]:
        items = [
            Concept(id="X:1", label="one", alt_ids=("X:3",)),
            Concept(id="X:2", label="two"),
            Concept(id="X:3", label="gone", obsolete=True, replaced_by=replaced_by),
        ]
        return [one.kind for one in lint(items).findings]

    assert kinds(()) == []
    assert kinds(("X:1",)) == []
    assert kinds(("X:2", "X:1")) == []
    assert kinds(("X:2",)) == [FindingKind.ALT_ID]


def test_alternative_ids_of_two_concepts() -> None:
    items = [Concept(id=f"X:{n}", label=f"n{n} x", alt_ids=("X:9",), line=n) for n in (1, 2)]
    (one,) = lint(items).findings
    assert (one.kind, one.what) == (
        FindingKind.ALT_ID,
        "the alternative id X:9 is given to X:1, X:2",
    )


def test_rows_of_a_table_and_texts() -> None:
    items = [
        Record(id="a", text="one text", line=1),
        Record(id="a", text="another ", line=2),
        Record(id="c", text="Fever", concept_id="X:1", scope=Scope.LABEL, line=3),
        Record(id="d", text="fever", concept_id="X:2", scope=Scope.EXACT, line=4),
        Record(id="e", text="FEVER", concept_id="X:2", scope=Scope.NARROW, line=5),
        Rejected(line=6, reason="the text is empty", skipped=True),
        Rejected(line=0, reason="unknown synonym property p", content="X:1 lost"),
    ]
    shown = [(f.kind.value, f.line, f.id, f.what) for f in lint(items).findings]
    assert shown == [
        ("clashing name", 3, "X:1", "'Fever' names X:1 (label, line 3), X:2 (exact, line 4)"),
        ("duplicate id", 1, "a", "2 records have the id a, from line 1 to line 2"),
        ("unknown synonym property", None, None, "unknown synonym property p: X:1 lost"),
        ("row skipped", 6, None, "the text is empty"),
        (
            "untidy spaces",
            2,
            "a",
            "'another ' has spaces at an end, several in a row or unusual ones",
        ),
    ]


@pytest.mark.parametrize("text", ["", "  "])
def test_empty_labels(text: str) -> None:
    report = lint([Concept(id="X:1", label=text, line=4)])
    assert [(f.kind, f.line) for f in report.findings] == [(FindingKind.LABEL, 4)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a\u200bbc", FindingKind.INVISIBLE),
        ("a\ufeffbc", FindingKind.INVISIBLE),
        ("a\x07bc", FindingKind.INVISIBLE),
        ("soft\u00adhyphen", FindingKind.INVISIBLE),
        (" abc", FindingKind.SPACES),
        ("abc ", FindingKind.SPACES),
        ("a  bc", FindingKind.SPACES),
        ("a\tbc", FindingKind.SPACES),
        ("a\u00a0bc", FindingKind.SPACES),
        ("a\nbc", FindingKind.SPACES),
        ("ab", FindingKind.SHORT),
        (" a ", FindingKind.SHORT),
        ("---", FindingKind.NO_KEY),
        ("naïve Ménière", None),
        ("心臓病", None),
    ],
)
def test_spellings(text: str, kind: FindingKind | None) -> None:
    kinds = {one.kind for one in lint([Record(id="a", text=text)]).findings}
    assert kinds == set() if kind is None else kind in kinds


def test_chains_and_circles_of_replacements() -> None:
    gone = {"A": "B", "B": "C", "C": "B", "D": "A", "E": "E", "F": "G"}
    items = [
        Concept(id=own, label=own * 3, obsolete=True, replaced_by=(to,)) for own, to in gone.items()
    ]
    report = lint([*items, Concept(id="G", label="live one")])
    assert [f.what for f in report.findings] == [
        "replaced_by runs in a circle: B -> C -> B",
        "replaced_by runs in a circle: E -> E",
    ]


def test_a_long_chain_takes_no_recursion() -> None:
    items = [
        Concept(id=f"X:{n}", label=f"n {n}", obsolete=True, replaced_by=(f"X:{n + 1}",))
        for n in range(5000)
    ]
    assert lint([*items, Concept(id="X:5000", label="the end")]).ok


def test_what_an_encoder_does_not_read() -> None:
    encoder = HashEncoder(max_length=4)
    items = [
        Concept(id="X:1", label="one two three four", line=1),
        Concept(id="X:2", label="two words", line=2),
    ]
    report = lint(items, tokenise=encoder.encode_audited)
    assert [(f.kind, f.id, f.what) for f in report.findings] == [
        (
            FindingKind.TRUNCATED,
            "X:1",
            "'one two three four' has 6 tokens, more than the encoder reads",
        )
    ]


def test_everything_is_counted_and_some_is_kept() -> None:
    report = lint([Record(id=str(n), text=f"n{n % 10}") for n in range(50)], limit=7)
    assert report.counts == {FindingKind.SHORT: 50}
    assert len(report.findings) == report.limit == 7


def test_a_name_that_many_concepts_have() -> None:
    items = [Concept(id=f"X:{n:02}", label="same name", line=n) for n in range(1, 13)]
    (one,) = lint(items).findings
    assert one.what.endswith("X:05 (label, line 5) and 7 more")


def test_texts_that_are_no_unicode() -> None:
    report = lint([Record(id="a\udc80", text="b\udc80c", concept_id="d\udc80", scope=Scope.LABEL)])
    assert FindingKind.INVISIBLE in report.counts


_NAMES = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from(["Fever", "fever!", "Cold", "a-b", "a b"])),
    max_size=12,
)


@given(_NAMES)
def test_clashes_are_those_of_a_plain_model(names: list[tuple[str, str]]) -> None:
    model: dict[str, set[str]] = defaultdict(set)
    items = []
    for n, (concept, text) in enumerate(names):
        model[name_key(text)].add(concept)
        items.append(Record(id=str(n), text=text, concept_id=concept, scope=Scope.EXACT))
    clashes = sum(len(concepts) > 1 for concepts in model.values())
    assert lint(items).counts.get(FindingKind.CLASH, 0) == clashes


def test_a_kind_that_looks_misspelt_is_reported_once(tmp_path: Path) -> None:
    rows = [
        ("A", "alpha", "label"),
        ("A", "alfa", "exat"),
        ("A", "a.l.p.", "abbreviation"),
        ("B", "beta", "Lable"),
        ("B", "bet", "exat"),
        ("B", "second letter", "related/layperson"),
        ("B", "b", "prefered term"),
    ]
    table = "id\tname\tkind\n" + "".join("\t".join(row) + "\n" for row in rows)
    (tmp_path / "d.tsv").write_text(table, encoding="utf-8")
    options = ReadOptions(concept_column="id", text_column="name", scope_column="kind")
    found = _by_kind(lint(read(tmp_path / "d.tsv", options)))[FindingKind.NAME_KIND]
    assert [(one.line, one.id, one.what) for one in found] == [
        (3, "A", "'exat' makes a name a related one: was 'exact' meant?"),
        (5, "B", "'Lable' makes a name a related one: was 'label' meant?"),
        (8, "B", "'prefered term' makes a name a related one: was 'preferredterm' meant?"),
    ]
