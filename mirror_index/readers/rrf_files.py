"""What lies beside MRCONSO.RRF in a release of the UMLS: semantic types, numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from mirror_index.errors import SourceError
from mirror_index.readers.cells import rejected, text_flaw
from mirror_index.readers.source import STDIN, Line, source_name, text_lines
from mirror_index.records import Rejected

_STY_FIELDS = 6


class SemanticTypes:
    """The semantic types of MRSTY.RRF, read in step with the concepts."""

    def __init__(self, path: Path | None, encoding: str, stack: ExitStack) -> None:
        self._path = path
        self._rows: Iterator[Line] = iter(())
        if path is not None:
            self._rows = stack.enter_context(text_lines(path, encoding))
        self._next: list[str] | None = None
        self._last = ""
        self._problems: list[Rejected] = []
        self._advance()

    def of(self, cui: str) -> tuple[str, ...]:
        """Return the types of a concept; the ones asked for must rise."""
        found: dict[str, None] = {}
        while self._next is not None and self._next[0] <= cui:
            if self._next[0] == cui:
                found[self._next[3]] = None
            self._advance()
        return tuple(found)

    def remarks(self) -> Iterator[Rejected]:
        """Yield the rows that could not be read since the last call."""
        yield from self._problems
        self._problems.clear()

    def _advance(self) -> None:
        for line in self._rows:
            fields = line.body.split("|")
            problem = width_problem(fields, _STY_FIELDS) or text_flaw(line.body)
            if problem is not None:
                name = "" if self._path is None else self._path.name
                self._problems.append(rejected(line.number, f"{name}: {problem}", line.body))
                continue
            check_order(self._last, fields[0], line.number, self._path or "")
            self._last = fields[0]
            self._next = fields
            return
        self._next = None


def width_problem(fields: list[str], wanted: int) -> str | None:
    """Return what is wrong with the number of fields of a row, None if nothing is."""
    # Every row ends in a vertical bar, which makes one more, empty field.
    width = len(fields) - (fields[-1] == "")
    if width == wanted or (len(fields) == wanted and fields[-1] == ""):
        return None
    return f"the row has {width} fields, not {wanted}"


def check_order(before: str, cui: str, line: int, source: str | Path) -> None:
    """Check that a concept comes after the one before it.

    Raises:
        SourceError: it does not; with the line.
    """
    if cui < before:
        raise SourceError(
            f"the rows are not sorted by CUI: {cui} comes after {before}",
            where=f"{source_name(source)}, line {line}",
            remedy="Sort them: LC_ALL=C sort -t'|' -k1,1 -s",
        )


def beside(source: str | Path, part: str) -> Path | None:
    """Return the file of another part of the release that lies beside MRCONSO.RRF, if any."""
    if str(source) == STDIN:
        return None
    path = Path(source)
    plain = path.name.removesuffix(".gz")
    if "CONSO" not in plain:
        return None
    for name in (plain.replace("CONSO", part), plain.replace("CONSO", part) + ".gz"):
        if path.with_name(name).is_file():
            return path.with_name(name)
    return None


def check_rows(source: str | Path, rows: int) -> None:
    """Compare the number of rows with the one in MRFILES.RRF, where that lies beside the file.

    Raises:
        SourceError: they differ.
    """
    index = beside(source, "FILES")
    if index is None:
        return
    name = Path(source).name.removesuffix(".gz")
    with text_lines(index, "utf-8") as lines:
        for line in lines:
            fields = line.body.split("|")
            if fields[0] == name and len(fields) > 4 and fields[4] != str(rows):
                raise SourceError(
                    f"the source has {rows} rows, and {index.name} says {fields[4]}",
                    where=source_name(source),
                    remedy="Check that it is complete, or take MRFILES.RRF away for a selection",
                )
