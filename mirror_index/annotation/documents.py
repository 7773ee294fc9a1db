"""Running texts to annotate: files, folders, JSON lines, a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mirror_index.errors import SourceError
from mirror_index.records import Rejected

TEXT_SUFFIXES = (".txt", ".text", ".md")
LINE_SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text with an id.

    The text is that of the file to the last code point: line ends and a byte order mark stay, so
    that offsets count what the file holds.
    """

    id: str
    text: str


def read_documents(source: str | Path | BinaryIO) -> Iterator[Document | Rejected]:
    """Yield the documents of a file, a folder or an open binary stream, in order.

    * a ``.jsonl`` file has one object a line, with `text` and, if it likes, `id` (a string or an
      integer; else the file's name and the line, ``notes.jsonl:3``);
    * any other file, or a stream, is one document, with its file name as the id;
    * a folder has the ``.txt``, ``.text``, ``.md`` and ``.jsonl`` files in it, by name; its other
      files and its folders are yielded as skipped, unless they are hidden.

    What cannot be read (no UTF-8, no JSON object, no text) is yielded as rejected, with its place.

    Raises:
        SourceError: there is no such file, or a folder without documents.
    """
    if not isinstance(source, str | Path):
        yield from _whole("stdin", source.read())
        return
    path = Path(source)
    if not path.is_dir():
        yield from _of_file(path)
        return
    entries = sorted(path.iterdir())
    if not any(map(_is_document, entries)):
        raise SourceError(
            "the folder holds no documents",
            value=str(path),
            remedy=f"Documents end with {', '.join(TEXT_SUFFIXES + LINE_SUFFIXES)}",
        )
    for one in entries:
        if _is_document(one):
            yield from _of_file(one)
        elif not one.name.startswith("."):
            reason = "a folder in a folder" if one.is_dir() else "no document by its name"
            yield Rejected(line=1, reason=reason, source=str(one), skipped=True)


def _is_document(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in TEXT_SUFFIXES + LINE_SUFFIXES


def _of_file(path: Path) -> Iterator[Document | Rejected]:
    try:
        with path.open("rb") as stream:
            if path.suffix.lower() in LINE_SUFFIXES:
                yield from _lines(path.name, stream)
            else:
                yield from _whole(path.name, stream.read())
    except OSError as error:
        raise SourceError(
            "cannot read the document", value=str(path), where=error.strerror
        ) from error


def _whole(name: str, content: bytes) -> Iterator[Document | Rejected]:
    try:
        yield Document(id=name, text=content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield Rejected(line=line, reason=f"byte {error.start} is not UTF-8", source=name)


def _lines(name: str, lines: Iterable[bytes]) -> Iterator[Document | Rejected]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as error:
            yield Rejected(line=number, reason=f"no JSON: {error}", source=name)
            continue
        reason = _flaw(value)
        if reason is None:
            yield Document(id=str(value.get("id", f"{name}:{number}")), text=value["text"])
        else:
            yield Rejected(line=number, reason=reason, source=name)


def _flaw(value: Any) -> str | None:  # noqa: ANN401 - anything that JSON can hold
    if not isinstance(value, dict):
        return "the line is no JSON object"
    if not isinstance(value.get("text"), str):
        return "the object has no text"
    for field in ("text", "id"):
        if any("\ud800" <= char <= "\udfff" for char in str(value.get(field))):
            return f"the {field} holds half of a surrogate pair"
    if "id" in value and (isinstance(value["id"], bool) or not isinstance(value["id"], str | int)):
        return "the id is neither a string nor a whole number"
    return None
