"""Repair mends what can be made again, names the rest, and makes nothing worse."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.collection.repairing import RepairReport, repair_collection
from mirror_index.collection.verifying import verify_collection
from mirror_index.config import Dtype, IndexSpec, SearchOptions
from mirror_index.errors import CollectionError, MirrorIndexError
from mirror_index.pipeline import build_collection
from mirror_index.records import Record
from tests.collection.oracle import every_kind, names
from tests.collection.test_history import content
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repair") / "c"
    items = every_kind(40)
    spec = IndexSpec(kind="HNSW8")
    with Collection.build(folder, items, encoder=ENCODER, spec=spec, source="s.obo") as built:
        built.delete(["r00007"])
        built.add(names(5, start=100))
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "c"))


def sql(statement: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        connection = sqlite3.connect(folder / "collection.db")
        connection.execute(statement)
        connection.commit()
        connection.close()

    return damage


def flip(name: str, place: int) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[place] ^= 4
        (folder / name).write_bytes(bytes(data))

    return damage


def cut(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


VECTORS, ANN = "vectors/000001.f32", "ann/000001.faiss"
MENDED = {
    "a byte of a vector": flip(VECTORS, 77),
    "a byte of the last vector": flip(VECTORS, 48 * 64 - 1),
    "half the vectors": cut(VECTORS, 1500),
    "all but one byte": cut(VECTORS, 1),
    "no vectors": remove(VECTORS),
    "a segment is gone": sql("DELETE FROM segments WHERE first_row > 0"),
    "a segment is changed": sql("UPDATE segments SET sha256 = 'x' WHERE first_row = 0"),
    "all segments are gone": sql("DELETE FROM segments"),
    "a byte of the index": flip(ANN, 100),
    "half the index": cut(ANN, 300),
    "no index": remove(ANN),
    "index and vectors": lambda f: (remove(ANN)(f), remove(VECTORS)(f)),
    "a count": sql("UPDATE texts SET records = 2 WHERE row = 5"),
    "a live text counts as dead": sql("UPDATE texts SET records = 0 WHERE row = 5"),
    "a name is gone": sql("DELETE FROM names WHERE text = 'renal failure'"),
    "a name is changed": sql("UPDATE names SET text = 'x' WHERE text = 'renal failure'"),
    "a key is changed": sql("UPDATE names SET key = 'x' WHERE text = 'renal failure'"),
    "a name is there twice": sql("INSERT INTO names SELECT * FROM names WHERE obsolete = 0"),
    "an alternative id is gone": sql("DELETE FROM concept_ids"),
    "an alternative id is made up": sql("INSERT INTO concept_ids VALUES ('X:8', 'X:1')"),
    "words are gone": sql("INSERT INTO texts_fts (texts_fts) VALUES ('delete-all')"),
    "the word index is gone": sql("DROP TABLE texts_fts"),
    "the trigram index is gone": sql("DROP TABLE texts_trigrams"),
    "what it is made over is gone": sql("DROP VIEW short_texts"),
    "an index is gone": sql("DROP INDEX records_text"),
    "the view is gone": sql("DROP VIEW records_with_text"),
    "notes are damaged": sql("UPDATE undo SET old = 'x'"),
    "a leftover": lambda f: (f / "ann/000009.faiss").write_text("x"),
    "rows past the end": lambda f: (f / VECTORS).write_bytes(
        (f / VECTORS).read_bytes() + b"x" * 99
    ),
    "old keys": sql(
        "UPDATE meta SET value = '0', checksum = 8841858719519011984 WHERE key = 'name_key_version'"
    ),
}


@pytest.mark.parametrize("damage", MENDED.values(), ids=MENDED.keys())
def test_what_can_be_made_again_is(folder: Path, damage: Callable[[Path], object]) -> None:
    before = content(folder)
    damage(folder)
    if damage is not MENDED["old keys"]:
        assert not verify_collection(folder, encoder=ENCODER).ok
    mended = repair_collection(folder, encoder=ENCODER)
    assert mended.ok, mended.left
    assert mended.repaired
    assert verify_collection(folder, encoder=ENCODER, recall=True).ok
    assert content(folder) == before
    with Collection.open(folder, encoder=ENCODER) as collection:
        (hits,) = collection.search(["renal failure"], SearchOptions(k=3, exact=True))
        assert hits[0].score == 1.0
        collection.update(names(3, start=1))
        assert collection.verify(encoder=ENCODER).ok
    again = repair_collection(folder, encoder=ENCODER)
    assert (again.repaired, again.left) == ((), ())


LEFT = {
    "a record is gone": (sql("DELETE FROM records WHERE id = 'r00003'"), "records"),
    "a text is changed": (sql("UPDATE texts SET text = 'another' WHERE row = 5"), "texts"),
    "a text is gone": (sql("DELETE FROM texts WHERE row = 5"), "texts"),
    "metadata is changed": (
        sql("UPDATE records SET metadata = '{}' WHERE id = 'r00004'"),
        "r00004",
    ),
    "an obsolete name": (sql("DELETE FROM names WHERE obsolete = 1"), "names"),
    "a concept is changed": (sql("UPDATE concepts SET label = 'x' WHERE id = 'X:1'"), "X:1"),
    "a concept is gone": (sql("DELETE FROM concepts WHERE id = 'X:1'"), "X:1"),
    "the probes are gone": (sql("DELETE FROM canaries"), "canaries"),
    "a rejected row": (sql("DELETE FROM quarantine"), "quarantine"),
    "a setting": (sql("UPDATE meta SET value = '[]' WHERE key = 'sources'"), "meta"),
    "an old state": (sql("UPDATE generations SET verb = 'x' WHERE number = 1"), "generation"),
    "an encoder file": (flip("encoder/hash.json", 3), "hash.json"),
    "an encoder file is gone": (remove("encoder/hash.json"), "hash.json"),
    "a file beside the encoder's": (lambda f: (f / "encoder/new.bin").write_text("x"), "new.bin"),
    "a stranger": (lambda f: (f / "notes.txt").write_text("mine"), "notes.txt"),
}


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(("collection.db-", "writer."))
    }


@pytest.mark.parametrize(("damage", "named"), LEFT.values(), ids=LEFT.keys())
def test_what_cannot_be_made_again_is_named(
    folder: Path, damage: Callable[[Path], object], named: str
) -> None:
    damage(folder)
    flip(VECTORS, 77)(folder)
    problems = verify_collection(folder, encoder=ENCODER).problems
    before = files(folder)
    report = repair_collection(folder, encoder=ENCODER)
    assert not report.ok
    assert any(named in problem.where + problem.what for problem in report.left), report.left
    assert set(report.left) <= set(problems)
    if any(problem.kind == "database" for problem in report.left):
        assert report.repaired == ()
        assert files(folder) == before  # byte for byte, the database as well
    else:
        assert {problem.kind for problem in report.left} <= {"encoder", "stranger"}


def test_nothing_is_encoded_with_damaged_weights(folder: Path) -> None:
    flip("encoder/hash.json", 3)(folder)
    flip(VECTORS, 77)(folder)
    report = repair_collection(folder)
    assert {problem.kind for problem in report.left} == {"encoder", "vectors"}
    assert report.repaired == ()


def test_only_damaged_segments_are_encoded_again(folder: Path) -> None:
    flip(VECTORS, 45 * 64)(folder)  # within the rows of the add
    encoder = HashEncoder(16)
    report = repair_collection(folder, encoder=encoder)
    assert report.repaired == ("5 vectors were made again from their texts",)
    with Collection.open(folder, encoder=ENCODER) as collection:
        assert [state.verb for state in collection.history()][:2] == ["repair", "add"]
        assert collection.history()[1].reachable
        collection.rollback(1)
        assert collection.verify(encoder=ENCODER).ok
        assert collection.info()["records"] == 43


@pytest.mark.parametrize("harm", [flip("vectors/000001.f16", 77), remove("vectors/000001.f16")])
def test_vectors_of_half_precision(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    spec = IndexSpec(dtype=Dtype.FLOAT16)
    with Collection.build(tmp_path / "c", names(9), encoder=ENCODER, spec=spec) as collection:
        collection.add(names(3, start=9))
        before = collection.search(["renal failure"])
    harm(tmp_path / "c")
    assert not verify_collection(tmp_path / "c", encoder=ENCODER).ok
    assert repair_collection(tmp_path / "c", encoder=ENCODER).ok
    with Collection.open(tmp_path / "c", encoder=ENCODER) as collection:
        assert collection.search(["renal failure"]) == before
        collection.rollback(1)
        collection.sync(names(5))
        assert collection.verify(encoder=ENCODER).ok


def test_given_vectors_cannot_be_encoded_again(tmp_path: Path) -> None:
    source, vectors = tmp_path / "s.csv", tmp_path / "v.npy"
    source.write_text("id,text\n" + "".join(f"r{n},text {n}\n" for n in range(40)))
    np.save(vectors, np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32))
    spec = IndexSpec(kind="HNSW8")
    build_collection(source, tmp_path / "c", vectors=vectors, spec=spec).close()
    remove(ANN)(tmp_path / "c")
    assert repair_collection(tmp_path / "c").ok
    flip(VECTORS, 77)(tmp_path / "c")
    before = (tmp_path / "c" / VECTORS).read_bytes()
    report = repair_collection(tmp_path / "c")
    assert [problem.kind for problem in report.left] == ["vectors"]
    assert (tmp_path / "c" / VECTORS).read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        cut("collection.db", 0),
        cut("collection.db", 20_000),
        lambda f: (f / "collection.db").write_bytes(b"x" * 9000),
        remove("collection.db"),
    ],
)
def test_a_database_beyond_reading(folder: Path, damage: Callable[[Path], object]) -> None:
    for suffix in ("-wal", "-shm"):
        (folder / f"collection.db{suffix}").unlink(missing_ok=True)
    damage(folder)
    before = files(folder)
    report: RepairReport | None = None
    try:
        report = repair_collection(folder, encoder=ENCODER)
    except CollectionError:
        pass
    assert report is None or report.left
    assert files(folder) == before


def test_progress_of_an_unfinished_change_is_dropped(folder: Path) -> None:
    class Stopped(Exception):
        pass

    def items() -> Iterator[Record]:
        yield from names(3, start=200)
        raise Stopped

    from mirror_index.collection import intake

    with Collection.open(folder, encoder=ENCODER) as collection:
        old, intake.WINDOW_TEXTS = intake.WINDOW_TEXTS, 2
        try:
            with pytest.raises(Stopped):
                collection.add(items())
        finally:
            intake.WINDOW_TEXTS = old
    report = repair_collection(folder, encoder=ENCODER)
    assert report.ok
    assert report.repaired[0] == "2 texts encoded for an unfinished change were dropped"


class StoppedRepair(Exception):
    pass


def test_a_repair_can_fail_at_any_operation(folder: Path, tmp_path: Path) -> None:
    flip(VECTORS, 77)(folder)
    remove(ANN)(folder)
    sql("DELETE FROM names WHERE text = 'renal failure'")(folder)
    left = 10**6

    def hook(operation: str, path: Path) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise StoppedRepair(operation)

    with durable.watched(hook):
        repair_collection(Path(shutil.copytree(folder, tmp_path / "whole")), encoder=ENCODER)
    total = 10**6 - left
    assert total > 10
    for number in range(1, total + 1, 2):
        copy = Path(shutil.copytree(folder, tmp_path / str(number)))
        left = number
        with durable.watched(hook), pytest.raises(StoppedRepair):
            repair_collection(copy, encoder=ENCODER)
        left = 10**6
        assert repair_collection(copy, encoder=ENCODER).ok
        assert content(copy) == content(tmp_path / "whole")
        shutil.rmtree(copy)


def test_a_repaired_database_holds_what_it_held(folder: Path) -> None:
    path = folder / "collection.db"
    before, data = content(folder), path.read_bytes()
    vectors = (folder / VECTORS).read_bytes()
    rng = random.Random(0)
    outcomes = {"mended": 0, "left": 0}
    for _ in range(90):
        broken = bytearray(data)
        place = rng.randrange(len(data))
        for offset in range(rng.choice((1, 1, 30))):
            broken[(place + offset) % len(data)] ^= 1 + rng.randrange(255)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.write_bytes(bytes(broken))
        try:
            report = repair_collection(folder, encoder=ENCODER)
        except MirrorIndexError:
            outcomes["left"] += 1
            continue
        outcomes["mended" if report.ok else "left"] += 1
        if report.ok:
            assert content(folder) == before, place
        assert (folder / VECTORS).read_bytes() == vectors
    assert min(outcomes.values()) > 3
