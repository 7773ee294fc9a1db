"""Annotated documents as JSON lines, PubTator, BioC JSON and brat standoff."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from mirror_index.annotation.annotator import Annotation
from mirror_index.annotation.documents import Document
from mirror_index.errors import UsageError

TYPE = "Concept"
"""The type of every annotation in the formats that need one."""

_LINE_BREAKS = re.compile("[\r\n\v\f\x1c-\x1e\x85\u2028\u2029\t]")
_LINES = re.compile(r"[^\r\n]+")
_BAD_ID = re.compile(r"[\s|]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedDocument:
    """A document and the mentions in it, in order."""

    document: Document
    annotations: Sequence[Annotation]


Writer = Callable[[Iterable[AnnotatedDocument]], Iterator[str]]


def json_lines(documents: Iterable[AnnotatedDocument]) -> Iterator[str]:
    """Yield one JSON object a line for every mention, with the id of its document first."""
    for one in documents:
        for annotation in one.annotations:
            yield _dump({"document": one.document.id, **asdict(annotation)}) + "\n"


def pubtator(documents: Iterable[AnnotatedDocument]) -> Iterator[str]:
    """Yield PubTator: ``id|t|title``, ``id|a|abstract``, a line a mention, an empty line.

    The first line of a text is its title. The format has no line breaks and no tabs inside the
    texts: each becomes a space, so that all offsets stay what they are.

    Raises:
        UsageError: an id with white space or a ``|``, which the format cannot hold.
    """
    for one in documents:
        identifier = one.document.id
        if _BAD_ID.search(identifier) or not identifier:
            raise UsageError(
                "PubTator cannot hold an id with white space or |",
                value=identifier,
                remedy="Give other ids, or use another format",
            )
        title, _, abstract = one.document.text.partition("\n")
        yield f"{identifier}|t|{_flat(title)}\n{identifier}|a|{_flat(abstract)}\n"
        for a in one.annotations:
            cells = (identifier, a.start, a.end, _flat(a.mention), TYPE, a.concept_id)
            yield "\t".join(map(str, cells)) + "\n"
        yield "\n"


def bioc_json(documents: Iterable[AnnotatedDocument]) -> Iterator[str]:
    """Yield one BioC collection as JSON, a passage a document; offsets count code points."""
    head = {"source": "mirror-index", "date": date.today().isoformat(), "key": "", "infons": {}}
    yield _dump(head)[:-1] + ', "documents": ['
    for number, one in enumerate(documents):
        passage = {
            "offset": 0,
            "infons": {},
            "text": one.document.text,
            "sentences": [],
            "annotations": [_bioc(at, a) for at, a in enumerate(one.annotations, start=1)],
            "relations": [],
        }
        document = {
            "id": one.document.id,
            "infons": {},
            "passages": [passage],
            "annotations": [],
            "relations": [],
        }
        yield (",\n" if number else "\n") + _dump(document)
    yield "\n]}\n"


def _bioc(number: int, annotation: Annotation) -> dict[str, Any]:
    length = annotation.end - annotation.start
    return {
        "id": f"T{number}",
        "infons": {
            "type": TYPE,
            "identifier": annotation.concept_id,
            "name": annotation.label,
            "probability": f"{annotation.probability:.4f}",
            "method": annotation.method,
        },
        "text": annotation.mention,
        "locations": [{"offset": annotation.start, "length": length}],
    }


def brat(annotations: Iterable[Annotation]) -> Iterator[str]:
    """Yield the lines of a brat standoff file (.ann) for one document.

    A ``T`` line for the mention, an ``N`` line for its concept. A mention across a line break has
    two spans, as brat wants it.
    """
    for number, one in enumerate(annotations, start=1):
        parts = [
            (one.start + match.start(), one.start + match.end(), match.group())
            for match in _LINES.finditer(one.mention)
        ]
        spans = ";".join(f"{start} {end}" for start, end, _ in parts)
        shown = " ".join(text.replace("\t", " ") for *_, text in parts)
        yield f"T{number}\t{TYPE} {spans}\t{shown}\n"
        reference = one.concept_id if ":" in one.concept_id else f"ID:{one.concept_id}"
        yield f"N{number}\tReference T{number} {_flat(reference)}\t{_flat(one.label)}\n"


WRITERS: dict[str, Writer] = {"jsonl": json_lines, "pubtator": pubtator, "bioc": bioc_json}
"""Formats that hold many documents; brat has a file for each."""


def _flat(text: str) -> str:
    return _LINE_BREAKS.sub(" ", text)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
