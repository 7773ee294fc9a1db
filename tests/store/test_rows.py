"""Which records and concepts can be taken."""

from __future__ import annotations

import pytest

from mirror_index.records import Concept, Name, Record, Rejected, Scope
from mirror_index.store.rows import StagedRecord, concept_problem, obsolete_names, stage_record


@pytest.mark.parametrize(
    ("record", "reason", "skipped"),
    [
        (Record(id="a", text=" \n\t "), "the text is empty", True),
        (Record(id="", text="x"), "the id is empty", False),
        (Record(id="a", text="x\0y"), "NUL", False),
        (Record(id="a\0", text="x"), "NUL", False),
        (Record(id="a", text="\ud800"), "not valid Unicode", False),
        (Record(id="a", text="x", metadata={"m": "\udfff"}), "not valid Unicode", False),
        (Record(id="a", text="x", metadata={"m": float("nan")}), "not a finite number", False),
        (Record(id="a", text="x", metadata={"m": [1]}), "neither text", False),  # type: ignore[dict-item]
    ],
)
def test_a_record_that_cannot_be_taken(record: Record, reason: str, skipped: bool) -> None:
    row = stage_record(record)
    assert isinstance(row, Rejected)
    assert reason in row.reason
    assert row.skipped is skipped
    row.content.encode()


def test_the_raw_spelling_is_kept_only_where_it_differs() -> None:
    plain = stage_record(Record(id="a", text="Ménière"))
    spaced = stage_record(Record(id="a", text=" Me\u0301nie\u0300re "))
    assert isinstance(plain, StagedRecord)
    assert isinstance(spaced, StagedRecord)
    assert plain.hash == spaced.hash
    assert plain.raw is None
    assert spaced.raw == " Me\u0301nie\u0300re "


@pytest.mark.parametrize(
    ("concept", "reason"),
    [
        (Concept(id="", label="x"), "id of the concept is empty"),
        (Concept(id="a", label="x\0"), "NUL"),
        (Concept(id="a", label="x", definition="\ud800"), "not valid Unicode"),
        (Concept(id="a", label="x", names=(Name(text="\ud800", scope=Scope.EXACT),)), "Unicode"),
    ],
)
def test_a_concept_that_cannot_be_taken(concept: Concept, reason: str) -> None:
    row = concept_problem(concept)
    assert row is not None
    assert reason in row.reason


def test_names_of_obsolete_concepts_lose_their_prefix() -> None:
    concept = Concept(
        id="a",
        label="obsolete Foo Bar",
        obsolete=True,
        names=(Name(text="foo", scope=Scope.EXACT), Name(text="obsolete", scope=Scope.BROAD)),
    )
    keys = [(name.key, name.text, name.scope) for name in obsolete_names(concept)]
    assert keys == [
        ("obsolete foo bar", "obsolete Foo Bar", "label"),
        ("foo bar", "obsolete Foo Bar", "label"),
        ("foo", "foo", "exact"),
        ("obsolete", "obsolete", "broad"),
    ]
    assert not list(obsolete_names(Concept(id="a", label="x")))
