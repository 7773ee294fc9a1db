"""Failing at every file operation of a change: the committed state stays, the change can go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror_index import durable
from mirror_index.collection import Collection
from mirror_index.config import IndexSpec
from mirror_index.errors import CollectionError
from mirror_index.records import Record
from mirror_index.store import committing
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder

LEFT = {"leftover"}


class Stopped(Exception):
    pass


def operations(action: Callable[[], object]) -> int:
    count = 0

    def hook(operation: str, path: Path) -> None:
        nonlocal count
        count += 1

    with durable.watched(hook):
        action()
    return count


def stop_at(number: int) -> Callable[[str, Path], None]:
    left = number

    def hook(operation: str, path: Path) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Stopped(operation)

    return hook


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.changing.ENCODE_CHUNK", 10)
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 20)
    monkeypatch.setattr("mirror_index.index.calibration.QUERIES", 5)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", ["exact", "IVF2,Flat"])
def test_a_build_can_fail_at_any_operation(tmp_path: Path, kind: str) -> None:
    encoder = HashEncoder(16)
    items = names(40)
    oracle = Oracle(encoder)
    oracle.put(items)

    def build(folder: Path) -> Collection:
        return Collection.build(folder, items, encoder=encoder, spec=IndexSpec(kind=kind))

    total = operations(lambda: build(tmp_path / "whole").close())
    assert total > 15
    for number in range(1, total + 1, 1 if kind == "exact" else 4):
        folder = tmp_path / str(number)
        with durable.watched(stop_at(number)), pytest.raises(Stopped):
            build(folder)
        committed = True
        try:
            collection = Collection.open(folder, encoder=encoder)
        except CollectionError:
            committed = False
            collection = build(folder)
        with collection:
            oracle.check(collection, ["renal failure type 0", "hepatic"])
            problems = {p.kind for p in collection.verify(encoder=encoder).problems}
            assert problems <= (LEFT if committed else set())


ENCODER, OTHER = HashEncoder(16), HashEncoder(16, salt="other")
BEFORE, AFTER = names(30), names(25, start=25)


def overwrite(encoder: HashEncoder) -> Callable[[Path, str], None]:
    def change(folder: Path, kind: str) -> None:
        spec = IndexSpec(kind=kind)
        Collection.build(folder, AFTER, encoder=encoder, spec=spec, overwrite=True).close()

    return change


def on_open(act: Callable[[Collection], object]) -> Callable[[Path, str], None]:
    def change(folder: Path, kind: str) -> None:
        with Collection.open(folder, encoder=ENCODER) as collection:
            act(collection)

    return change


def state(encoder: HashEncoder, *parts: list[Record]) -> Oracle:
    oracle = Oracle(encoder)
    for part in parts:
        oracle.put(part)
    return oracle


BOTH = state(ENCODER, BEFORE, AFTER)
CHANGES = {
    "add": (on_open(lambda c: c.add(AFTER)), BOTH),
    "update": (on_open(lambda c: c.update(AFTER)), BOTH),
    "delete": (on_open(lambda c: c.delete([r.id for r in BEFORE[:9]])), state(ENCODER, BEFORE[9:])),
    "compact": (on_open(lambda c: c.compact()), state(ENCODER, BEFORE)),
    "sync": (on_open(lambda c: c.sync(AFTER)), state(ENCODER, AFTER)),
    "rollback": (on_open(lambda c: c.rollback(2)), state(ENCODER, BEFORE, names(3, start=90))),
    "overwrite": (overwrite(ENCODER), state(ENCODER, AFTER)),
    "renew": (overwrite(OTHER), state(OTHER, AFTER)),
}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("kind", ["exact", "IVF2,Flat"])
@pytest.mark.parametrize("verb", list(CHANGES))
def test_a_change_can_fail_at_any_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, verb: str
) -> None:
    monkeypatch.setattr("mirror_index.collection.approximation.TAIL_ROWS", 0)
    change, after = CHANGES[verb]
    base = tmp_path / "base"
    with Collection.build(base, BEFORE, encoder=ENCODER, spec=IndexSpec(kind=kind)) as collection:
        collection.add(names(3, start=90))
        collection.delete([record.id for record in names(3, start=90)])
        first = collection.info()["generation"]
    shutil.copytree(base, tmp_path / "whole")
    total = operations(lambda: change(tmp_path / "whole", kind))
    outcomes = set()
    for number in range(1, total + 1, 1 if kind == "exact" else 4):
        folder = Path(shutil.copytree(base, tmp_path / str(number)))
        with durable.watched(stop_at(number)), pytest.raises(Stopped):
            change(folder, kind)
        with Collection.open(folder) as probe:
            done = probe.info()["generation"] > first
        outcomes.add(done)
        found = after if done else state(ENCODER, BEFORE)
        with Collection.open(folder, encoder=found.encoder) as collection:
            found.check(collection, ["renal failure type 3", "gastric lesion type 29"])
            problems = collection.verify(encoder=found.encoder).problems
            assert {problem.kind for problem in problems} <= LEFT
        change(folder, kind)
        with Collection.open(folder, encoder=after.encoder) as collection:
            after.check(collection, ["renal failure type 3"])
            assert collection.verify(encoder=after.encoder).ok
    assert False in outcomes


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("step", ["take_pending", "apply_staged", "settle", "write_generation"])
def test_a_commit_that_fails_half_way_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = state(ENCODER, BEFORE)
    with Collection.build(tmp_path / "c", BEFORE, encoder=ENCODER) as collection:
        real = getattr(committing, step)

        def half(*args: object) -> None:
            real(*args)
            raise Stopped(step)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(committing, step, half)
            with pytest.raises(Stopped):
                collection.update(AFTER)
        assert collection.info()["generation"] == 1
        before.check(collection, ["renal failure type 3"])
        problems = collection.verify(encoder=ENCODER).problems
        assert {problem.kind for problem in problems} == LEFT
        report = collection.update(AFTER)
        assert report.texts_encoded == 0
        BOTH.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=ENCODER).ok
