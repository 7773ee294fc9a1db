"""The UMLS in Rich Release Format: MRCONSO.RRF, with the semantic types of MRSTY.RRF beside it.

Columns and codes are those of the UMLS Reference Manual, chapter 3 (NLM). Nothing is quoted: a
quote is a character like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.readers.cells import rejected, text_flaw
from mirror_index.readers.languages import Languages, language_tag
from mirror_index.readers.rrf_files import (
    SemanticTypes,
    beside,
    check_order,
    check_rows,
    width_problem,
)
from mirror_index.readers.source import Line, empty_source, source_name, text_lines
from mirror_index.records import Concept, Name, Rejected, Scope, SourceItem

_CONSO_FIELDS = 18
# Rows without any of the right width before the file is taken for something else.
_PATIENCE = 100
_CUI, _LAT, _TS, _STT, _ISPREF, _SAB, _TTY, _CODE, _STR, _SUPPRESS = (
    0,
    1,
    2,
    4,
    6,
    11,
    12,
    13,
    14,
    16,
)
_PREFERRED_TYPES = frozenset(("PN", "PT", "MH", "PF", "HT", "NM"))
_Rank = tuple[int, bool, bool, int]


@dataclass(slots=True)
class _Group:
    """The rows of one concept that are taken."""

    cui: str
    line: int
    names: list[Name] = field(default_factory=list)
    xrefs: dict[str, None] = field(default_factory=dict)
    best: _Rank | None = None
    label: int = 0

    def add(self, name: Name, rank: _Rank, xref: str | None) -> None:
        """Take a name; the one with the lowest rank becomes the label."""
        if self.best is None or rank < self.best:
            self.best, self.label = rank, len(self.names)
        self.names.append(name)
        if xref is not None:
            self.xrefs[xref] = None

    def concept(self, types: tuple[str, ...]) -> Concept:
        """Return the concept; there must be a name."""
        label = self.names[self.label]
        return Concept(
            id=self.cui,
            label=label.text,
            names=tuple(name for n, name in enumerate(self.names) if n != self.label),
            xrefs=tuple(self.xrefs),
            semantic_types=types,
            line=self.line,
            language=label.language,
        )


@dataclass(slots=True)
class _Counts:
    """What was read and what was left out, and why."""

    rows: int = 0
    good: int = 0
    suppressed: Counter[str] = field(default_factory=Counter)
    vocabularies: Counter[str] = field(default_factory=Counter)
    chosen: int = 0
    nameless: int = 0

    def remarks(self) -> Iterator[Rejected]:
        """Yield what was left out, a skipped row without a line for each reason."""
        for counts, why in (
            (self.suppressed, "are suppressed"),
            (self.vocabularies, "are of vocabularies that were not chosen"),
        ):
            if counts:
                shown = ", ".join(f"{name} {count}" for name, count in counts.most_common(20))
                yield _remark(f"{counts.total()} rows {why} and were left out ({shown})")
        if self.nameless:
            yield _remark(f"{self.nameless} concepts have no row that was taken")


def _remark(reason: str) -> Rejected:
    return Rejected(line=0, reason=reason, skipped=True)


def read_rrf(source: str | Path, options: ReadOptions) -> Iterator[SourceItem]:
    """Yield a concept per CUI of MRCONSO.RRF, one in memory at a time.

    The label is the preferred atom (TS ``P``, STT ``PF``, ISPREF ``Y``) of the language that fits
    best, else the most preferred one that is left; every other string is an exact synonym whose
    type is its TTY. Suppressed rows, and those of other languages and vocabularies than the chosen
    ones, are counted and summed up at the end. Source codes become cross-references such as
    ``MSH:D009203``. MRSTY.RRF, when it lies beside the file, gives semantic types; MRFILES.RRF
    gives the number of rows that there must be. Rows of another width are rejected.

    Raises:
        SourceError: the source cannot be read, is not MRCONSO.RRF, is not sorted by CUI (the line
            is named), has another number of rows than MRFILES.RRF says, or has nothing in a chosen
            language or of a chosen vocabulary.
    """
    with ExitStack() as stack:
        lines = stack.enter_context(text_lines(source, options.encoding))
        reader = _Reader(
            source, options, SemanticTypes(beside(source, "STY"), options.encoding, stack)
        )
        for line in lines:
            yield from reader.take(line)
        yield from reader.finish()


class _Reader:
    """Takes the rows of MRCONSO.RRF one by one."""

    def __init__(self, source: str | Path, options: ReadOptions, types: SemanticTypes) -> None:
        self._source = source
        self._languages = Languages(options.languages)
        self._vocabularies = frozenset(name.upper() for name in options.vocabularies)
        self._types = types
        self._counts = _Counts()
        self._group: _Group | None = None

    def take(self, line: Line) -> Iterator[SourceItem]:
        """Take a row; yield the concept before it when it begins another, or why it is refused."""
        counts = self._counts
        counts.rows += 1
        fields = line.body.split("|")
        problem = width_problem(fields, _CONSO_FIELDS) or text_flaw(line.body)
        if problem is None and not (fields[_CUI].strip() and fields[_STR].strip()):
            problem = "CUI or STR is empty"
        if problem is not None:
            if counts.rows >= _PATIENCE:
                self._check_kind()
            yield rejected(line.number, problem, line.body)
            return
        counts.good += 1
        group = self._group
        if group is None or fields[_CUI] != group.cui:
            if group is not None:
                check_order(group.cui, fields[_CUI], line.number, self._source)
                yield from self._close(group)
            group = self._group = _Group(fields[_CUI], line.number)
        self._add(group, fields)

    def _add(self, group: _Group, fields: list[str]) -> None:
        if fields[_SUPPRESS] not in ("N", ""):
            self._counts.suppressed[fields[_SUPPRESS]] += 1
            return
        if self._vocabularies and fields[_SAB].upper() not in self._vocabularies:
            self._counts.vocabularies[fields[_SAB]] += 1
            return
        self._counts.chosen += 1
        language = language_tag(fields[_LAT]) or None
        if not self._languages.take(language):
            return
        preferred = fields[_TS] == "P" and fields[_STT] == "PF" and fields[_ISPREF] == "Y"
        rank = (
            self._languages.rank(language) or 0,
            not preferred,
            fields[_TTY] not in _PREFERRED_TYPES,
            (fields[_TS] != "P") + (fields[_STT] != "PF") + (fields[_ISPREF] != "Y"),
        )
        code = fields[_CODE]
        group.add(
            Name(
                text=fields[_STR],
                scope=Scope.EXACT,
                name_type=fields[_TTY] or None,
                language=language,
            ),
            rank,
            f"{fields[_SAB]}:{code}" if code not in ("", "NOCODE") else None,
        )

    def _close(self, group: _Group) -> Iterator[SourceItem]:
        types = self._types.of(group.cui)
        yield from self._types.remarks()
        if group.names:
            yield group.concept(types)
        else:
            self._counts.nameless += 1

    def finish(self) -> Iterator[SourceItem]:
        """Yield the last concept and what was left out.

        Raises:
            SourceError: see `read_rrf`.
        """
        if self._counts.rows == 0:
            raise empty_source(self._source)
        self._check_kind()
        if self._group is not None:
            yield from self._close(self._group)
        check_rows(self._source, self._counts.rows)
        self._check_vocabularies()
        yield from self._counts.remarks()
        left_out = self._languages.summary(self._source)
        if left_out is not None:
            yield left_out

    def _check_vocabularies(self) -> None:
        counts = self._counts
        if counts.vocabularies and not counts.chosen:
            there = ", ".join(f"{name} {n}" for name, n in counts.vocabularies.most_common(20))
            raise SourceError(
                "no row is of a chosen vocabulary",
                value=sorted(self._vocabularies),
                where=source_name(self._source),
                remedy=f"The vocabularies there are: {there}",
            )

    def _check_kind(self) -> None:
        if self._counts.good == 0:
            raise SourceError(
                f"this is not MRCONSO.RRF: none of {self._counts.rows} rows has "
                f"{_CONSO_FIELDS} fields between vertical bars, and a CUI and a string in them",
                where=source_name(self._source),
                remedy="Name MRCONSO.RRF or the folder it is in",
            )
