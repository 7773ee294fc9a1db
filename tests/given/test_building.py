"""Collections of given vectors: pairing, flaws, one text with two vectors, adding, searching."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirror_index import pipeline
from mirror_index.collection import Collection
from mirror_index.config import (
    EncoderConfig,
    IndexSpec,
    MirrorConfig,
    ReadOptions,
    SearchOptions,
)
from mirror_index.errors import (
    CollectionError,
    EncoderError,
    EncoderMismatchError,
    MirrorIndexError,
    SourceError,
    UsageError,
)
from mirror_index.given import building, pairing
from mirror_index.given import vectors as vectors_given
from mirror_index.pipeline import add_to_collection, build_collection
from tests.collection.oracle import names
from tests.fakes import HashEncoder
from tests.tiny import write_tiny_encoder

RNG = np.random.default_rng(5)


def source(folder: Path, texts: Sequence[str], name: str = "s.csv", start: int = 0) -> Path:
    path = folder / name
    lines = [f'r{number},"{text}"' for number, text in enumerate(texts, start)]
    path.write_text("\n".join(["id,text", *lines]) + "\n")
    return path


def saved(folder: Path, rows: Any, name: str = "v.npy") -> Path:
    np.save(folder / name, rows)
    return folder / name


def ids(hits: Sequence[Any]) -> list[str]:
    return [hit.id for hit in hits]


def test_the_vectors_are_those_of_the_file(tmp_path: Path) -> None:
    rows = RNG.standard_normal((7, 6)) * 40
    texts = [f"text {number}" for number in range(7)]
    with build_collection(
        source(tmp_path, texts), tmp_path / "c", vectors=saved(tmp_path, rows)
    ) as collection:
        (hits,) = collection.search_vectors(rows[3:4], SearchOptions(k=7))
        expected = rows @ rows[3] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[3])
        assert ids(hits) == [f"r{row}" for row in np.argsort(-expected)]
        assert [hit.score for hit in hits] == pytest.approx(
            sorted(expected, reverse=True), abs=2e-6
        )
        info = collection.info()
        assert info["dim"] == 6
        assert info["encoder_fingerprint"].startswith("given vectors, 6 dimensions")
    with Collection.open(tmp_path / "c") as collection:
        assert collection.verify().ok
        for text in ("text 1", "x", "acute kidney failure", "no encoder\x1f"):
            with pytest.raises(EncoderError, match=r"given vectors.*--vector-file"):
                collection.search([text])
        both = SearchOptions(k=2, hybrid=True)
        (hits,) = collection.search_vectors(rows[:1], both, queries=["text 5"])
        assert {"r0", "r5"} == set(ids(hits))


def test_flawed_rows_are_quarantined_by_row_and_line(tmp_path: Path) -> None:
    rows = RNG.standard_normal((5, 4)).astype(np.float16)
    rows[1, 0], rows[2], rows[4, 3] = np.nan, 0, -np.inf
    texts = ["a", "b", "c", "d", "a"]
    with build_collection(
        source(tmp_path, texts), tmp_path / "c", vectors=saved(tmp_path, rows)
    ) as collection:
        found = [(row.line, row.reason) for row in collection.quarantine()]
        assert found == [
            (3, "vector row 1 holds NaN"),
            (4, "vector row 2 holds only zeros"),
            (6, "vector row 4 holds Inf"),
        ]
        assert collection.last_change is not None
        assert (collection.last_change.quarantined, collection.info()["records"]) == (3, 2)


def test_rows_per_record_or_per_row_of_the_source(tmp_path: Path) -> None:
    path = source(tmp_path, ["a", "", "c"])
    rows = np.eye(3)
    for chosen, wanted in (([0, 1, 2], 2), ([0, 2], 2)):
        folder = tmp_path / f"c{len(chosen)}"
        with build_collection(path, folder, vectors=saved(tmp_path, rows[chosen])) as collection:
            (hits,) = collection.search_vectors(rows[wanted : wanted + 1], SearchOptions(k=1))
            assert (hits[0].text, hits[0].score) == ("c", 1.0)
    for count in (0, 1, 4):
        with pytest.raises(SourceError, match=rf"2 records and 1 rows .* has {count} rows"):
            build_collection(path, tmp_path / "d", vectors=saved(tmp_path, np.ones((count, 3))))
    assert not (tmp_path / "d").exists()


def test_one_text_with_two_vectors(tmp_path: Path) -> None:
    path = source(tmp_path, ["b", "a  b", "a b", "c"])
    rows = np.array([[0, 1, 0], [1, 0, 0], [1, 0.001, 0], [0, 0, 1]])
    with build_collection(path, tmp_path / "c", vectors=saved(tmp_path, rows)) as collection:
        (hits,) = collection.search_vectors(rows[1:2], SearchOptions(k=2))
        assert [(hit.id, hit.score) for hit in hits] == [("r1", 1.0), ("r2", 1.0)]
    rows[2, 1] = 0.1
    with pytest.raises(CollectionError, match=r"cosine 0.9950.*rows 1 and 2 of lines 3 and 4"):
        build_collection(path, tmp_path / "d", vectors=saved(tmp_path, rows))
    rows[1] = np.nan  # the first of the two does not count
    build_collection(path, tmp_path / "e", vectors=saved(tmp_path, rows)).close()


def test_adding_more(tmp_path: Path) -> None:
    rows = RNG.standard_normal((4, 5))
    folder = tmp_path / "c"
    build_collection(
        source(tmp_path, ["a", "b"]), folder, vectors=saved(tmp_path, rows[:2])
    ).close()
    more = source(tmp_path, ["c", "a"], "m.csv", start=2)
    with pytest.raises(EncoderError, match="add with --vectors"):
        add_to_collection(more, folder)
    with pytest.raises(CollectionError, match=r"another vector .* 'a' .*row 1 of line 3"):
        add_to_collection(more, folder, vectors=saved(tmp_path, rows[2:]))
    with pytest.raises(SourceError, match="4 dimensions, the collection's have 5"):
        add_to_collection(more, folder, vectors=saved(tmp_path, rows[2:, :4]))
    with add_to_collection(
        more, folder, vectors=saved(tmp_path, np.stack([rows[2], rows[0] / 3]))
    ) as collection:
        assert collection.last_change is not None
        assert (collection.last_change.added, collection.last_change.texts_encoded) == (2, 1)
    with Collection.open(folder) as collection:
        assert ids(collection.search_vectors(rows[2:3], SearchOptions(k=1))[0]) == ["r2"]
        collection.delete(["r0"])
        collection.compact()
        assert collection.verify().ok
    changed = source(tmp_path, ["d"], "u.csv", start=2)
    with add_to_collection(
        changed, folder, update=True, vectors=saved(tmp_path, rows[3:])
    ) as collection:
        assert ids(collection.search_vectors(rows[3:], SearchOptions(k=1))[0]) == ["r2"]


def test_another_file_replaces_what_an_interrupted_run_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror_index.collection import changing

    folder, path = tmp_path / "c", source(tmp_path, ["a", "b", "c"])
    rows = RNG.standard_normal((3, 4))
    for start in (0, 1):  # a build, then an add
        if start:
            path = source(tmp_path, ["d", "e", "f"], "m.csv", start=3)
        run = add_to_collection if start else build_collection
        with monkeypatch.context() as patched:
            patched.setattr(changing.Change, "_commit", _stop)
            with pytest.raises(KeyboardInterrupt):
                run(path, folder, vectors=saved(tmp_path, rows[::-1]))
        run(path, folder, vectors=saved(tmp_path, rows + start)).close()
        with Collection.open(folder) as collection:
            (hits,) = collection.search_vectors(rows[:1] + start, SearchOptions(k=1))
            assert (hits[0].id, hits[0].score) == (f"r{3 * start}", 1.0)
            assert collection.verify().ok
    with build_collection(
        path, folder, vectors=saved(tmp_path, rows[::-1]), overwrite=True
    ) as collection:
        assert ids(collection.search_vectors(rows[2:], SearchOptions(k=1))[0]) == ["r3"]


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("given") / "encoder")


def test_bound_to_the_encoder_that_made_them(tmp_path: Path, tiny: Path) -> None:
    texts = ["heart attack", "rye bread", "[]"]
    path, vectors = source(tmp_path, texts), tmp_path / "v.npy"
    pipeline.encode_source(path, vectors, encoder=tiny)
    with build_collection(path, tmp_path / "c", encoder=tiny, vectors=vectors) as collection:
        assert ids(collection.search(["rye bread"], SearchOptions(k=1))[0]) == ["r1"]
        assert [row.record_id for row in collection.audit() if row.unknown] == ["r2"]
        assert collection.verify().ok
    more = source(tmp_path, ["fig tart", "rye bread"], "m.csv", start=3)
    (tmp_path / "m.npy").unlink(missing_ok=True)
    pipeline.encode_source(more, tmp_path / "m.npy", encoder=tiny)
    with add_to_collection(more, tmp_path / "c", vectors=tmp_path / "m.npy") as collection:
        assert ids(collection.search(["fig tart"], SearchOptions(k=1))[0]) == ["r3"]
    mixed = saved(tmp_path, np.load(vectors)[::-1], "mixed.npy")
    with pytest.raises(EncoderMismatchError, match=r"of 3 encoded .* \d have a cosine below 0.99"):
        build_collection(path, tmp_path / "d", encoder=tiny, vectors=mixed)
    assert not (tmp_path / "d").exists()


def test_what_cannot_go_together(tmp_path: Path) -> None:
    path, vectors = source(tmp_path, ["a"]), saved(tmp_path, np.ones((1, 3)))
    with pytest.raises(UsageError, match="standard input"):
        build_collection("-", tmp_path / "c", vectors=vectors)
    with pytest.raises(UsageError, match="tuned"):
        build_collection(path, tmp_path / "c", vectors=vectors, tuned=MirrorConfig())
    with pytest.raises(UsageError, match="max_length means nothing"):
        build_collection(
            path, tmp_path / "c", vectors=vectors, encoder_config=EncoderConfig(max_length=9)
        )


def test_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("concept_id\tname\tkind\nD1\tfever\tpreferred\nD1\tpyrexia\tsynonym\n")
    with build_collection(path, tmp_path / "c", vectors=saved(tmp_path, np.eye(2))) as collection:
        (hits,) = collection.search_vectors(np.eye(2)[1:], SearchOptions(k=1))
        assert (hits[0].text, hits[0].concept_id) == ("pyrexia", "D1")
    rows = np.eye(2)
    rows[1] = np.nan
    with build_collection(path, tmp_path / "e", vectors=saved(tmp_path, rows)) as collection:
        assert collection.info()["records"] == 1


def test_an_ontology_loses_a_concept_whole(tmp_path: Path) -> None:
    path = tmp_path / "o.obo"
    path.write_text(
        'format-version: 1.2\n\n[Term]\nid: T:1\nname: fever\nsynonym: "pyrexia" EXACT []\n\n'
        "[Term]\nid: T:2\nname: gout\n"
    )
    rows = np.eye(3)
    rows[1] = 0
    with build_collection(path, tmp_path / "c", vectors=saved(tmp_path, rows)) as collection:
        assert collection.info()["records"] == 1
        (row,) = collection.quarantine()
        assert (row.line, row.reason) == (3, "vector row 1 holds only zeros")


def test_many_windows_and_an_approximate_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mirror_index.collection import intake

    monkeypatch.setattr(intake, "WINDOW_TEXTS", 37)
    monkeypatch.setattr(vectors_given, "_BLOCK", 50)
    monkeypatch.setattr(pairing, "_BLOCK", 8)
    monkeypatch.setattr(pairing, "SAMPLE", 5)
    records = names(400) + names(60, start=0)
    encoder = HashEncoder(24)
    rows = encoder.encode([record.text for record in records])
    path = source(tmp_path, [record.text for record in records])
    with build_collection(
        path, tmp_path / "c", vectors=saved(tmp_path, rows * 3), spec=IndexSpec(kind="HNSW16")
    ) as collection:
        assert collection.info()["texts"] == 400
        for place in (0, 77, 399):
            (hits,) = collection.search_vectors(rows[place : place + 1], SearchOptions(k=2))
            expected = [f"r{place}", f"r{400 + place}"] if place < 60 else [f"r{place}"]
            assert sorted(ids(hits[: len(expected)])) == sorted(expected)


def test_a_source_that_changes_between_the_readings(tmp_path: Path) -> None:
    vectors = building.open_vectors(saved(tmp_path, np.eye(3)))
    found = pairing.survey(names(3), vectors)
    assert [text for _, text in found.sample] == [record.text for record in names(3)]
    for other in (names(2), names(4)):
        with pytest.raises(SourceError, match="changed while it was read"):
            list(vectors_given.matched(other, found, vectors, lambda texts: {}))
    handed = vectors_given.GivenVectors(vectors, found, HashEncoder(3))
    with pytest.raises(SourceError, match="changed while it was read"):
        handed.encode_audited(["another text"])
    np.testing.assert_array_equal(handed.encode_audited([names(3)[2].text]).vectors, np.eye(3)[2:])


def test_a_damaged_note(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    build_collection(source(tmp_path, ["a"]), folder, vectors=saved(tmp_path, np.eye(1))).close()
    (folder / "encoder" / "given-vectors.json").write_text("{}")
    with Collection.open(folder) as collection:
        assert [problem.kind for problem in collection.verify().problems] == ["encoder"] * 2
        with pytest.raises(MirrorIndexError, match="note about given vectors is damaged"):
            collection.search(["a"])


def test_a_table_with_its_own_vectors(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.array([[1.0, 0.0], [0.0, 2.0], None], pa.list_(pa.float32()))
    table = pa.table(
        {"id": ["a", "b", "c"], "text": ["x", "y", "z"], "year": [1, 2, 3], "v": lists}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    options = ReadOptions(text_column="text")
    with build_collection(
        tmp_path / "t.parquet",
        tmp_path / "c",
        vectors=f"{tmp_path / 't.parquet'}:v",
        read_options=options,
    ) as collection:
        (hits,) = collection.search_vectors(np.array([[0.0, 1.0]]), SearchOptions(k=3))
        assert [(hit.id, hit.metadata) for hit in hits] == [("b", {"year": 2}), ("a", {"year": 1})]
        (row,) = collection.quarantine()
        assert (row.line, row.reason) == (3, "vector row 2 has another length")
