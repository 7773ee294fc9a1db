"""sync, history, rollback, repair and export, with a real (tiny) encoder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Outcome, Run


@pytest.fixture
def place(run: Run, workshop: Path, tmp_path: Path) -> Path:
    target = tmp_path / "c"
    source = tmp_path / "first.csv"
    source.write_text(
        "id,text,year\n1,heart attack,2001\n2,cardiac arrest,2002\n3,rye bread,2003\n"
    )
    built = run("build", source, "-o", target, "--encoder", workshop / "encoder")
    assert built.status == 0, built.err
    return target


def test_sync_history_rollback(run: Run, place: Path, tmp_path: Path) -> None:
    source = tmp_path / "second.csv"
    source.write_text("id,text,year\n2,cardiac arrest,2012\n3,rye bread,2003\n4,plum cake,2004\n")
    synced = run("sync", place, source, "--json")
    assert synced.status == 0, synced.err
    change = synced.json[0]
    counts = [change[key] for key in ("added", "updated", "deleted", "unchanged", "texts_encoded")]
    assert counts == [1, 1, 1, 1, 1]

    states = run("history", place, "--json").json
    assert [(one["generation"], one["verb"], one["records"]) for one in states] == [
        (2, "sync", 3),
        (1, "build", 3),
    ]
    shown = run("history", place).out.splitlines()
    assert "current" in shown[1]
    assert "+1 ~1 -1" in shown[1]
    assert shown[2].endswith("yes")

    back = run("rollback", place, 1, "--json")
    assert back.status == 0, back.err
    assert [back.json[0][key] for key in ("added", "updated", "deleted")] == [1, 1, 1]
    hits = run("search", place, "heart attack", "-k", 9, "--json").json
    assert {hit["id"]: hit["metadata"]["year"] for hit in hits} == {
        "1": "2001",
        "2": "2002",
        "3": "2003",
    }
    assert "back to 1" in run("history", place).out
    assert run("verify", place).status == 0
    for generation in (3, 9, 0):
        refused = run("rollback", place, generation)
        assert refused.status == 2
        assert "mirror-index history" in refused.err


def test_a_sync_that_would_lose_records(run: Run, place: Path, tmp_path: Path) -> None:
    source = tmp_path / "bad.csv"
    source.write_text("id,text,year\n1,heart attack,2001\n2,too,many,cells\n")
    refused = run("sync", place, source)
    assert refused.status == 1
    assert "line 3" in refused.err
    assert "--allow-quarantine" in refused.err
    assert run("info", place, "--json").json[0]["records"] == 3
    done = run("sync", place, source, "--allow-quarantine", "--json")
    assert (done.status, done.json[0]["deleted"], done.json[0]["quarantined"]) == (0, 2, 1)

    empty = tmp_path / "empty.csv"
    empty.write_text("id,text,year\n")
    refused = run("sync", place, empty)
    assert refused.status == 1
    assert run("info", place, "--json").json[0]["records"] == 1
    (tmp_path / "blank.csv").write_text("")
    assert run("sync", place, tmp_path / "blank.csv").status == 1
    assert run("sync", place, tmp_path / "missing.csv").status == 1
    assert run("info", place, "--json").json[0]["records"] == 1


def test_an_ontology_follows_its_release(run: Run, workshop: Path, tmp_path: Path) -> None:
    release = tmp_path / "next.obo"
    text = (workshop / "tiny.obo").read_text()
    text = text.replace('synonym: "MI" EXACT abbreviation []\n', "").replace("Fever", "Raised heat")
    release.write_text(text.replace("alt_id: T:22\n", "alt_id: T:23\n"))
    target = tmp_path / "o"
    run("build", workshop / "tiny.obo", "-o", target, "--encoder", workshop / "encoder")
    change = run("sync", target, release, "--json").json[0]
    assert [change[key] for key in ("added", "updated", "deleted")] == [0, 1, 1]
    linked = run("link", target, "raised heat", "pyrexia", "--json").json
    assert [one["concept_id"] for one in linked] == ["T:4", "T:4"]
    assert run("rollback", target, 1).status == 0
    linked = run("link", target, "fever", "mi", "--json").json
    assert [one["concept_id"] for one in linked] == ["T:4", "T:1"]
    assert run("verify", target).status == 0


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_the_query_copy_is_made_again_from_the_weights(run: Run, place: Path, damage: str) -> None:
    _harm(place / "encoder/model.onnx", damage)
    before = run("verify", place, "--json")
    assert before.status == 1
    assert any("model.onnx" in one["where"] for one in before.json[0]["problems"])
    mended = run("repair", place)
    assert mended.status == 0, mended.out + mended.err
    assert "query copy" in mended.out
    assert run("verify", place).status == 0
    hits = run("search", place, "heart attack", "-k", 1, "--json").json
    assert (hits[0]["id"], hits[0]["score"]) == ("1", pytest.approx(1.0, abs=1e-4))
    assert not (place / "encoder").exists()
    assert run("sync", place, place.parent / "first.csv", "--json").json[0]["unchanged"] == 3


def _harm(path: Path, damage: str) -> None:
    data = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    else:
        data[len(data) // 2] ^= 16
        path.write_bytes(bytes(data if damage == "flip" else data[: len(data) // 3]))


def test_every_file_in_turn(run: Run, place: Path) -> None:
    """Whatever file is harmed, verify names it, and repair mends it or says plainly that not."""
    mendable = ("vectors/", "ann/", "encoder/model.onnx")
    names = [
        path.relative_to(place).as_posix()
        for path in sorted(place.rglob("*"))
        if path.is_file() and not path.name.startswith(("writer.", "collection."))
    ]
    assert len(names) >= 5
    for name in names:
        data = (place / name).read_bytes()
        _harm(place / name, "flip")
        found = run("verify", place, "--json")
        assert found.status == 1, name
        assert any(name in one["where"] for one in found.json[0]["problems"]), name
        mended = run("repair", place, "--json")
        if name.startswith(mendable):
            assert mended.status == 0, (name, mended.out)
            return_to = None
        else:
            assert mended.status == 1, name
            assert any(name in one["where"] for one in mended.json[0]["left"]), name
            return_to = data
        if return_to is not None:
            (place / name).write_bytes(return_to)
        assert run("verify", place).status == 0, name
        if name == "encoder/model.onnx":
            break  # the rest of the folder has moved


def test_repair_for_people(run: Run, place: Path, workshop: Path) -> None:
    assert "0 repairs, 0 problems left" in run("repair", place).out
    (place / "notes.txt").write_text("mine")
    vectors = place / "vectors/000001.f32"
    vectors.write_bytes(vectors.read_bytes()[:50])
    _harm(place / "encoder/model.safetensors", "flip")
    report = run("repair", place)
    assert report.status == 1
    assert "notes.txt" in report.out
    assert "model.safetensors" in report.out
    assert "not as written" in report.err
    assert (place / "notes.txt").read_text() == "mine"
    given = run("repair", place, "--encoder", workshop / "encoder")
    assert given.status == 1  # a folder without a recipe is no encoder of this collection


def test_export_and_build_again(run: Run, place: Path, workshop: Path, tmp_path: Path) -> None:
    out, vectors = tmp_path / "out.csv", tmp_path / "out.npy"
    done = run("export", place, "-o", out, "--vectors", vectors, "--json")
    assert done.status == 0, done.err
    assert done.json[0]["records"] == 3
    assert out.read_text() == (
        "id,text,year\n1,heart attack,2001\n2,cardiac arrest,2002\n3,rye bread,2003\n"
    )
    assert np.load(vectors).shape == (3, 32)
    again = run("build", out, "-o", tmp_path / "d", "--encoder", workshop / "encoder", "--json")
    assert again.json[0]["added"] == 3
    assert run("sync", place, out, "--json").json[0]["unchanged"] == 3
    assert run("export", place, "-o", out).status == 2
    assert run("export", place, "-o", tmp_path / "out.xml").status == 2
    assert run("export", place).status == 2
    shown = run("export", place, "-o", tmp_path / "out.jsonl")
    assert "records" in shown.out
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows[0] == {"id": "1", "text": "heart attack", "year": "2001"}


def test_another_writer(run: Run, place: Path) -> None:
    from mirror_index.store.locking import writer_lock

    def status(outcome: Outcome) -> int:
        assert str(os.getpid()) in outcome.err
        return outcome.status

    with writer_lock(place):
        assert status(run("sync", place, place.parent / "first.csv")) == 75
        assert status(run("rollback", place, 1)) == 75
        assert status(run("repair", place)) == 75
        assert run("history", place).status == 0
