"""History and rollback, against remembered states."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mirror_index.collection import Collection
from mirror_index.errors import CollectionCorruptError, UsageError
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem
from mirror_index.store import undo
from mirror_index.store.layout import DATABASE
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

WORDS = ("renal", "cardiac", "stone", "failure", "acute", "it's", "größe", "µ-opioid", "a\tb")


def content(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything a state says, without row numbers."""
    connection = sqlite3.connect(folder / DATABASE)
    queries = {
        "records": "SELECT records.id, coalesce(raw, text), metadata, concept_id, scope, "
        "name_type, source_line, typeof(source_line) FROM records "
        "JOIN texts ON texts.row = text_row ORDER BY 1",
        "concepts": "SELECT * FROM concepts ORDER BY id",
        "concept_ids": "SELECT * FROM concept_ids ORDER BY 1, 2",
        "names": "SELECT names.key, text, names.concept_id, records.id, names.scope, "
        "names.name_type, obsolete, names.checksum FROM names "
        "LEFT JOIN records ON records.key = record_key ORDER BY 1, 2, 3, 4",
        "quarantine": "SELECT generation, source, line, reason, content, skipped "
        "FROM quarantine ORDER BY 1, 3",
        "sources": "SELECT value FROM meta WHERE key = 'sources'",
        "in use": "SELECT text, records FROM texts WHERE records > 0 ORDER BY 1",
        "words": "SELECT texts.text FROM texts_fts JOIN texts ON texts.row = texts_fts.rowid "
        "WHERE texts_fts MATCH 'renal OR stone' AND records > 0 ORDER BY 1",
    }
    found = {name: connection.execute(sql).fetchall() for name, sql in queries.items()}
    connection.close()
    return found


def some_items(rng: random.Random) -> list[SourceItem]:
    items: dict[str, SourceItem] = {}
    for _ in range(rng.randrange(1, 7)):
        number = rng.randrange(12)
        text = " ".join(rng.choices(WORDS, k=rng.randrange(1, 3)))
        kind = rng.randrange(4)
        if kind == 0:
            items[f"r{number}"] = Record(id=f"r{number}", text=text, metadata={"n": rng.random()})
        elif kind == 1:
            items[f"d{number}"] = Record(
                id=f"d{number}", text=f" {text}  ", concept_id=f"D:{number % 3}", line=number
            )
        elif kind == 2:
            items[f"T:{number}"] = Concept(
                id=f"T:{number}",
                label=text,
                names=tuple(
                    Name(text=word, scope=Scope.EXACT) for word in rng.sample(WORDS, number % 3)
                ),
                alt_ids=(f"T:{number + 50}",) if number % 2 else (),
                obsolete=number % 4 == 0,
                xrefs=('x"y', "z\\"),
            )
        else:
            items[f"!{number}"] = Rejected(line=number, reason="odd", content="\u2028 x")
    return list(items.values())


def change_at_random(collection: Collection, rng: random.Random) -> None:
    kind = rng.randrange(6)
    if kind == 0:
        collection.delete([f"r{rng.randrange(12)}", f"d{rng.randrange(12)}"])
    elif kind == 1:
        collection.sync(
            some_items(rng), source=f"s{rng.random()}", allow_empty=True, allow_quarantine=True
        )
    elif kind == 2:
        states = [state for state in collection.history()[1:] if state.reachable]
        if states:
            collection.rollback(rng.choice(states).generation)
    else:
        collection.update(some_items(rng), source=f"u{rng.randrange(3)}")


