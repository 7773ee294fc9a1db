"""Annotation formats, read back by strict readers written after their descriptions."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mirror_index.annotation import AnnotateOptions, Document, annotate_documents, read_documents
from mirror_index.errors import SourceError, UsageError
from mirror_index.records import Rejected
from tests.dictionaries import Build, concept

ITEMS = (
    concept("D:1", "Heart attack"),
    concept("D:2", "Seizure"),
    concept("plain", "Ménière disease"),
    concept("D:4", "tab\tlabel", "odd name"),
)
TEXTS = {
    "one": "Heart\r\nattack 😀 and seizure.\n\nodd name\there \u2028 seizure",
    "two": "Me\u0301nie\u0300re’s disease",
    "three": "nothing",
    "four": "",
    "five": "\ufeffseizure\x85heart\nattack",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_bytes(text.encode())
    (folder / "picture.png").write_bytes(b"\x89PNG\xff")
    return folder


def written(build: Build, source: object, output_format: str) -> str:
    stream = io.StringIO()
    annotate_documents(build(ITEMS), [source], stream, output_format=output_format)  # type: ignore[list-item]
    return stream.getvalue()


def test_json_lines(build: Build, notes: Path) -> None:
    lines = [json.loads(line) for line in written(build, notes, "jsonl").split("\n")[:-1]]
    assert [(line["document"], line["mention"]) for line in lines] == [
        ("five.txt", "seizure"),
        ("five.txt", "heart\nattack"),
        ("one.txt", "Heart\r\nattack"),
        ("one.txt", "seizure"),
        ("one.txt", "odd name"),
        ("one.txt", "seizure"),
        ("two.txt", "Me\u0301nie\u0300re’s disease"),
    ]
    for line in lines:
        text = TEXTS[line["document"].removesuffix(".txt")]
        assert text[line["start"] : line["end"]] == line["mention"]
        assert line["status"] == "linked"
        assert list(line) == [
            "document", "start", "end", "mention", "sentence", "status", "concept_id", "label",
            "others", "probability", "matched_name", "scope", "method",
        ]  # fmt: skip


def pubtator_documents(content: str) -> Iterable[tuple[str, str, list[list[str]]]]:
    """Read PubTator: title and abstract are joined by one character; a line a mention."""
    assert content.endswith("\n\n")
    for block in content[:-2].split("\n\n"):
        title, abstract, *rows = block.split("\n")
        identifier, kind, head = title.split("|", 2)
        assert kind == "t"
        again, kind, tail = abstract.split("|", 2)
        assert (again, kind) == (identifier, "a")
        cells = [row.split("\t") for row in rows]
        assert all(len(row) == 6 and row[0] == identifier for row in cells)
        assert len(f"{head} {tail}".splitlines()) <= 1
        yield identifier, f"{head} {tail}", cells


def test_pubtator(build: Build, notes: Path) -> None:
    documents = list(pubtator_documents(written(build, notes, "pubtator")))
    assert [identifier for identifier, *_ in documents] == [f"{name}.txt" for name in sorted(TEXTS)]
    count = 0
    for identifier, text, rows in documents:
        raw = TEXTS[identifier.removesuffix(".txt")]
        assert len(text) == len(raw) + ("\n" not in raw)
        for _, start, end, mention, kind, _ in rows:
            assert text[int(start) : int(end)] == mention
            assert kind == "Concept"
            count += 1
    assert count == 7


@pytest.mark.parametrize("identifier", ["a b", "a|b", "a\tb", ""])
def test_pubtator_refuses_ids_that_it_cannot_hold(
    build: Build, tmp_path: Path, identifier: str
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": identifier, "text": "seizure"}), encoding="utf-8")
    output = tmp_path / "out.txt"
    with pytest.raises(UsageError, match="PubTator cannot hold"):
        annotate_documents(build(ITEMS), [source], output, output_format="pubtator")
    assert list(tmp_path.glob("out*")) == []


def keys(value: dict[str, Any], *names: str) -> None:
    assert sorted(value) == sorted(names)


def test_bioc_json(build: Build, notes: Path) -> None:
    collection = json.loads(written(build, notes, "bioc"))
    keys(collection, "source", "date", "key", "infons", "documents")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", collection["date"])
    count = 0
    for document in collection["documents"]:
        keys(document, "id", "infons", "passages", "annotations", "relations")
        (passage,) = document["passages"]
        keys(passage, "offset", "infons", "text", "sentences", "annotations", "relations")
        assert passage["text"] == TEXTS[document["id"].removesuffix(".txt")]
        assert passage["offset"] == 0
        for annotation in passage["annotations"]:
            keys(annotation, "id", "infons", "text", "locations")
            (place,) = annotation["locations"]
            assert all(isinstance(value, str) for value in annotation["infons"].values())
            end = place["offset"] + place["length"]
            assert passage["text"][place["offset"] : end] == annotation["text"]
            count += 1
    assert count == 7
    assert len(collection["documents"]) == 5


def check_brat(lines: list[str], text: str) -> list[str]:
    """Check standoff lines as brat does, and return the concepts."""
    concepts = []
    known: set[str] = set()
    for line in lines:
        identifier, middle, last = line.split("\t")
        if identifier.startswith("T"):
            kind, _, spans = middle.partition(" ")
            assert kind == "Concept"
            places = [tuple(map(int, span.split(" "))) for span in spans.split(";")]
            parts = [text[start:end] for start, end in places]
            assert not any("\n" in part for part in parts)
            assert " ".join(parts) == last
            known.add(identifier)
        else:
            match = re.fullmatch(r"Reference (T\d+) ([^\s:]+:\S+)", middle)
            assert identifier.startswith("N")
            assert match is not None
            assert match.group(1) in known
            assert last
            concepts.append(match.group(2))
    return concepts


def test_brat(build: Build, notes: Path, tmp_path: Path) -> None:
    output = tmp_path / "brat"
    report = annotate_documents(build(ITEMS), [notes], output, output_format="brat")
    assert (report.documents, report.mentions) == (5, 7)
    assert sorted(path.name for path in output.iterdir()) == sorted(
        f"{name}.{end}" for name in TEXTS for end in ("ann", "txt")
    )
    concepts = []
    for name, text in TEXTS.items():
        assert (output / f"{name}.txt").read_bytes() == text.encode()
        lines = (output / f"{name}.ann").read_bytes().decode().split("\n")
        assert lines.pop() == ""
        concepts += check_brat(lines, text)
    assert sorted(concepts) == ["D:1", "D:1", "D:2", "D:2", "D:2", "D:4", "ID:plain"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".brat")]


def test_brat_leaves_what_lies_beside_alone(build: Build, notes: Path, tmp_path: Path) -> None:
    collection = build(ITEMS)
    beside = tmp_path / "new" / "brat.partial"
    beside.mkdir(parents=True)
    (beside / "mine.txt").write_text("mine")
    annotate_documents(collection, [notes], tmp_path / "new" / "brat", output_format="brat")
    (tmp_path / "odd.jsonl").write_text('{"id": "a/b", "text": "x"}\n')
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        annotate_documents(
            collection, [tmp_path / "odd.jsonl"], tmp_path / "new" / "other", output_format="brat"
        )
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["brat", "brat.partial"]
    assert (beside / "mine.txt").read_text() == "mine"


def test_one_brat_file_for_one_document(build: Build, notes: Path, tmp_path: Path) -> None:
    output = tmp_path / "one.ann"
    annotate_documents(build(ITEMS), [notes / "one.txt"], output, output_format="brat")
    assert check_brat(output.read_bytes().decode().split("\n")[:-1], TEXTS["one"])
    with pytest.raises(UsageError, match="a file for each document"):
        annotate_documents(build(ITEMS), [notes], tmp_path / "all.ann", output_format="brat")
    with pytest.raises(UsageError, match="a file for each document"):
        written(build, notes, "brat")
    assert [path.name for path in tmp_path.glob("*.ann")] == ["one.ann"]


@pytest.mark.parametrize("identifier", ["../x", "a/b", ".hidden", "a\0b", ".txt", ""])
def test_ids_that_are_no_file_names(build: Build, tmp_path: Path, identifier: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": identifier, "text": "seizure"}), encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        annotate_documents(build(ITEMS), [source], tmp_path / "out", output_format="brat")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def test_two_documents_of_one_file(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a", "text": "x"}\n{"id": "a.txt", "text": "y"}', encoding="utf-8")
    with pytest.raises(UsageError, match="two documents"):
        annotate_documents(build(ITEMS), [source], tmp_path / "out", output_format="brat")


@pytest.mark.parametrize("output_format", ["jsonl", "brat"])
def test_an_output_is_never_overwritten(build: Build, notes: Path, output_format: str) -> None:
    before = sorted(notes.iterdir())
    target = notes / "one.txt" if output_format == "jsonl" else notes
    with pytest.raises(UsageError, match="exists already"):
        annotate_documents(build(ITEMS), [notes], target, output_format=output_format)
    assert sorted(notes.iterdir()) == before
    assert (notes / "one.txt").read_bytes() == TEXTS["one"].encode()


def test_an_unknown_format(build: Build, notes: Path) -> None:
    with pytest.raises(UsageError, match="unknown format"):
        written(build, notes, "xml")


def test_documents_that_cannot_be_read_are_told(build: Build, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\nseizure \xff")
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(
        b'\xef\xbb\xbf{"text": "seizure", "more": 1}\n\n[1]\n{"id": 7, "text": "seizure"}\n'
        b'{"id": 7, "text": "again"}\n{"text": 5}\n{no}\n{"id": true, "text": ""}\n'
        b'{"text": "\\ud800"}\n\xff\n' + b"[" * 100_000 + b"\n"
        b'{"id": "a\\udc80", "text": "seizure"}\n'
    )
    stream = io.StringIO()
    report = annotate_documents(build(ITEMS), [bad, lines], stream)
    assert report.to_json()["methods"] == {"exact": 2}
    found = [json.loads(line)["document"] for line in stream.getvalue().splitlines()]
    assert found == ["lines.jsonl:1", "7"]
    assert (report.documents, report.rejected) == (2, 10)
    told = [(one.source, one.line, one.reason) for one in report.first_rejected]
    assert told[0] == ("bad.txt", 2, "byte 13 is not UTF-8")
    assert told[1] == ("lines.jsonl", 3, "the line is no JSON object")
    assert told[2][0::2] == ("7", "the id came before")
    assert told[3] == ("lines.jsonl", 6, "the object has no text")
    assert told[4][1] == 7
    assert told[5][2] == "the id is neither a string nor a whole number"
    assert told[6][2] == "the text holds half of a surrogate pair"
    assert told[9][2] == "the id holds half of a surrogate pair"


def test_what_is_passed_over_in_a_folder_is_counted(build: Build, notes: Path) -> None:
    (notes / "inner").mkdir()
    (notes / "inner" / "six.txt").write_text("seizure")
    (notes / ".hidden").write_text("seizure")
    report = annotate_documents(build(ITEMS), [notes], io.StringIO())
    assert (report.documents, report.rejected, report.passed_over) == (5, 0, 2)
    assert report.first_passed_over == str(notes / "inner")


def test_at_most_twenty_are_told(build: Build, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("[]\n" * 30, encoding="utf-8")
    report = annotate_documents(build(ITEMS), [source], io.StringIO(), options=AnnotateOptions())
    assert (report.rejected, len(report.first_rejected)) == (30, 20)


def test_reading(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read"):
        list(read_documents(tmp_path / "none.txt"))
    with pytest.raises(SourceError, match="no documents"):
        list(read_documents(tmp_path))
    assert list(read_documents(io.BytesIO(b"a\r\nb"))) == [Document(id="stdin", text="a\r\nb")]
    assert list(read_documents(io.BytesIO(b""))) == [Document(id="stdin", text="")]
    (only,) = read_documents(io.BytesIO(b"\n\n\xff"))
    assert isinstance(only, Rejected)
    assert only.line == 3
