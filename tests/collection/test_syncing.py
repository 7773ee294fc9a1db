"""Sync makes a collection equal to its source, and never removes what it could not see."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import Collection, changing, intake
from mirror_index.collection.probes import CANARIES
from mirror_index.errors import CollectionError
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem
from mirror_index.vectors import Encoded
from tests.collection.oracle import Oracle, names
from tests.collection.test_history import content, some_items
from tests.fakes import HashEncoder

QUERIES = ["renal failure type 1", "gastric lesion type 33"]


def equal_but_lines(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The content without what depends on when it came: generations, source lines, and which of
    several equally good names a concept known by its names alone is called by."""
    found = content(folder)
    found["records"] = [(*row[:6], None) for row in found["records"]]
    found["concepts"] = [(row[0], "derived") if row[4] else row for row in found["concepts"]]
    found["quarantine"] = sorted(row[1:] for row in found["quarantine"])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_sync_gives_what_a_build_of_the_source_gives(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    encoder = HashEncoder(16)
    with Collection.build(tmp_path / "c", some_items(rng), encoder=encoder) as collection:
        for number in range(8):
            items = [item for _ in range(3) for item in some_items(rng)]
            items = list({getattr(item, "id", id(item)): item for item in items}.values())
            collection.sync(items, source="s", allow_quarantine=True, allow_empty=True)
            fresh = tmp_path / f"fresh{number}"
            Collection.build(fresh, items, encoder=encoder, source="s").close()
            assert equal_but_lines(tmp_path / "c") == equal_but_lines(fresh)
        assert collection.verify(encoder=encoder).ok


def test_counts_and_only_new_texts_are_encoded(tmp_path: Path) -> None:
    encoder = Counting()
    oracle = Oracle(HashEncoder(16))
    with Collection.build(tmp_path / "c", names(30), encoder=encoder) as collection:
        source = [
            *names(20, start=5),
            Record(id="r00002", text="renal failure type 0"),
            Record(id="r00003", text="cardiac arrest"),
            Record(id="new", text="gastric ulcer"),
        ]
        encoder.texts.clear()
        report = collection.sync(source, source="second.csv")
        assert encoder.texts == ["gastric ulcer", "cardiac arrest"]
        assert (report.added, report.updated, report.deleted) == (1, 2, 8)
        assert (report.unchanged, report.texts_encoded, report.records) == (20, 2, 23)
        assert collection.info()["sources"] == ["second.csv"]
        oracle.put(source)
        oracle.check(collection, QUERIES)
        again = collection.sync(source, source="second.csv")
        assert (again.unchanged, again.added + again.updated + again.deleted) == (23, 0)
        assert collection.verify(encoder=encoder).ok


def test_concepts_come_and_go_and_change_kind(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    stone = Concept(
        id="T:1",
        label="kidney stone",
        names=(Name(text="renal calculus", scope=Scope.EXACT),),
        alt_ids=("T:9",),
    )
    gout = Concept(id="T:2", label="obsolete gout", obsolete=True, replaced_by=("T:1",))
    with Collection.build(tmp_path / "c", [stone, gout], encoder=encoder) as collection:
        unchanged = collection.sync([gout, stone])
        assert (unchanged.unchanged, unchanged.updated) == (2, 0)
        row = Record(id="r1", text="podagra", concept_id="T:1", scope=Scope.EXACT)
        collection.sync([row])
        assert collection.concepts(["T:1", "T:2", "T:9"]).keys() == {"T:1"}
        assert collection.concepts(["T:1"])["T:1"].label == "podagra"
        assert collection.names_by_key(["gout", "obsolete gout", "kidney stone"]) == {}
        collection.sync([stone])
        assert collection.concepts(["T:9"])["T:9"].label == "kidney stone"
        # The last record of a derived label, and an obsolete concept that is all there is.
        collection.sync([gout])
        assert collection.info()["records"] == 0
        with pytest.raises(CollectionError, match="holds no record"):
            collection.sync([])
        collection.sync([], allow_empty=True)
        assert collection.info()["concepts"] == 0
        assert collection.verify(encoder=encoder).ok


def test_rows_of_an_obsolete_concept_that_goes_make_one_of_their_own(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    gout = Concept(id="T:2", label="obsolete gout", obsolete=True)
    row = Record(id="r1", text="podagra", concept_id="T:2", scope=Scope.EXACT)
    with Collection.build(tmp_path / "c", [gout, row], encoder=encoder) as collection:
        assert collection.sync([row]).unchanged == 1
        concept = collection.concepts(["T:2"])["T:2"]
        assert (concept.label, concept.obsolete) == ("podagra", False)
        assert collection.verify(encoder=encoder).ok


def test_the_same_text_may_change_hands(tmp_path: Path) -> None:
    encoder = Counting()
    one = [Record(id="a", text="xx"), Record(id="b", text="yy")]
    with Collection.build(tmp_path / "c", one, encoder=encoder) as collection:
        collection.sync([Record(id="b", text="xx"), Record(id="c", text="yy")])
        assert encoder.texts == ["xx", "yy"]
        (hits,) = collection.search(["xx"])
        assert [hit.id for hit in hits] == ["b", "c"]
        assert collection.verify(encoder=encoder).ok


def test_an_unreadable_row_removes_nothing(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    bad = Rejected(line=2, reason="the quote is never closed", content='r00001,"x')
    with Collection.build(tmp_path / "c", names(3), encoder=encoder) as collection:
        before = content(tmp_path / "c")
        with pytest.raises(CollectionError, match=r"1 rows .*line 2: the quote is never closed"):
            collection.sync([names(1)[0], bad, names(1, start=2)[0]], source="s.csv")
        assert content(tmp_path / "c") == before
        report = collection.sync([*names(3), bad])  # nothing is missing
        assert (report.quarantined, report.deleted, report.unchanged) == (1, 0, 3)
        report = collection.sync([names(1)[0], bad], allow_quarantine=True)
        assert (report.quarantined, report.deleted) == (1, 2)
        assert [row.line for row in collection.quarantine()] == [2]
        collection.sync(names(1))
        assert collection.quarantine() == []
        assert collection.verify(encoder=encoder).ok


@pytest.mark.parametrize(
    "nothing", [[], [Rejected(line=1, reason="the text is empty", skipped=True)]]
)
def test_an_empty_source_removes_nothing_unless_told(
    tmp_path: Path, nothing: list[SourceItem]
) -> None:
    encoder = HashEncoder(16)
    with Collection.build(tmp_path / "c", names(3), encoder=encoder) as collection:
        with pytest.raises(CollectionError, match="would remove all 3"):
            collection.sync(nothing)
        assert collection.info()["records"] == 3
        assert collection.info()["generation"] == 1
        report = collection.sync(nothing, allow_empty=True)
        assert (report.deleted, report.records) == (3, 0)
        collection.rollback(1)
        assert collection.info()["records"] == 3
        assert collection.verify(encoder=encoder).ok


def test_an_id_twice_in_the_source_is_refused(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    with Collection.build(tmp_path / "c", names(2), encoder=encoder) as collection:
        with pytest.raises(CollectionError, match="twice"):
            collection.sync([Record(id="a", text="x"), Record(id="a", text="y")])
        assert collection.info()["generation"] == 1


class Counting(HashEncoder):
    """Remembers which texts it encoded; the stored probes do not count."""

    def __init__(self) -> None:
        super().__init__(16)
        self.texts: list[str] = []

    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        self.texts += [text for text in texts if text not in CANARIES]
        return super().encode_audited(texts)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("verb", ["add", "update", "sync"])
def test_a_stopped_change_encodes_nothing_twice(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "WINDOW_TEXTS", 10)
    monkeypatch.setattr(changing, "ENCODE_CHUNK", 4)
    encoder = Counting()
    source = names(60, start=10)
    with Collection.build(tmp_path / "c", names(20), encoder=encoder) as collection:

        def stopping(count: int) -> Iterator[SourceItem]:
            yield from source[:count]
            raise Stopped

        for count in (15, 33, 58):
            with pytest.raises(Stopped):
                getattr(collection, verb)(stopping(count))
            assert collection.info()["generation"] == 1
        report = getattr(collection, verb)(source)
        assert sorted(encoder.texts) == sorted(one.text for one in names(70))
        assert report.texts_encoded + report.texts_reused == 50
        assert report.records == (60 if verb == "sync" else 70)
        assert collection.verify(encoder=encoder).ok
