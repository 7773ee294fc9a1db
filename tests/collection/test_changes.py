"""Building, adding, updating, deleting, compacting: reports, reuse, resuming, concurrency."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.collection.starting import require_generation, writing
from mirror_index.config import IndexSpec, OnDuplicate, SearchOptions
from mirror_index.errors import (
    CollectionCorruptError,
    CollectionError,
    EncoderError,
    EncoderMismatchError,
    SourceError,
    UsageError,
)
from mirror_index.records import Concept, Record, Rejected, SourceItem
from mirror_index.vectors import Encoded
from tests.collection.oracle import Oracle, names
from tests.fakes import HashEncoder


class Notes:
    """A reporter that writes down what it is told."""

    def __init__(self) -> None:
        self.stages: dict[str, int] = {}
        self.notes: list[str] = []

    def stage(self, name: str, total: int | None = None, unit: str = "texts"):  # noqa: ANN201
        from contextlib import contextmanager

        @contextmanager
        def enter() -> Iterator[object]:
            self.stages[name] = 0

            def advance(count: int) -> None:
                self.stages[name] += count

            yield advance

        return enter()

    def note(self, message: str) -> None:
        self.notes.append(message)


def test_the_report_of_a_build(tmp_path: Path) -> None:
    items: list[SourceItem] = [
        *names(5),
        Record(id="again", text=names(1)[0].text),
        Record(id="empty", text="  ", line=7),
        Record(id="bad", text="x\0", line=8),
        Rejected(line=9, reason="ragged", content="a,b"),
        Rejected(line=10, reason="no name", skipped=True),
    ]
    notes = Notes()
    with Collection.build(
        tmp_path / "c", items, encoder=HashEncoder(), source="five.csv", reporter=notes
    ) as collection:
        report = collection.last_change
        assert report is not None
        counts = report.to_json()
        assert counts.pop("seconds") > 0
        assert counts == {
            "verb": "build",
            "generation": 1,
            "added": 6,
            "updated": 0,
            "deleted": 0,
            "unchanged": 0,
            "duplicates": 0,
            "skipped": 2,
            "quarantined": 2,
            "texts_encoded": 5,
            "texts_reused": 0,
            "truncated": 0,
            "unknown": 0,
            "collisions": 0,
            "records": 6,
        }
        assert notes.stages == {"encode": 5}
        rejected = collection.quarantine()
        assert [(one.line, one.skipped) for one in rejected] == [
            (7, True),
            (8, False),
            (9, False),
            (10, True),
        ]
        assert {one.source for one in rejected} == {"five.csv"}
        collection.add([Rejected(line=9, reason="ragged")], source="six.csv")
        collection.add([Rejected(line=9, reason="ragged")])
        assert [one.source for one in collection.quarantine()[-3:]] == ["five.csv", "six.csv", None]
        assert len(collection.quarantine(limit=2)) == 2
        info = collection.info()
        assert (info["quarantined"], info["skipped"]) == (4, 2)
        assert info["sources"] == ["five.csv", "six.csv"]
        assert info["records"] == 6
        assert info["texts"] == 5
        assert info["bytes"]["total"] > 0
        assert json.dumps(info)


def test_a_folder_that_is_not_free(tmp_path: Path) -> None:
    encoder = HashEncoder()
    (tmp_path / "file").write_text("x")
    with pytest.raises(CollectionError, match="is a file"):
        Collection.build(tmp_path / "file", [], encoder=encoder)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.doc").write_text("x")
    with pytest.raises(CollectionError, match=r"other things.*thesis\.doc"):
        Collection.build(tmp_path / "full", [], encoder=encoder, overwrite=True)
    assert (tmp_path / "full" / "thesis.doc").exists()
    (tmp_path / "models" / "encoder").mkdir(parents=True)
    with pytest.raises(CollectionError, match=r"other things.*encoder"):
        Collection.build(tmp_path / "models", names(3), encoder=encoder)
    assert (tmp_path / "models" / "encoder").exists()
    Collection.build(tmp_path / "c", names(3), encoder=encoder).close()
    with pytest.raises(CollectionError, match="a collection here already"):
        Collection.build(tmp_path / "c", names(3), encoder=encoder)


@pytest.mark.parametrize("salt", ["", "other"])
def test_overwriting_keeps_readers_on_the_old_state(tmp_path: Path, salt: str) -> None:
    old, new = Oracle(HashEncoder()), Oracle(HashEncoder(salt=salt))
    old.put(names(30))
    new.put(names(30, start=20))
    folder = tmp_path / "c"
    seen: list[str] = []

    with Collection.build(folder, names(30), encoder=old.encoder) as reader:

        def items() -> Iterator[SourceItem]:
            yield from names(15, start=20)
            old.check(reader, ["renal failure type 3"])
            seen.append("while building")
            yield from names(15, start=35)

        with Collection.build(folder, items(), encoder=new.encoder, overwrite=True) as built:
            report = built.last_change
            assert report is not None
            assert report.generation == 2
            assert report.texts_encoded == (30 if salt else 20)
            new.check(built, ["renal failure type 3"])
            assert built.info()["dead_texts"] == (0 if salt else 20)
            assert built.verify(encoder=new.encoder).ok
        assert seen == ["while building"]
        if salt:
            with pytest.raises(EncoderMismatchError, match="was built with encoder"):
                reader.search(["renal failure"])
        else:
            new.check(reader, ["renal failure type 3"])


def test_an_interrupted_build_encodes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.changing.ENCODE_CHUNK", 5)
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 10)
    encoder = HashEncoder()

    def broken() -> Iterator[SourceItem]:
        yield from names(25)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        Collection.build(tmp_path / "c", broken(), encoder=encoder)
    with pytest.raises(CollectionError, match="never finished"):
        Collection.open(tmp_path / "c", encoder=encoder)
    with Collection.build(tmp_path / "c", names(40)[5:], encoder=encoder) as collection:
        report = collection.last_change
        assert report is not None
        assert (report.texts_reused, report.texts_encoded) == (15, 20)
        assert collection.info()["dead_texts"] == 5
        oracle = Oracle(encoder)
        oracle.put(names(40)[5:])
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok


def test_a_source_that_cannot_be_read_at_all_leaves_no_folder(tmp_path: Path) -> None:
    def unreadable() -> Iterator[SourceItem]:
        raise SourceError("the source is empty")
        yield from ()

    with pytest.raises(SourceError, match="the source is empty"):
        Collection.build(tmp_path / "c", unreadable(), encoder=HashEncoder())
    assert not (tmp_path / "c").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(SourceError, match="the source is empty"):
        Collection.build(tmp_path / "there", unreadable(), encoder=HashEncoder())
    with Collection.build(tmp_path / "there", names(3), encoder=HashEncoder()) as collection:
        assert collection.info()["records"] == 3


def test_progress_of_another_encoder_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 10)

    def broken() -> Iterator[SourceItem]:
        yield from names(25)
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        Collection.build(tmp_path / "c", broken(), encoder=HashEncoder())
    other = HashEncoder(salt="other")
    with Collection.build(tmp_path / "c", names(25), encoder=other) as collection:
        assert collection.last_change is not None
        assert collection.last_change.texts_encoded == 25
        oracle = Oracle(other)
        oracle.put(names(25))
        oracle.check(collection, ["renal failure type 3"])


def test_damaged_progress_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 10)
    encoder = HashEncoder()

    def broken() -> Iterator[SourceItem]:
        yield from names(25)
        raise RuntimeError("the source broke")

    with Collection.build(tmp_path / "c", names(3, start=90), encoder=encoder) as collection:
        with pytest.raises(RuntimeError):
            collection.add(broken())
        path = tmp_path / "c" / "vectors" / "000001.f32"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(bytes(data))
        report = collection.add(names(25))
        assert (report.texts_reused, report.texts_encoded) == (10, 15)
        assert collection.verify(encoder=encoder).ok


def test_delete_needs_something_to_go_by(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", names(10), encoder=encoder) as collection:
        with pytest.raises(UsageError, match="what to delete"):
            collection.delete()
        report = collection.delete(["r00001", "nobody", "r00001"])
        assert (report.deleted, report.skipped, report.records) == (1, 1, 9)
        both = collection.delete(["r00002", "r00003"], where="kind = 'tumour'")
        assert both.deleted == 1
        assert {hit.id for hit in collection.search(["x"], SearchOptions(k=99))[0]} == {
            f"r{number:05d}" for number in (0, 3, 4, 5, 6, 7, 8, 9)
        }
        assert collection.verify(encoder=encoder).ok


def test_compacting_shrinks_the_files(tmp_path: Path) -> None:
    encoder = HashEncoder()
    folder = tmp_path / "c"
    spec = IndexSpec(kind="HNSW8")
    oracle = Oracle(encoder)
    oracle.put(names(400)[350:])
    with Collection.build(folder, names(400), encoder=encoder, spec=spec) as collection:
        before = collection.info()["bytes"]
        collection.delete([one.id for one in names(350)])
        oracle.check(collection, ["renal failure type 3"])
        notes = Notes()
        report = collection.compact(notes)
        assert (report.verb, report.records) == ("compact", 50)
        after = collection.info()
        assert after["dead_texts"] == 0
        assert after["index"]["rows"] == 50
        for part in ("database", "vectors", "index"):
            assert after["bytes"][part] < before[part], part
        assert notes.stages["compact"] == 50
        oracle.check(collection, ["renal failure type 3"])
        assert collection.verify(encoder=encoder).ok
        assert [path.name for path in (folder / "vectors").iterdir()] == ["000002.f32"]


def test_names_keyed_by_older_rules_ask_for_a_compact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = HashEncoder()
    item = Record(id="a", text="Aspirin", concept_id="C")
    with Collection.build(tmp_path / "c", [item], encoder=encoder) as collection:
        for module in ("collection.reader", "collection.shrinking", "store.checks"):
            monkeypatch.setattr(f"mirror_index.{module}.NAME_KEY_VERSION", 99)
        monkeypatch.setattr("mirror_index.store.compacting.name_key", lambda text: f"new {text}")
        with pytest.raises(CollectionError, match=r"version \d+ of the rules.*repair"):
            collection.names_by_key(["aspirin"])
        collection.compact()
        assert list(collection.names_by_key(["new Aspirin"])) == ["new Aspirin"]


def test_the_index_follows_when_the_tail_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirror_index.collection.approximation.TAIL_ROWS", 20)
    encoder = HashEncoder()
    choosing = "mirror_index.index.choosing"
    monkeypatch.setattr(f"{choosing}.EXACT_VALUES", 50 * encoder.dim)
    monkeypatch.setattr(f"{choosing}._LEAST_LISTS", 1)
    monkeypatch.setattr(f"{choosing}._ladder", lambda rows, dim: ["HNSW32"])
    oracle = Oracle(encoder)
    with Collection.build(tmp_path / "c", names(40), encoder=encoder) as collection:
        oracle.put(names(40))
        assert collection.info()["index"]["kind"] == "exact"
        expected = [(20, 60, 0), (15, 60, 15), (15, 90, 0)]
        for count, rows, tail in expected:
            more = names(count, start=len(oracle.records))
            collection.add(more)
            oracle.put(more)
            index = collection.info()["index"]
            assert (index["kind"], index["rows"], index["tail_rows"]) == ("HNSW32", rows, tail)
            oracle.check(collection, [one.text for one in more[:2]])
            assert collection.verify(encoder=encoder).ok
    assert len(list((tmp_path / "c" / "ann").iterdir())) == 1


def test_a_recall_out_of_reach_is_said(tmp_path: Path) -> None:
    notes = Notes()
    spec = IndexSpec(kind="PCA2,Flat", recall=1.0)
    items = [Record(id=str(n), text=f"thing {n * 7919 % 100_003}") for n in range(3000)]
    Collection.build(
        tmp_path / "c", items, encoder=HashEncoder(), spec=spec, reporter=notes
    ).close()
    assert len(notes.notes) == 1
    assert "PCA2,Flat: recall@10 is" in notes.notes[0]


def test_a_bad_index_kind_costs_no_encoding(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with pytest.raises(UsageError, match="nonsense"):
        Collection.build(tmp_path / "c", names(5), encoder=encoder, spec=IndexSpec(kind="nonsense"))
    assert encoder.encoded == 0
    assert not (tmp_path / "c").exists()


def test_state_is_kept_across_changes(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", names(5), encoder=encoder) as collection:
        assert collection.load_state("x") is None
        collection.save_state("x", {"a": [1, None, "é"]})
        collection.delete(["r00001"])
        collection.compact()
    with Collection.open(tmp_path / "c", encoder=encoder) as collection:
        assert collection.load_state("x") == {"a": [1, None, "é"]}


def test_a_duplicate_across_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mirror_index.collection.intake.WINDOW_TEXTS", 2)
    items = [*names(5), Record(id="r00001", text="later"), Record(id="r00001", text="latest")]
    for policy, text in ((OnDuplicate.FIRST, names(2)[1].text), (OnDuplicate.LAST, "latest")):
        encoder = HashEncoder()
        with Collection.build(
            tmp_path / policy.value, items, encoder=encoder, on_duplicate=policy
        ) as collection:
            assert collection.last_change is not None
            assert collection.last_change.duplicates == 2
            (hits,) = collection.search(["x"], SearchOptions(where="id = 'r00001'"))
            assert [hit.text for hit in hits] == [text]
            assert collection.verify(encoder=encoder).ok


def test_many_threads_may_read_while_one_writes(tmp_path: Path) -> None:
    encoder = HashEncoder()
    folder = tmp_path / "c"
    errors: list[BaseException] = []
    done = threading.Event()
    with (
        Collection.build(folder, names(20), encoder=encoder) as collection,
        Collection.open(folder, encoder=encoder) as reader,
    ):

        def read() -> None:
            try:
                while not done.is_set():
                    (hits,) = reader.search(["renal"], SearchOptions(k=1000))
                    assert len(hits) % 20 == 0, len(hits)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for start in range(20, 100, 20):
            collection.add(names(20, start=start))
        collection.delete([one.id for one in names(40)])
        collection.compact()
        collection.update(names(20))
        done.set()
        for thread in threads:
            thread.join()
        assert not errors
        assert reader.info()["records"] == 80


def test_a_vector_file_that_is_gone(tmp_path: Path) -> None:
    encoder = HashEncoder()
    Collection.build(tmp_path / "c", names(5), encoder=encoder).close()
    path = tmp_path / "c" / "vectors" / "000001.f32"
    data = path.read_bytes()
    path.write_bytes(data[:-4])
    with pytest.raises(CollectionCorruptError, match="shorter"):
        Collection.open(tmp_path / "c", encoder=encoder)
    path.unlink()
    with pytest.raises(CollectionCorruptError, match="missing"):
        Collection.open(tmp_path / "c", encoder=encoder)


LIGHT = """
import sys
from pathlib import Path
import numpy as np
from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
with Collection.open(Path(sys.argv[1])) as collection:
    hits = collection.search_vectors(np.ones((1, 64)), SearchOptions(k=3))
    hybrid = SearchOptions(k=3, hybrid=True)
    hits += collection.search_vectors(np.ones((1, 64)), hybrid, queries=["renal"])
    assert [len(one) for one in hits] == [3, 3]
    collection.names_by_key(["x"])
    collection.info()
