"""Verify finds whatever is damaged, and nothing where nothing is."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.collection.verifying import verify_collection
from mirror_index.config import IndexSpec
from mirror_index.errors import MirrorIndexError
from tests.collection.oracle import every_kind, names
from tests.fakes import HashEncoder

ENCODER = HashEncoder(16)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "c"
    items = every_kind(40)
    spec = IndexSpec(kind="HNSW8")
    with Collection.build(folder, items, encoder=ENCODER, spec=spec, source="s.obo") as built:
        built.delete(["r00007"])
        built.add(names(5, start=100))
        built.save_state("key", {"value": 1})
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "c"))


def kinds(folder: Path) -> set[str]:
    return {problem.kind for problem in verify_collection(folder, encoder=ENCODER).problems}


def test_nothing_wrong(folder: Path) -> None:
    report = verify_collection(folder, encoder=ENCODER, recall=True)
    assert report.ok, report.problems
    assert report.recall is not None
    assert report.recall["recall_at_10"] == 1.0
    assert set(report.checked) >= {"database", "words", "vectors", "index", "encoder", "recall"}
    assert report.to_json()["ok"] is True


@pytest.mark.parametrize("name", ["vectors/000001.f32", "ann/000001.faiss", "encoder/hash.json"])
def test_a_flipped_byte_anywhere_in_a_file(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    rng = random.Random(0)
    used = {"vectors/000001.f32": 43 * 16 * 4}.get(name, len(data))
    for place in [0, used - 1, *rng.sample(range(used), 12)]:
        broken = bytearray(data)
        broken[place] ^= 1 << rng.randrange(8)
        (folder / name).write_bytes(bytes(broken))
        assert kinds(folder), (name, place)
    (folder / name).write_bytes(data)
    assert not kinds(folder)


def dump(folder: Path) -> list[str] | str:
    connection = sqlite3.connect(f"file:{folder / 'collection.db'}?immutable=1", uri=True)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT IN "
            "('migrations', 'sqlite_stat1') ORDER BY name"
        ).fetchall()
        return [repr(connection.execute(f"SELECT * FROM {name}").fetchall()) for (name,) in tables]
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_flipped_byte_in_the_database_is_found_where_it_matters(folder: Path, seed: int) -> None:
    path = folder / "collection.db"
    data = path.read_bytes()
    whole = dump(folder)
    rng = random.Random(seed)
    found = 0
    for place in rng.sample(range(0, len(data)), 160):
        broken = bytearray(data)
        broken[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(broken))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        try:
            noticed = bool(kinds(folder))
        except MirrorIndexError:
            noticed = True
        found += noticed
        if not noticed:
            path.write_bytes(bytes(broken))
            assert dump(folder) == whole, place
    assert found > 10


STATEMENTS = {
    "a record is gone": "DELETE FROM records WHERE id = 'r00003'",
    "a text is gone": "DELETE FROM texts WHERE row = 5",
    "the last text is gone": "DELETE FROM texts WHERE row = (SELECT max(row) FROM texts)",
    "a text is changed": "UPDATE texts SET text = 'another' WHERE row = 5",
    "an audit is changed": "UPDATE texts SET truncated = 1 WHERE row = 5",
    "a count is changed": "UPDATE texts SET records = 2 WHERE row = 5",
    "an id is changed": "UPDATE records SET id = 'r99999' WHERE id = 'r00003'",
    "metadata is changed": "UPDATE records SET metadata = '{}' WHERE id = 'r00003'",
    "a record points elsewhere": "UPDATE records SET text_row = 1 WHERE id = 'r00003'",
    "a record points nowhere": "UPDATE records SET text_row = 999 WHERE id = 'r00003'",
    "a name is gone": "DELETE FROM names WHERE text = 'renal failure'",
    "a name is changed": "UPDATE names SET text = 'Renal failure' WHERE text = 'renal failure'",
    "a key is changed": "UPDATE names SET key = 'x' WHERE text = 'renal failure'",
    "an obsolete name is gone": "DELETE FROM names WHERE obsolete = 1",
    "an obsolete name is changed": "UPDATE names SET text = 'Obsolete' WHERE obsolete = 1",
    "a concept is gone": "DELETE FROM concepts WHERE id = 'D:1'",
    "a concept is changed": "UPDATE concepts SET label = 'x' WHERE id = 'X:1'",
    "an alternative id is gone": "DELETE FROM concept_ids",
    "an alternative id is made up": "INSERT INTO concept_ids VALUES ('X:8', 'X:1')",
    "a setting is changed": "UPDATE meta SET value = '[]' WHERE key = 'sources'",
    "a state is changed": "UPDATE meta SET value = '0' WHERE key = 'state.key'",
    "a probe is changed": "UPDATE canaries SET vector = zeroblob(64)",
    "the probes are gone": "DELETE FROM canaries",
    "a rejected row is changed": "UPDATE quarantine SET reason = 'x'",
    "a rejected row is gone": "DELETE FROM quarantine",
    "a generation is changed": "UPDATE generations SET live_records = 3",
    "an old generation is changed": "UPDATE generations SET verb = 'x' WHERE number = 1",
    "a segment is gone": "DELETE FROM segments WHERE first_row > 0",
    "a segment is changed": "UPDATE segments SET sha256 = 'x' WHERE first_row = 0",
    "an index is gone": "DROP INDEX records_text",
    "the words are gone": "INSERT INTO texts_fts (texts_fts) VALUES ('delete-all')",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_a_damaged_table(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "collection.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert kinds(folder) & {"database", "vectors", "encoder"}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"1")


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "vectors gone": (lambda f: (f / "vectors/000001.f32").unlink(), "vectors"),
    "vectors cut": (lambda f: cut(f / "vectors/000001.f32"), "vectors"),
    "vectors longer": (lambda f: longer(f / "vectors/000001.f32"), "leftover"),
    "index gone": (lambda f: (f / "ann/000001.faiss").unlink(), "index"),
    "index cut": (lambda f: cut(f / "ann/000001.faiss"), "index"),
    "encoder gone": (lambda f: shutil.rmtree(f / "encoder"), "encoder"),
    "encoder file more": (lambda f: (f / "encoder/new.bin").write_text("x"), "encoder"),
    "other vectors": (lambda f: (f / "vectors/000009.f32").write_text("x"), "leftover"),
    "other index": (lambda f: (f / "ann/000009.writing").write_text("x"), "leftover"),
    "other encoder": (lambda f: (f / "encoder-000009").mkdir(), "leftover"),
    "a stranger": (lambda f: (f / "notes.txt").write_text("x"), "stranger"),
}


@pytest.mark.parametrize(("damage", "kind"), FILES.values(), ids=FILES.keys())
def test_a_damaged_file(folder: Path, damage: Callable[[Path], object], kind: str) -> None:
    damage(folder)
    assert kinds(folder) == {kind}


def test_the_next_writer_removes_leftovers_and_leaves_strangers(folder: Path) -> None:
    for damage, kind in FILES.values():
        if kind in ("leftover", "stranger"):
            damage(folder)
    with Collection.open(folder, encoder=ENCODER) as collection:
        collection.add(names(3, start=200))
    assert kinds(folder) == {"stranger"}


def test_search_goes_on_without_the_index(folder: Path) -> None:
    (folder / "ann/000001.faiss").unlink()
    with Collection.open(folder, encoder=ENCODER) as collection:
        (hits,) = collection.search(["renal failure"])
        assert (hits[0].text, hits[0].path) == ("renal failure", "exact")
        collection.compact()
    assert not kinds(folder)


def test_the_stored_encoder_is_checked_when_none_is_given(folder: Path) -> None:
    problems = verify_collection(folder).problems
    assert [problem.kind for problem in problems] == ["encoder"]


def test_recall_below_the_target_is_a_problem(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = {"recall_at_10": 0.5, "recall_interval": [0.4, 0.6]}
    monkeypatch.setattr("mirror_index.index.calibration.measure", lambda *args: low)
    report = verify_collection(folder, encoder=ENCODER, recall=True)
    assert [problem.kind for problem in report.problems] == ["recall"]
    assert report.recall == low


def test_rows_that_are_no_unit_vectors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    path = folder / "vectors/000001.f32"
    rows = np.fromfile(path, dtype=np.float32).reshape(-1, 16)
    rows[2:20] *= 2
    rows.tofile(path)
    problems = verify_collection(folder, encoder=ENCODER).problems
    assert sum("not a unit vector" in problem.what for problem in problems) == 10
    assert any("not as written" in problem.what for problem in problems)


@pytest.mark.parametrize(
    "damage",
    [
        *(damage for damage, kind in FILES.values() if kind != "stranger"),
        *STATEMENTS.values(),
        lambda folder: flip(folder / "collection.db", 200),
        lambda folder: flip(folder / "collection.db", 5000),
        lambda folder: flip(folder / "vectors/000001.f32", 77),
        lambda folder: (folder / "collection.db").write_bytes(b"x" * 9000),
    ],
)
def test_overwriting_mends_whatever_is_damaged(
    folder: Path, damage: Callable[[Path], object] | str
) -> None:
    if isinstance(damage, str):
        connection = sqlite3.connect(folder / "collection.db")
        connection.execute(damage)
        connection.commit()
        connection.close()
    else:
        damage(folder)
    with Collection.build(folder, names(9), encoder=ENCODER, overwrite=True) as built:
        assert built.info()["records"] == 9
    assert not kinds(folder)


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(bytes(data))


def test_an_index_that_is_as_written_but_unreadable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "ann/000001.faiss"
    right = durable.sha256_of(path)
    path.write_bytes(b"of another FAISS")
    (folder / "encoder/new.bin").write_text("x")
    real = durable.sha256_of

    def sha256_of(file: Path, *part: int) -> str:
        return right if file == path else real(file, *part)

    monkeypatch.setattr(durable, "sha256_of", sha256_of)
    problems = verify_collection(folder, encoder=ENCODER).problems
    assert {(problem.kind, problem.where) for problem in problems} == {
        ("index", "ann/000001.faiss"),
        ("encoder", "encoder/new.bin"),
    }
    assert "cannot be read" in problems[0].what
