"""Concepts, their names, and the exact layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import OnDuplicate, SearchOptions
from mirror_index.errors import CollectionError, UsageError
from mirror_index.names import name_key
from mirror_index.records import Concept, Name, Record, Scope
from tests.fakes import HashEncoder

KIDNEY = Concept(
    id="X:1",
    label="Kidney failure",
    names=(
        Name(text="Renal failure", scope=Scope.EXACT, name_type="layperson"),
        Name(text="Organ failure", scope=Scope.BROAD),
    ),
    definition="The kidneys fail.",
    alt_ids=("X:8", "X:9"),
    xrefs=("UMLS:C1",),
    parents=("X:0",),
    semantic_types=("disease",),
    line=4,
)
OLD = Concept(
    id="X:2",
    label="obsolete Renal collapse",
    obsolete=True,
    replaced_by=("X:1",),
    consider=("X:5",),
    alt_ids=("X:9",),
    names=(Name(text="collapse", scope=Scope.RELATED),),
)


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()


@pytest.fixture
def collection(tmp_path: Path, encoder: HashEncoder) -> Collection:
    return Collection.build(tmp_path / "c", [KIDNEY, OLD], encoder=encoder)


def keys(collection: Collection, *texts: str) -> list[tuple[str, str, Scope, bool]]:
    found = collection.names_by_key(name_key(text) for text in texts)
    return [
        (name.text, name.concept_id, name.scope, name.obsolete)
        for names in found.values()
        for name in names
    ]


def test_concepts_come_back_without_their_names(collection: Collection) -> None:
    found = collection.concepts(["X:1", "X:8", "X:2", "X:404"])
    with pytest.raises(UsageError, match="one id where several are wanted: 'X:1'"):
        collection.concepts("X:1")
    assert list(found) == ["X:1", "X:8", "X:2"]
    assert found["X:1"] == found["X:8"]
    stored = found["X:1"]
    for name in ("id", "label", "definition", "alt_ids", "xrefs", "parents", "line"):
        assert getattr(stored, name) == getattr(KIDNEY, name)
    assert stored.semantic_types == ("disease",)
    assert (found["X:2"].obsolete, found["X:2"].replaced_by) == (True, ("X:1",))
    assert found["X:2"].consider == ("X:5",)


def test_an_alternative_id_claimed_twice_means_the_live_concept(collection: Collection) -> None:
    assert collection.concepts(["X:9"])["X:9"].id == "X:1"


def test_the_exact_layer(collection: Collection, encoder: HashEncoder) -> None:
    assert keys(collection, "RENAL failure") == [("Renal failure", "X:1", Scope.EXACT, False)]
    for spelling in ("obsolete renal collapse", "Renal collapse"):
        assert keys(collection, spelling) == [("obsolete Renal collapse", "X:2", Scope.LABEL, True)]
    assert keys(collection, "collapse", "nothing") == [("collapse", "X:2", Scope.RELATED, True)]
    (name,) = collection.names_by_key(["renal failure"])["renal failure"]
    assert name.row is not None
    assert name.record_id == "X:1#Renal failure"
    assert name.name_type == "layperson"
    stored = collection.vectors_of([name.row])[0]
    assert stored.tolist() == encoder.encode(["Renal failure"])[0].tolist()
    (gone,) = collection.names_by_key(["collapse"])["collapse"]
    assert (gone.record_id, gone.row) == (None, None)


def test_live_names_in_record_order(collection: Collection) -> None:
    collection.add([Record(id="plain", text="no concept")])
    names = list(collection.iter_names())
    assert [name.record_id for name in names] == ["X:1", "X:1#Organ failure", "X:1#Renal failure"]
    assert {name.concept_id for name in names} == {"X:1"}


def test_obsolete_names_are_not_searched(collection: Collection) -> None:
    (hits,) = collection.search(["collapse"], SearchOptions(k=10))
    assert {hit.concept_id for hit in hits} == {"X:1"}
    assert {hit.scope for hit in hits} == {Scope.LABEL, Scope.EXACT, Scope.BROAD}


def test_updating_a_concept_replaces_all_its_names(
    collection: Collection, encoder: HashEncoder
) -> None:
    same = collection.update([KIDNEY])
    assert (same.unchanged, same.updated, same.added, same.deleted) == (3, 0, 0, 0)
    changed = Concept(
        id="X:1",
        label="Kidney failure",
        names=(Name(text="Renal insufficiency", scope=Scope.EXACT),),
        alt_ids=("X:7",),
    )
    report = collection.update([changed])
    assert (report.unchanged, report.added, report.deleted) == (1, 1, 2)
    assert not keys(collection, "renal failure", "organ failure")
    assert list(collection.concepts(["X:7", "X:8"])) == ["X:7"]
    assert collection.verify(encoder=encoder).ok
    gone = Concept(id="X:1", label="obsolete Kidney failure", obsolete=True)
    assert collection.update([gone]).deleted == 2
    assert collection.search(["kidney"]) == [[]]
    assert keys(collection, "kidney failure") == [
        ("obsolete Kidney failure", "X:1", Scope.LABEL, True)
    ]
    back = collection.update([KIDNEY])
    assert (back.added, back.texts_encoded) == (3, 0)
    assert keys(collection, "kidney failure") == [("Kidney failure", "X:1", Scope.LABEL, False)]
    assert collection.verify(encoder=encoder).ok


def test_a_concept_that_is_there_with_other_content(
    collection: Collection, encoder: HashEncoder
) -> None:
    other = Concept(id="X:1", label="Kidney disease")
    assert collection.add([KIDNEY]).unchanged == 3
    with pytest.raises(CollectionError, match=r"in the collection with other content: 'X:1'"):
        collection.add([other])
    first = collection.add([other], on_duplicate=OnDuplicate.FIRST)
    assert first.duplicates == 1
    assert collection.concepts(["X:1"])["X:1"].label == "Kidney failure"
    last = collection.add([other], on_duplicate=OnDuplicate.LAST)
    assert (last.updated, last.deleted) == (1, 2)
    assert collection.concepts(["X:1"])["X:1"].label == "Kidney disease"
    assert collection.verify(encoder=encoder).ok


@pytest.mark.parametrize(
    ("policy", "label"), [(OnDuplicate.FIRST, "Kidney failure"), (OnDuplicate.LAST, "Other")]
)
def test_a_concept_that_comes_twice(
    tmp_path: Path, encoder: HashEncoder, policy: OnDuplicate, label: str
) -> None:
    other = Concept(id="X:1", label="Other")
    with pytest.raises(CollectionError, match="concept occurs twice"):
        Collection.build(tmp_path / "no", [KIDNEY, other], encoder=encoder)
    with Collection.build(
        tmp_path / "c", [KIDNEY, KIDNEY, other], encoder=encoder, on_duplicate=policy
    ) as collection:
        assert collection.last_change is not None
        assert collection.last_change.duplicates == 2
        assert collection.concepts(["X:1"])["X:1"].label == label
        assert collection.info()["records"] == (3 if policy is OnDuplicate.FIRST else 1)
        assert collection.verify(encoder=encoder).ok


def test_a_repeated_concept_is_named_with_its_lines(tmp_path: Path, encoder: HashEncoder) -> None:
    first = Concept(id="X:1", label="One", line=4)
    other = Concept(id="X:1", label="Other", line=31)
    with pytest.raises(CollectionError, match=r"concept occurs twice .*lines 4 and 31"):
        Collection.build(tmp_path / "no", [first, other], encoder=encoder)
    with (
        Collection.build(tmp_path / "c", [first], encoder=encoder) as collection,
        pytest.raises(CollectionError, match=r"with other content: 'X:1' \(lines 4 and 31\)"),
    ):
        collection.add([other])


def test_dictionary_rows_make_concepts(tmp_path: Path, encoder: HashEncoder) -> None:
    rows = [
        Record(id="D:1#b", text="broad name", concept_id="D:1", scope=Scope.BROAD),
        Record(id="D:1", text="The  Label", concept_id="D:1", scope=Scope.LABEL),
        Record(id="D:1#e", text="exact name", concept_id="D:1"),
        Record(id="D:2#e", text="only name", concept_id="D:2", scope=Scope.EXACT),
    ]
    with Collection.build(tmp_path / "c", rows, encoder=encoder) as collection:
        labels = {id_: c.label for id_, c in collection.concepts(["D:1", "D:2"]).items()}
        assert labels == {"D:1": "The  Label", "D:2": "only name"}
        assert keys(collection, "exact name") == [("exact name", "D:1", Scope.EXACT, False)]
        collection.delete(["D:1", "D:2#e"])
        labels = {id_: c.label for id_, c in collection.concepts(["D:1", "D:2"]).items()}
        assert labels == {"D:1": "exact name"}
        collection.update(
            [Record(id="D:1#e", text="exact name", concept_id="D:3", scope=Scope.EXACT)]
        )
        labels = {id_: c.label for id_, c in collection.concepts(["D:1", "D:3"]).items()}
        assert labels == {"D:1": "broad name", "D:3": "exact name"}
        assert collection.info()["concepts"] == 2
        assert collection.verify(encoder=encoder).ok
        collection.compact()
        assert collection.verify(encoder=encoder).ok
        assert keys(collection, "exact name") == [("exact name", "D:3", Scope.EXACT, False)]