heavy = {"faiss", "sqlite_utils", "torch", "transformers", "sqlglot", "filelock", "onnxruntime"}
print(sorted(heavy & set(sys.modules)))
"""


def test_exact_search_loads_nothing_heavy(tmp_path: Path) -> None:
    Collection.build(tmp_path / "c", names(5), encoder=HashEncoder(64)).close()
    result = subprocess.run(
        [sys.executable, "-c", LIGHT, str(tmp_path / "c")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "[]\n"


def test_small_print(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", names(5), encoder=encoder) as collection:
        assert collection.encode([]).shape == (0, 64)
        assert np.array_equal(collection.encode(["  a  b "]), encoder.encode(["a b"]))
        rows = collection.vectors_of([4, 0])
        assert rows.shape == (2, 64)
        rows[0] = 0
        with pytest.raises(UsageError, match="no such vector row"):
            collection.vectors_of([5])
        with pytest.raises(UsageError, match="needs the query texts"):
            collection.search_vectors(rows[1:], SearchOptions(hybrid=True))
        with pytest.raises(UsageError, match="2 query texts for 1 vectors"):
            collection.search_vectors(rows[1:], queries=["a", "b"])
        encoder.encoded = 0
        answers = collection.search(["renal x", " renal  x ", "", "\n", "renal x"])
        assert encoder.encoded == 1
        assert [len(hits) for hits in answers] == [5, 5, 0, 0, 5]
        assert [hits[0].query for hits in answers if hits] == ["renal x", " renal  x ", "renal x"]
        assert collection.search([]) == []


class BrokenEncoder(HashEncoder):
    def encode_audited(self, texts: Sequence[str]) -> Encoded:
        encoded = super().encode_audited(texts)
        if "renal failure type 0" in texts:
            encoded.vectors[texts.index("renal failure type 0")] = np.nan
        return encoded


def test_an_encoder_that_gives_no_unit_vectors(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"not of length 1: 'renal failure type 0'"):
        Collection.build(tmp_path / "c", names(5), encoder=BrokenEncoder())


def test_hybrid_search_with_a_filter(tmp_path: Path) -> None:
    encoder = HashEncoder()
    with Collection.build(tmp_path / "c", names(35), encoder=encoder) as collection:
        collection.delete(["r00000"])
        options = SearchOptions(k=50, hybrid=True, where="kind = 'failure'")
        (hits,) = collection.search(["renal failure"], options)
        assert {hit.id for hit in hits} == {f"r{number:05d}" for number in range(5, 35, 5)}
        assert all(hit.legs and set(hit.legs) == {"dense", "words"} for hit in hits)
        (ten,) = collection.search(["renal failure"], SearchOptions(k=10, hybrid=True))
        (fifty,) = collection.search(["renal failure"], SearchOptions(k=30, hybrid=True))
        assert fifty[:10] == ten
        assert len(fifty) == 30


def test_concepts_that_cannot_be_taken_are_quarantined(tmp_path: Path) -> None:
    bad = Concept(id="X:1", label="a\0b", line=3)
    with Collection.build(tmp_path / "c", [bad], encoder=HashEncoder()) as collection:
        (row,) = collection.quarantine()
        assert (row.line, row.skipped) == (3, False)


def test_changing_what_was_never_finished(tmp_path: Path) -> None:
    with writing(tmp_path) as store, pytest.raises(CollectionError, match="never finished"):
        require_generation(store, tmp_path)


def test_equal_scores_are_ordered_by_record_id(tmp_path: Path) -> None:
    items = [
        Record(id="d", text="aspirin"),
        Record(id="b", text="Aspirin"),
        Record(id="c", text="aspirin"),
        Record(id="a", text="ASPIRIN"),
        Record(id="z", text="other"),
    ]
    with Collection.build(tmp_path / "c", items, encoder=HashEncoder()) as collection:
        assert collection.last_change is not None
        assert collection.last_change.collisions == 2
        for k in range(1, 6):
            (hits,) = collection.search(["aspirin"], SearchOptions(k=k))
            assert [hit.id for hit in hits] == ["a", "b", "c", "d", "z"][:k]
            assert [hit.rank for hit in hits] == list(range(1, k + 1))
