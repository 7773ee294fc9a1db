from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError, UsageError
from mirror_index.readers import FORMATS, detect_format, read
from mirror_index.records import Record


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt", "txt"),
        ("a.TXT", "txt"),
        ("a.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.tab", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.GZ", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.sqlite", "sqlite"),
        ("a.sqlite3", "sqlite"),
        ("a.db", "sqlite"),
        ("hp.obo", "obo"),
        ("hp.obo.gz", "obo"),
        ("hp.owl", "owl"),
        ("hp.owl.gz", "owl"),
        ("a.ttl", "rdf"),
        ("a.rdf", "rdf"),
        ("a.nt", "rdf"),
        ("a.skos", "skos"),
        ("hp.json", "obograph"),
        ("MRCONSO.RRF", "rrf"),
        ("MRCONSO.RRF.gz", "rrf"),
        ("-", "txt"),
    ],
)
def test_format_by_name(name: str, expected: str) -> None:
    assert detect_format(name) == expected
    assert detect_format(Path(name)) == expected


def test_the_option_wins_over_the_name() -> None:
    assert detect_format("a.csv", ReadOptions(format="tsv")) == "tsv"
    assert detect_format("-", ReadOptions(format="jsonl")) == "jsonl"


def test_unknown_formats_list_the_known_ones() -> None:
    for name in ("a.xlsx", "names", "a.gz"):
        with pytest.raises(SourceError, match="format") as caught:
            detect_format(name)
        for known in FORMATS:
            assert known in str(caught.value)
    with pytest.raises(UsageError, match=r"xlsx.*parquet"):
        detect_format("a.csv", ReadOptions(format="xlsx"))


def test_compressed_binary_formats_are_refused() -> None:
    with pytest.raises(SourceError, match="Decompress"):
        detect_format("a.parquet.gz")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read(tmp_path / "absent.txt")
    with pytest.raises(SourceError, match="folder"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("a.txt", ReadOptions(text_column="name"), "text_column"),
        ("a.obo", ReadOptions(id_column="id"), "id_column"),
        ("a.csv", ReadOptions(sql="SELECT 1"), "sql"),
        ("a.parquet", ReadOptions(encoding="latin-1"), "encoding"),
        ("a.tsv", ReadOptions(quoting=False), "quoting"),
        ("a.txt", ReadOptions(quoting=False), "quoting"),
        ("a.obo", ReadOptions(languages=("en",)), "languages"),
        ("a.tsv", ReadOptions(languages=("en",)), "languages"),
        ("a.owl", ReadOptions(vocabularies=("MSH",)), "vocabularies"),
        ("a.owl", ReadOptions(encoding="latin-1"), "encoding"),
    ],
)
def test_options_without_meaning_are_refused(
    tmp_path: Path, name: str, options: ReadOptions, option: str
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=option):
        read(tmp_path / name, options)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.obo", "a.parquet", "a.db"])
def test_an_empty_file_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(SourceError, match="empty"):
        list(read(tmp_path / name))


@pytest.mark.parametrize("name", ["a.parquet", "a.db"])
def test_binary_formats_need_a_file(name: str) -> None:
    with pytest.raises(SourceError, match="standard input"):
        list(read("-", ReadOptions(format=detect_format(name), sql=None)))


def test_reading_is_lazy_and_closes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    items = read(path)
    path.write_text("three\nfour\n")  # before the first item: the file is opened only then
    first = next(items)
    assert isinstance(first, Record)
    assert first.text == "three"
    items.close()  # type: ignore[attr-defined]
    with pytest.raises(
        StopIteration
    ):  # an open file left behind would be a ResourceWarning, i.e. an error
        next(items)


def test_import_is_light() -> None:
    heavy = "pyarrow fastobo torch transformers sqlite_utils faiss click numpy"
    code = (
        "import sys, mirror_index.readers; "
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
