"""Annotating documents from files into files."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from mirror_index.annotation.annotator import AnnotateOptions, Annotator
from mirror_index.annotation.documents import Document, read_documents
from mirror_index.annotation.formats import WRITERS, AnnotatedDocument, brat
from mirror_index.errors import UsageError
from mirror_index.progress import SILENT, Reporter
from mirror_index.records import Rejected
from mirror_index.tables.sinks import complete_file

if TYPE_CHECKING:
    from mirror_index.collection import Collection

FORMATS = (*WRITERS, "brat")
_SHOWN = 20


@dataclass(kw_only=True)
class AnnotateReport:
    """What became of the documents.

    Attributes:
        documents: documents annotated.
        mentions: mentions found in them.
        methods: how many of these were found each way.
        rejected: documents that could not be read.
        first_rejected: the first 20 of these, with the place and the reason.
        passed_over: files of folders whose name is none of a document, and folders in them.
        first_passed_over: the first of these.
    """

    documents: int = 0
    mentions: int = 0
    methods: Counter[str] = field(default_factory=Counter)
    rejected: int = 0
    first_rejected: list[Rejected] = field(default_factory=list)
    passed_over: int = 0
    first_passed_over: str | None = None

    def take(self, item: AnnotatedDocument | Rejected) -> None:
        """Count a document, or what is none."""
        if isinstance(item, Rejected) and item.skipped:
            self.passed_over += 1
            self.first_passed_over = self.first_passed_over or item.source
        elif isinstance(item, Rejected):
            self.rejected += 1
            if len(self.first_rejected) < _SHOWN:
                self.first_rejected.append(item)
        else:
            self.documents += 1
            self.mentions += len(item.annotations)
            self.methods.update(one.method for one in item.annotations)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "documents": self.documents,
            "mentions": self.mentions,
            "methods": dict(self.methods),
            "rejected": self.rejected,
            "first_rejected": [asdict(one) for one in self.first_rejected],
            "passed_over": self.passed_over,
            "first_passed_over": self.first_passed_over,
        }


def annotate_documents(
    collection: Collection,
    sources: Sequence[str | Path | BinaryIO],
    output: str | Path | TextIO,
    *,
    output_format: str = "jsonl",
    options: AnnotateOptions = AnnotateOptions(),  # noqa: B008 (frozen)
    reporter: Reporter = SILENT,
) -> AnnotateReport:
    """Annotate documents and write the mentions; one document is held at a time.

    Args:
        collection: the dictionary.
        sources: files, folders and streams, as `read_documents` takes them.
        output: a new file, written beside and renamed when complete, or an open text stream. For
            several documents in brat's format a new folder, with the texts beside the annotations.
        output_format: one of `FORMATS`.
        options: what to annotate.
        reporter: receives progress.

    Raises:
        SourceError: a source that is not there.
        UsageError: an output that exists, an unknown format, an id the format cannot hold, or
            several documents for one brat file. Whatever is raised, no output is left.
    """
    if output_format not in FORMATS:
        raise UsageError(
            "unknown format", value=output_format, remedy=f"Use one of {', '.join(FORMATS)}"
        )
    report = AnnotateReport()
    annotator = Annotator(collection, options)
    with reporter.stage("annotating", unit="documents") as advance:

        def annotated() -> Iterator[AnnotatedDocument]:
            for item in _read(sources):
                if isinstance(item, Document):
                    found = annotator.annotate(item.text)
                    one = AnnotatedDocument(document=item, annotations=found)
                    report.take(one)
                    yield one
                else:
                    report.take(item)
                advance(1)

        if output_format == "brat":
            _write_brat(annotated(), output)
        else:
            _write(WRITERS[output_format](annotated()), output)
    return report


def _read(sources: Iterable[str | Path | BinaryIO]) -> Iterator[Document | Rejected]:
    seen: set[str] = set()
    for source in sources:
        for item in read_documents(source):
            if isinstance(item, Document) and item.id in seen:
                item = Rejected(line=1, reason="the id came before", source=item.id)
            elif isinstance(item, Document):
                seen.add(item.id)
            yield item


def _write(chunks: Iterable[str], output: str | Path | TextIO) -> None:
    if not isinstance(output, str | Path):
        output.writelines(chunks)
        return
    with complete_file(Path(output)) as partial, _opened(partial) as stream:
        stream.writelines(chunks)


def _opened(path: Path) -> TextIO:
    # Names of files, which are ids, may hold bytes that are no UTF-8.
    return path.open("w", encoding="utf-8", errors="surrogateescape", newline="")


def _write_brat(documents: Iterator[AnnotatedDocument], output: str | Path | TextIO) -> None:
    if isinstance(output, str | Path) and Path(output).suffix.lower() != ".ann":
        with _complete_folder(Path(output)) as folder:
            for one in documents:
                _write_pair(folder, one)
        return
    _write(_single(documents), output)


def _single(documents: Iterator[AnnotatedDocument]) -> Iterator[str]:
    first = next(documents, None)
    second = next(documents, None)
    if second is not None:
        raise UsageError(
            "brat has a file for each document",
            value=second.document.id,
            remedy="Give a folder with -o",
        )
    if first is not None:
        yield from brat(first.annotations)


def _write_pair(folder: Path, one: AnnotatedDocument) -> None:
    name = one.document.id.removesuffix(".txt")
    target = folder / f"{name}.ann"
    if not name or name.startswith(".") or target.parent != folder or "\0" in name:
        raise UsageError(
            "the id cannot be the name of a file",
            value=one.document.id,
            remedy="Give other ids, or use another format",
        )
    if target.exists():
        raise UsageError("two documents would have one file", value=target.name)
    with _opened(target) as stream:
        stream.writelines(brat(one.annotations))
    with _opened(folder / f"{name}.txt") as stream:
        stream.write(one.document.text)


@contextmanager
def _complete_folder(output: Path) -> Iterator[Path]:
    """Yield a folder to fill; it appears under its own name when the block has succeeded."""
    if output.exists() or output.is_symlink():
        raise UsageError(
            "the output exists already", value=str(output), remedy="Name a new folder, or remove it"
        )
    # Hidden, so that it is nobody's; what a killed run left there is in the way of none.
    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.replace(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
