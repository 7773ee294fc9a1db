"""Export: what `build` reads back, the vectors beside it, and what is refused."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from mirror_index.collection import Collection
from mirror_index.config import SearchOptions
from mirror_index.errors import CollectionError, UsageError
from mirror_index.export.records import export_collection
from mirror_index.npy import NpyWriter
from mirror_index.readers import read
from mirror_index.records import Concept, Name, Record, Scope
from tests.collection.oracle import names
from tests.fakes import HashEncoder

ODD = [
    Record(id="a,1", text='He said "no", twice', metadata={"year": 2001, "ok": True, "x": 1.5}),
    Record(id="b", text="  padded   text ", metadata={"year": None, "note": "NA"}),
    Record(
        id="c",
        text="Größe µ 心 🙂\u2028line",
        metadata={"text": "a clash", "id": 7, "metadata.id": 8},
    ),
    Record(id="d", text="=1+1", metadata={"concept_id": "X:1", "Scope": "wide", "note": ""}),
    Record(id="0012", text="NULL", metadata={"year": 2**53 + 1}),
    Record(id="f", text="padded text", metadata={"mixed": 1}),
    Record(id="g", text="'", metadata={"mixed": "one", "huge": 2**70}),
]
BREAKS = Record(id="h", text="two\r\nlines\tand\rmore\n", metadata={})


def built(folder: Path, items: list, encoder: HashEncoder) -> Path:
    Collection.build(folder, items, encoder=encoder).close()
    return folder


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv", "parquet"])
def test_building_the_export_gives_the_same_ids_and_texts(tmp_path: Path, ending: str) -> None:
    items = [*ODD, *([] if ending == "tsv" else [BREAKS])]
    encoder = HashEncoder(16)
    folder = built(tmp_path / "c", items, encoder)
    output = tmp_path / f"out.{ending}"
    report = export_collection(folder, output)
    assert report.records == len(items)
    assert report.renamed == {
        "text": "metadata.text",
        "id": "metadata.id_",
        "concept_id": "metadata.concept_id",
        "Scope": "metadata.Scope",
    }
    back = list(read(output))
    assert [(one.id, one.text) for one in back] == [(one.id, one.text) for one in items]
    again = built(tmp_path / "d", back, encoder)
    export_collection(again, tmp_path / f"again.{ending}")
    if ending == "jsonl":
        for one, other in zip(back, items, strict=True):
            wanted = {report.renamed.get(k, k): v for k, v in other.metadata.items()}
            assert one.metadata == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["c", "d", f"out.{ending}", f"again.{ending}"]
    )


def test_numbers_and_booleans_keep_their_type_in_parquet(tmp_path: Path) -> None:
    folder = built(tmp_path / "c", ODD, HashEncoder(16))
    export_collection(folder, tmp_path / "out.parquet")
    rows = {one.id: one.metadata for one in read(tmp_path / "out.parquet")}
    assert rows["a,1"]["year"] == 2001
    assert rows["a,1"]["ok"] is True
    assert rows["a,1"]["x"] == 1.5
    assert rows["0012"]["year"] == 2**53 + 1
    assert (rows["f"]["mixed"], rows["g"]["mixed"]) == ("1", "one")
    assert rows["b"]["year"] is None
    assert rows["g"]["huge"] == str(2**70)


def test_the_vectors_are_those_of_the_rows(tmp_path: Path) -> None:
    encoder = HashEncoder(16)
    with Collection.build(tmp_path / "c", names(20), encoder=encoder) as collection:
        collection.delete(["r00003"])
        collection.update([Record(id="r00005", text="renal failure type 0", metadata={})])
        export_collection(tmp_path / "c", tmp_path / "o.jsonl", vectors=tmp_path / "v.npy")
        vectors = np.load(tmp_path / "v.npy")
        rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, encoder.encode([row["text"] for row in rows]))
        assert (tmp_path / "v.npy.ids.txt").read_text().splitlines() == [row["id"] for row in rows]
        hits = collection.search_vectors(vectors[:1], SearchOptions(k=1))
        assert hits[0][0].id == rows[0]["id"]


CONCEPTS = [
    Concept(
        id="T:1",
        label="kidney stone",
        names=(Name(text="renal calculus", scope=Scope.EXACT, name_type="layperson"),),
    ),
    Concept(id="T:2", label="gout", names=(Name(text="podagra", scope=Scope.RELATED),)),
]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_dictionary_stays_one(tmp_path: Path, ending: str) -> None:
    folder = built(tmp_path / "c", CONCEPTS, HashEncoder(16))
    export_collection(folder, tmp_path / f"o.{ending}")
    back = list(read(tmp_path / f"o.{ending}"))
    assert [(r.id, r.text, r.concept_id, r.scope) for r in back] == [
        ("T:1", "kidney stone", "T:1", Scope.LABEL),
        ("T:1#renal calculus", "renal calculus", "T:1", Scope.EXACT),
        ("T:2", "gout", "T:2", Scope.LABEL),
        ("T:2#podagra", "podagra", "T:2", Scope.RELATED),
    ]
    assert back[1].metadata["concept_label"] == "kidney stone"
    assert back[1].metadata["name_type"] == "layperson"


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_records_beside_concepts_are_read_back_too(tmp_path: Path, ending: str) -> None:
    folder = built(tmp_path / "c", [Record(id="p", text="plain"), *CONCEPTS], HashEncoder(16))
    export_collection(folder, tmp_path / f"o.{ending}")
    back = list(read(tmp_path / f"o.{ending}"))
    assert [r.id for r in back] == ["p", "T:1", "T:1#renal calculus", "T:2", "T:2#podagra"]
    assert [r.metadata["concept"] or None for r in back] == [None, "T:1", "T:1", "T:2", "T:2"]


def test_what_is_refused_leaves_nothing(tmp_path: Path) -> None:
    folder = built(tmp_path / "c", [*ODD, BREAKS], HashEncoder(16))
    with pytest.raises(UsageError, match=r"tab or a line break.*\.csv"):
        export_collection(folder, tmp_path / "o.tsv", vectors=tmp_path / "v.npy")
    with pytest.raises(UsageError, match="not known by its name"):
        export_collection(folder, tmp_path / "o.xlsx")
    with pytest.raises(UsageError, match="not known by its name"):
        export_collection(folder, tmp_path / "o.csv", vectors=tmp_path / "v.bin")
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        export_collection(folder, tmp_path / "there.csv")
    with pytest.raises(CollectionError, match="no collection"):
        export_collection(tmp_path / "none", tmp_path / "o.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"c", "there.csv"}
    tabs = built(tmp_path / "t", [Record(id="a", text="b", metadata={"x\ty": 1})], HashEncoder(8))
    with pytest.raises(UsageError, match="tab"):
        export_collection(tabs, tmp_path / "o.tsv")
    assert {path.name for path in tmp_path.iterdir()} == {"c", "t", "there.csv"}


def test_an_empty_collection_is_exported_as_a_header(tmp_path: Path) -> None:
    with Collection.build(tmp_path / "c", names(1), encoder=HashEncoder(8)) as collection:
        collection.delete(["r00000"])
    report = export_collection(tmp_path / "c", tmp_path / "o.csv", vectors=tmp_path / "v.npy")
    assert report.records == 0
    assert (tmp_path / "o.csv").read_text() == "id,text\n"
    assert np.load(tmp_path / "v.npy").shape == (0, 8)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_disk_that_is_full(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built(tmp_path / "c", names(9), HashEncoder(8))

    def full(self: NpyWriter, ids: object, vectors: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(self.output))

    monkeypatch.setattr(NpyWriter, "append", full)
    with pytest.raises(CollectionError, match="No space left"):
        export_collection(folder, tmp_path / f"o.{ending}", vectors=tmp_path / "v.npy")
    assert {path.name for path in tmp_path.iterdir()} == {"c"}
    (tmp_path / "file").write_text("x")
    with pytest.raises(CollectionError, match="cannot be written"):
        export_collection(folder, tmp_path / "file" / f"o.{ending}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.parquet"])
@pytest.mark.parametrize("full", ["table", "v.npy", "v.npy.ids.txt"])
@pytest.mark.parametrize("count", [3, 3000])
def test_a_disk_full_at_the_end_leaves_nothing(
    tmp_path: Path, name: str, full: str, count: int
) -> None:
    """A few rows are met by the disk only when the file is closed."""
    items = [Record(id=str(i), text=f"text {i}") for i in range(count)]
    folder = built(tmp_path / "c", items, HashEncoder(8))
    place = tmp_path / "out"
    place.mkdir()
    (place / f"{name if full == 'table' else full}.part").symlink_to("/dev/full")
    with pytest.raises(CollectionError, match="No space left"):
        export_collection(folder, place / name, vectors=place / "v.npy")
    assert list(place.iterdir()) == []
