"""S17: given vectors, of records and of queries, with flaws, other types, orders, dimensions."""

from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.errors import MirrorIndexError
from tests.cli.conftest import Run
from tests.collection.oracle import names
from tests.fakes import HashEncoder


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return Collection.build(tmp_path / "c", names(40), encoder=HashEncoder(32))


def test_s17_bad_rows_are_named(collection: Collection) -> None:
    rows = np.ones((5, 32))
    rows[1, 3], rows[2, 0], rows[4] = np.nan, np.inf, 0.0
    with pytest.raises(MirrorIndexError, match=r"3 rows .* rows 1, 2, 4"):
        collection.search_vectors(rows)


def test_s17_a_wrong_dimension(collection: Collection) -> None:
    with pytest.raises(MirrorIndexError, match="31 columns, expected 32"):
        collection.search_vectors(np.ones((1, 31)))


@pytest.mark.parametrize("kind", ["float16", "float64", "int32"])
def test_s17_other_types_are_converted(collection: Collection, kind: str) -> None:
    rows = np.asfortranarray(np.arange(64).reshape(2, 32) % 7 - 3).astype(kind)
    plain = np.ascontiguousarray(rows, dtype=np.float32)
    assert collection.search_vectors(rows) == collection.search_vectors(plain)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "s.csv"
    path.write_text("id,text\na,red\nb,green\nc,blue\nd,grey\n")
    return path


def test_s17_bad_rows_of_a_build_are_quarantined(run: Run, source: Path, tmp_path: Path) -> None:
    rows = np.eye(4)
    rows[0, 3], rows[1, 0], rows[3] = np.nan, -np.inf, 0.0
    np.save(tmp_path / "v.npy", rows)
    made = ("build", source, "-o", tmp_path / "c", "--vectors", tmp_path / "v.npy")
    built = run(*made)
    assert built.status == 3
    assert "3 rows were quarantined" in built.err
    listed = run("quarantine", tmp_path / "c", "--json").json
    assert [(row["line"], row["reason"]) for row in listed] == [
        (2, "vector row 0 holds NaN"),
        (3, "vector row 1 holds Inf"),
        (5, "vector row 3 holds only zeros"),
    ]
    assert run("info", tmp_path / "c", "--json").json[0]["records"] == 1
    assert run(*made, "--overwrite", "--allow-quarantine").status == 0
    assert run("verify", tmp_path / "c").status == 0


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f4", "i2"])
def test_s17_a_build_converts_types(run: Run, source: Path, tmp_path: Path, kind: str) -> None:
    rows = np.arange(1, 13).reshape(4, 3)
    np.save(tmp_path / "v.npy", np.asfortranarray(rows.astype(kind)))
    made = ("build", source, "-o", tmp_path / "c", "--vectors", tmp_path / "v.npy")
    assert run(*made).status == 0
    np.save(tmp_path / "q.npy", np.asfortranarray(rows[[2, 0]].astype(kind)))
    asked = ("search", tmp_path / "c", "--vector-file", tmp_path / "q.npy", "-k", 1, "--json")
    found = run(*asked)
    assert [(hit["query"], hit["id"], hit["score"]) for hit in found.json] == [
        ("row 0", "c", 1.0),
        ("row 1", "a", 1.0),
    ]
    labelled = run(*asked, "third", "first", "--hybrid").json
    assert [hit["query"] for hit in labelled] == ["third", "first"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.eye(3), "the source has 4 records, the file of vectors has 3 rows"),
        (np.ones(4), "two-dimensional"),
        (np.array([["x"]] * 4), "two-dimensional"),
    ],
)
def test_s17_a_file_that_does_not_fit(
    run: Run, source: Path, tmp_path: Path, rows: np.ndarray, message: str
) -> None:
    np.save(tmp_path / "v.npy", rows)
    built = run("build", source, "-o", tmp_path / "c", "--vectors", tmp_path / "v.npy")
    assert (built.status, message in built.err) == (1, True)
    assert not (tmp_path / "c").exists()


def test_s17_text_queries_without_an_encoder(run: Run, source: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(4))
    run("build", source, "-o", tmp_path / "c", "--vectors", tmp_path / "v.npy")
    for arguments in (("x",), ("green",), ("green", "--hybrid")):
        asked = run("search", tmp_path / "c", *arguments)
        assert (asked.status, "--vector-file" in asked.err) == (1, True)
    np.save(tmp_path / "q.npy", np.array([[1.0, 0, 0, 0], [0, np.nan, 0, 0]]))
    asked = run("search", tmp_path / "c", "--vector-file", tmp_path / "q.npy")
    assert (asked.status, "rows 1" in asked.err) == (1, True)
    np.save(tmp_path / "q.npy", np.eye(4)[:2])
    hybrid = ("search", tmp_path / "c", "--vector-file", tmp_path / "q.npy", "--hybrid")
    assert run(*hybrid).status == 2
    assert run(*hybrid, "only one").status == 2
    np.save(tmp_path / "q.npy", np.eye(3))
    asked = run("search", tmp_path / "c", "--vector-file", tmp_path / "q.npy")
    assert (asked.status, "3 columns, expected 4" in asked.err) == (1, True)


def test_s17_more_vectors_are_added_and_replaced(run: Run, source: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(6)[:4])
    run("build", source, "-o", tmp_path / "c", "--vectors", tmp_path / "v.npy")
    more = tmp_path / "m.csv"
    more.write_text("id,text\ne,pink\n")
    np.save(tmp_path / "m.npy", np.eye(6)[4:5])
    assert run("add", tmp_path / "c", more).status == 1
    added = run("add", tmp_path / "c", more, "--vectors", tmp_path / "m.npy", "--json")
    assert (added.status, added.json[0]["added"]) == (0, 1)
    more.write_text("id,text\ne,teal\n")
    np.save(tmp_path / "m.npy", np.eye(6)[5:])
    changed = run("update", tmp_path / "c", more, "--vectors", tmp_path / "m.npy", "--json")
    assert (changed.status, changed.json[0]["updated"]) == (0, 1)
    asked = run("search", tmp_path / "c", "--vector-file", tmp_path / "m.npy", "-k", 1, "--json")
    assert [(hit["text"], hit["score"]) for hit in asked.json] == [("teal", 1.0)]
    assert run("verify", tmp_path / "c").status == 0