@pytest.mark.parametrize("seed", range(4))
def test_any_chain_of_changes_can_be_undone(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    encoder = HashEncoder(16)
    folder = tmp_path / "c"
    with Collection.build(folder, some_items(rng), encoder=encoder) as collection:
        states = {1: content(folder)}
        for _ in range(22):
            before = encoder.encoded
            change_at_random(collection, rng)
            newest = collection.history()[0]
            if newest.verb == "rollback":
                assert content(folder) == states[newest.returned_to]
                assert encoder.encoded == before
            states[newest.generation] = content(folder)
        assert collection.verify(encoder=encoder).ok
        for _ in range(6):
            reachable = [s.generation for s in collection.history()[1:] if s.reachable]
            for generation in (reachable[-1], rng.choice(reachable[:-1])):
                collection.rollback(generation)
                assert content(folder) == states[generation]
                states[collection.history()[0].generation] = states[generation]
        assert collection.verify(encoder=encoder).ok


def test_a_rollback_searches_as_the_old_state_did(tmp_path: Path) -> None:
    encoder = HashEncoder()
    oracle = Oracle(encoder)
    oracle.put(names(40))
    with Collection.build(tmp_path / "c", names(40), encoder=encoder) as collection:
        collection.add(names(20, start=40))
        collection.delete([f"r{number:05d}" for number in range(30)])
        collection.sync(names(15, start=50))
        report = collection.rollback(1)
        assert (report.added, report.updated, report.deleted) == (40, 0, 15)
        oracle.check(collection, ["renal failure type 3", "gastric lesion type 33"])
        collection.rollback(4)
        oracle.drop(list(oracle.records))
        oracle.put(names(15, start=50))
        oracle.check(collection, ["renal failure type 3", "gastric lesion type 33"])
        assert collection.verify(encoder=encoder).ok


def test_history_says_what_happened(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(
        tmp_path / "c", names(3), encoder=encoder, source="first.csv"
    ) as collection:
        collection.add(names(2, start=3), source="more.csv")
        collection.delete(["r00000"])
        collection.rollback(2)
        history = collection.history()
        assert [(s.generation, s.verb, s.source) for s in history] == [
            (4, "rollback", None),
            (3, "delete", None),
            (2, "add", "more.csv"),
            (1, "build", "first.csv"),
        ]
        assert [s.records for s in history] == [5, 4, 5, 3]
        assert [s.returned_to for s in history] == [2, None, None, None]
        assert all(s.reachable for s in history)
        assert history[1].counts["deleted"] == 1
        assert history[0].to_json()["counts"]["added"] == 1


def test_what_cannot_be_returned_to_is_refused(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", names(3), encoder=encoder) as collection:
        collection.delete(["r00000"])
        for generation, message in (
            (2, "already"),
            (3, "no such"),
            (0, "no such"),
            (-1, "no such"),
        ):
            with pytest.raises(UsageError, match=message):
                collection.rollback(generation)
        collection.compact()
        with pytest.raises(UsageError, match="any more"):
            collection.rollback(1)
        assert [state.reachable for state in collection.history()] == [True, False, False]
        collection.add(names(1, start=9))
        collection.rollback(3)
        assert collection.info()["records"] == 2
    with Collection.build(tmp_path / "c", names(2), encoder=encoder, overwrite=True) as collection:
        assert [state.reachable for state in collection.history()][:2] == [True, False]
        assert collection.verify(encoder=encoder).ok


def test_a_bounded_number_of_states_is_kept(tmp_path: Path) -> None:
    encoder = HashEncoder(8)
    folder = tmp_path / "c"
    with Collection.build(folder, names(1), encoder=encoder) as collection:
        for number in range(undo.KEPT + 3):
            collection.add(names(1, start=1 + number))
        reachable = [state.generation for state in collection.history() if state.reachable]
        assert reachable == list(range(undo.KEPT + 4, 3, -1))
        collection.rollback(4)
        assert collection.info()["records"] == 4
    connection = sqlite3.connect(folder / DATABASE)
    assert connection.execute("SELECT min(generation) FROM undo").fetchone()[0] == 6
    connection.close()


def test_damaged_notes_are_found_and_never_followed(tmp_path: Path) -> None:
    encoder = HashEncoder(8)
    folder = tmp_path / "c"
    with Collection.build(folder, names(3), encoder=encoder) as collection:
        collection.delete(["r00000"])
        collection.delete(["r00001"])
        connection = sqlite3.connect(folder / DATABASE)
        connection.execute("UPDATE undo SET old = '[]' WHERE generation = 2 AND old IS NOT NULL")
        connection.commit()
        connection.close()
        problems = collection.verify(encoder=encoder).problems
        assert [problem.where for problem in problems] == [f"{DATABASE}, undo"]
        with pytest.raises(CollectionCorruptError, match="damaged"):
            collection.rollback(1)
        assert collection.info()["generation"] == 3
        collection.rollback(2)
        assert collection.info()["records"] == 2


def test_notes_that_lead_elsewhere_change_nothing(tmp_path: Path) -> None:
    encoder = HashEncoder(8)
    folder = tmp_path / "c"
    with Collection.build(folder, names(3), encoder=encoder) as collection:
        collection.delete(["r00000"])
        connection = sqlite3.connect(folder / DATABASE)
        connection.execute("DELETE FROM undo WHERE generation = 2")
        summary = undo._summary(connection, 2)
        connection.execute("UPDATE undo_log SET rows = ?, checksum = ?", summary)
        connection.commit()
        connection.close()
        with pytest.raises(CollectionCorruptError, match="does not lead"):
            collection.rollback(1)
        assert collection.info()["records"] == 2
        assert collection.info()["generation"] == 2


def test_a_vacuum_by_another_program_keeps_the_way_back(tmp_path: Path) -> None:
    encoder = HashEncoder(8)
    folder = tmp_path / "c"
    bad = [Rejected(line=line, reason="odd", content=str(line)) for line in range(1, 6)]
    with Collection.build(folder, [*names(3), *bad], encoder=encoder) as collection:
        first = content(folder)
        collection.sync([*names(2, start=1), bad[2]], allow_quarantine=True)
        second = content(folder)
        collection.rollback(1)
        connection = sqlite3.connect(folder / DATABASE)
        connection.execute("VACUUM")
        connection.close()
        collection.rollback(2)
        assert content(folder) == second
        collection.rollback(1)
        assert content(folder) == first
