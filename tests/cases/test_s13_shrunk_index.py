"""S13: what a compact leaves is too little for the index: it is searched, changed, grows again."""

from pathlib import Path

import pytest

from mirror_index.collection import Collection
from mirror_index.config import IndexSpec
from mirror_index.errors import UsageError
from mirror_index.progress import SilentReporter
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder


class Noting(SilentReporter):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.mark.parametrize("kind", ["IVF4,Flat", "IVF2,PQ4x4fs", "HNSW8"])
@pytest.mark.parametrize("left", [0, 1, 3])
def test_s13_few_rows_after_a_compact(
    tmp_path: Path, kind: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.index.calibration.QUERIES", 4)
    encoder, reporter = HashEncoder(16), Noting()
    oracle = Oracle(encoder)
    oracle.put(names(left))
    spec = IndexSpec(kind=kind, recall=0.5)
    with Collection.build(tmp_path / "c", names(40), encoder=encoder, spec=spec) as collection:
        collection.sync(names(left), allow_empty=True)
        collection.compact(reporter)
        trained = kind.startswith("IVF")
        assert bool(reporter.notes) == trained
        assert collection.info()["index"]["kind"] == ("exact" if trained else kind)
        oracle.check_content(collection)
        collection.add(names(2, start=100), reporter=reporter)
        oracle.put(names(2, start=100))
        oracle.check(collection, ["renal failure type 1"])
        assert collection.verify(encoder=encoder).ok
        collection.add(names(60, start=200), reporter=reporter)
        oracle.put(names(60, start=200))
        oracle.check_content(collection)
        assert collection.info()["index"]["kind"] == kind
        assert collection.verify(encoder=encoder).ok


@pytest.mark.parametrize("overwrite", [False, True])
def test_s13_a_build_that_asks_for_too_much_is_refused(tmp_path: Path, overwrite: bool) -> None:
    encoder = HashEncoder(16)
    if overwrite:
        Collection.build(tmp_path / "c", names(3), encoder=encoder).close()
    with pytest.raises(UsageError, match="3 distinct texts"):
        Collection.build(
            tmp_path / "c",
            names(3),
            encoder=encoder,
            spec=IndexSpec(kind="IVF4,Flat"),
            overwrite=overwrite,
        )
