"""Calibration follows the dictionary, but not every small change of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.linking import refitting
from mirror_index.linking.refitting import refit_when_due
from mirror_index.progress import SILENT
from mirror_index.records import Concept, Name, Record, Scope
from tests.fakes import HashEncoder


def concepts(count: int, start: int = 0) -> list[Concept]:
    return [
        Concept(
            id=f"C:{number}",
            label=f"finding {number}",
            names=(Name(text=f"sign {number}", scope=Scope.EXACT),),
        )
        for number in range(start, start + count)
    ]


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []

    def calibrate(collection: Collection) -> None:
        found.append(collection.history()[0].generation)

    monkeypatch.setattr(refitting, "calibrate", calibrate)
    return found


def test_it_is_fitted_again_when_enough_has_changed(tmp_path: Path, fits: list[int]) -> None:
    encoder = HashEncoder(8)
    with Collection.build(tmp_path / "c", concepts(100), encoder=encoder) as collection:
        refit_when_due(collection, SILENT)
        assert fits == [1]
        collection.add(concepts(3, start=100))  # 6 of 206 records
        refit_when_due(collection, SILENT)
        assert fits == [1]
        collection.delete([f"C:{number}" for number in range(6)])  # together more than 5%
        refit_when_due(collection, SILENT)
        assert fits == [1, 3]
        collection.rollback(2)
        refit_when_due(collection, SILENT)
        assert fits == [1, 3]
        collection.rollback(1)
        refit_when_due(collection, SILENT)
        assert fits == [1, 3, 5]
        collection.compact()
        refit_when_due(collection, SILENT)
        assert fits == [1, 3, 5]


def test_a_new_build_is_always_fitted(tmp_path: Path, fits: list[int]) -> None:
    encoder = HashEncoder(8)
    Collection.build(tmp_path / "c", concepts(5), encoder=encoder).close()
    with Collection.open(tmp_path / "c", encoder=encoder) as collection:
        refit_when_due(collection, SILENT)
    with Collection.build(
        tmp_path / "c", concepts(5), encoder=encoder, overwrite=True
    ) as collection:
        refit_when_due(collection, SILENT)
    assert fits == [1, 2]


def test_other_rules_for_names_ask_for_a_fit(
    tmp_path: Path, fits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collection.build(tmp_path / "c", concepts(5), encoder=HashEncoder(8)) as collection:
        refit_when_due(collection, SILENT)
        monkeypatch.setattr(refitting, "NAME_KEY_VERSION", 999)
        refit_when_due(collection, SILENT)
        assert fits == [1, 1]
        monkeypatch.setattr(refitting, "VERSION", 999)
        refit_when_due(collection, SILENT)
        refit_when_due(collection, SILENT)
    assert fits == [1, 1, 1]


def test_what_names_no_concepts_is_never_fitted(tmp_path: Path, fits: list[int]) -> None:
    items = [Record(id="a", text="a text")]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder(8)) as collection:
        refit_when_due(collection, SILENT)
        collection.add(concepts(1))
        refit_when_due(collection, SILENT)
    assert fits == [2]
