"""SSSOM/TSV mappings as more names for the concepts of a dictionary.

The Simple Standard for Sharing Ontological Mappings, https://mapping-commons.github.io/sssom/.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mirror_index.config import ReadOptions
from mirror_index.errors import SourceError
from mirror_index.names import name_key
from mirror_index.readers.cells import rejected, text_flaw
from mirror_index.readers.curies import curie
from mirror_index.readers.fields import RawRow, split_quoted
from mirror_index.readers.source import Line, check_source, empty_source, source_name, text_lines
from mirror_index.records import Concept, Name, Record, Rejected, Scope, SourceItem, normalise_text

_EXACT = (Scope.EXACT, Scope.EXACT)
_RELATED = (Scope.RELATED, Scope.RELATED)
# What the object's label is to the subject, and the subject's to the object.
_SCOPES: dict[str, tuple[Scope, Scope]] = {
    "skos:exactmatch": _EXACT,
    "owl:equivalentclass": _EXACT,
    "owl:equivalentproperty": _EXACT,
    "owl:sameas": _EXACT,
    "semapv:crossspeciesexactmatch": _RELATED,
    "skos:closematch": _RELATED,
    "skos:relatedmatch": _RELATED,
    "oboinowl:hasdbxref": _RELATED,
    "skos:narrowmatch": (Scope.NARROW, Scope.BROAD),
    "skos:broadmatch": (Scope.BROAD, Scope.NARROW),
    "rdfs:subclassof": (Scope.BROAD, Scope.NARROW),
    "oboinowl:hasexactsynonym": _EXACT,
    "oboinowl:hasnarrowsynonym": (Scope.NARROW, Scope.BROAD),
    "oboinowl:hasbroadsynonym": (Scope.BROAD, Scope.NARROW),
    "oboinowl:hasrelatedsynonym": _RELATED,
    "oio:hasdbxref": _RELATED,
}
_NEEDED = ("predicate_id", "object_id")
_NOTHING = "sssom:notermfound"
_DECLARED = re.compile(r"""\s+["']?([^\s"':]+)["']?:\s+["']?([^\s"']+)["']?\s*""")


@dataclass(slots=True)
class _Mapped:
    """The names that mappings give to one concept id."""

    names: list[Name] = field(default_factory=list)
    used: bool = False


class Synonyms:
    """The names of a mapping set by concept id, all in memory.

    A mapping gives the object's label to the subject and the subject's to the object: as an exact
    synonym for `skos:exactMatch`, `owl:equivalentClass` and `owl:sameAs`, as a narrow or broad one
    for `skos:narrowMatch` and `skos:broadMatch`, as a related one for `skos:closeMatch`,
    `skos:relatedMatch` and `oboInOwl:hasDbXref`. A literal mapping (a mention without an id, as
    linking writes them) gives its subject's label to the object. A name whose key the concept has
    already (`names.name_key`: case, punctuation) adds nothing. Mappings with other predicates,
    negated ones (`predicate_modifier` ``Not``) and those to `sssom:NoTermFound` are counted and
    give nothing. Ids compare as CURIEs, the prefix without regard to case; what the table declares
    in `curie_map` makes them of IRIs, here and in the dictionary.

    Args:
        path: the table, with or without its comment of metadata; may be packed with gzip.

    Raises:
        SourceError: it cannot be read, is empty, or lacks a column.
    """

    def __init__(self, path: str | Path) -> None:
        check_source(path)
        self._source = path
        self._by_id: dict[str, _Mapped] = {}
        self._left_out: Counter[str] = Counter()
        self._rejected: list[Rejected] = []
        self._unlabelled = 0
        self._prefixes: dict[str, str] = {}
        with text_lines(path, "utf-8") as lines:
            rows = split_quoted(self._without_metadata(lines), "\t")
            columns = self._columns(next(rows, None))
            for row in rows:
                self._take(row, columns)

    def _without_metadata(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Yield the lines of the table, and note the prefixes that the comments declare."""
        outer: int | None = None  # how far `curie_map` is indented, while its lines come
        for line in lines:
            if not line.text.startswith("#"):
                yield line
                continue
            text = line.body[1:]
            indent = len(text) - len(text.lstrip())
            declared = _DECLARED.fullmatch(text)
            if text.strip() == "curie_map:":
                outer = indent
            elif outer is None or declared is None or indent <= outer:
                outer = None
            else:
                self._prefixes[declared[1]] = declared[2]

    def _key(self, concept_id: str) -> str:
        """Return what the ids of one concept have in common."""
        prefix, colon, local = concept_id.partition(":")
        if colon and prefix in self._prefixes:
            concept_id = self._prefixes[prefix] + local
        prefix, colon, local = curie(concept_id, self._prefixes).partition(":")
        return f"{prefix.casefold()}{colon}{local}"

    def _columns(self, header: RawRow | None) -> tuple[str, ...]:
        if header is None:
            raise empty_source(self._source)
        columns = tuple(name.strip() for name in header.fields)
        missing = [name for name in _NEEDED if name not in columns]
        if missing or not {"subject_label", "object_label"} & set(columns):
            raise SourceError(
                f"this is no SSSOM table: there is no column {(*missing, 'subject_label')[0]}",
                where=f"{source_name(self._source)}, line {header.line}",
                remedy="The columns subject_id, subject_label, predicate_id, object_id and "
                "object_label are read",
            )
        return columns

    def _take(self, row: RawRow, columns: tuple[str, ...]) -> None:
        problem = row.problem or text_flaw(row.content)
        if problem is None and not row.content.strip():
            return
        if problem is None and len(row.fields) != len(columns):
            problem = f"the row has {len(row.fields)} fields, the header has {len(columns)}"
        if problem is not None:
            where = f"{Path(self._source).name}: {problem}"
            self._rejected.append(rejected(row.line, where, row.content))
            return
        self._map({name: cell.strip() for name, cell in zip(columns, row.fields, strict=True)})

    def _map(self, row: Mapping[str, str]) -> None:
        predicate = row["predicate_id"]
        scopes = _SCOPES.get(predicate.lower())
        if row.get("predicate_modifier", "").lower() == "not":
            self._left_out[f"not {predicate}"] += 1
        elif scopes is None:
            self._left_out[predicate or "no predicate"] += 1
        elif _NOTHING in (row["object_id"].lower(), row.get("subject_id", "").lower()):
            self._left_out["sssom:NoTermFound"] += 1
        else:
            labels = (row.get("object_label", ""), row.get("subject_label", ""))
            ids = (row.get("subject_id", ""), row["object_id"])
            given = [self._name(*one) for one in zip(ids, labels, scopes, strict=True)]
            self._unlabelled += not any(given)

    def _name(self, concept_id: str, label: str, scope: Scope) -> bool:
        if not concept_id or not label:
            return False
        mapped = self._by_id.setdefault(self._key(concept_id), _Mapped())
        mapped.names.append(Name(text=label, scope=scope, name_type="mapping"))
        return True

    def added_to(self, items: Iterable[SourceItem]) -> Iterator[SourceItem]:
        """Yield the items of a dictionary with the names of the mappings added.

        Concepts get them as names of their own; for a table of names, whose rows come one by one,
        the names a concept has not had follow at the end. What was left out of the mappings is
        summed up in skipped rows without a line.
        """
        yield from self._rejected
        rows: dict[str, _Rows] = {}
        for item in items:
            if isinstance(item, Concept):
                yield self._extended(item)
                continue
            if isinstance(item, Record) and item.concept_id is not None:
                mapped = self._by_id.get(self._key(item.concept_id))
                if mapped is not None:
                    mapped.used = True
                    seen = rows.setdefault(item.concept_id, _Rows(mapped.names))
                    seen.had.add(_same(item.text))
                    seen.ids.add(item.id)
            yield item
        for concept_id, seen in rows.items():
            yield from seen.further(concept_id)
        yield from self._remarks()

    def _extended(self, concept: Concept) -> Concept:
        names: list[Name] = []
        for one in (concept.id, *concept.alt_ids):
            mapped = self._by_id.get(self._key(one))
            if mapped is not None:
                mapped.used = True
                names += mapped.names
        if not names or concept.obsolete:
            return concept
        had = {_same(text) for text in (concept.label, *(name.text for name in concept.names))}
        return replace(concept, names=(*concept.names, *_new(names, had)))

    def _remarks(self) -> Iterator[Rejected]:
        name = Path(self._source).name
        if self._left_out:
            shown = ", ".join(f"{what} {count}" for what, count in self._left_out.most_common(20))
            total = self._left_out.total()
            yield _remark(f"{name}: {total} mappings are no synonyms and were left out ({shown})")
        if self._unlabelled:
            yield _remark(f"{name}: {self._unlabelled} mappings have no label to take")
        # Of most mappings only one side is in the dictionary; an id counts when it has a label.
        unused = sum(not mapped.used for mapped in self._by_id.values())
        if unused:
            yield _remark(f"{name}: {unused} of {len(self._by_id)} ids are not in the dictionary")


@dataclass(slots=True)
class _Rows:
    """The rows a table has had for a concept that is mapped, and the names that mappings give."""

    names: list[Name]
    had: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)

    def further(self, concept_id: str) -> Iterator[Record]:
        """Yield the names that the table does not have, the best scope of each."""
        for name in _new(self.names, self.had):
            record_id = f"{concept_id}#{normalise_text(name.text)}"
            if record_id not in self.ids:
                yield Record(
                    id=record_id,
                    text=name.text,
                    concept_id=concept_id,
                    scope=name.scope,
                    name_type=name.name_type,
                )


def with_synonyms(items: Iterator[SourceItem], options: ReadOptions) -> Iterator[SourceItem]:
    """Return the items of a source with the names of `options.synonyms` added, if there are any.

    Raises:
        SourceError: see `Synonyms`.
    """
    if options.synonyms is None:
        return items
    return Synonyms(options.synonyms).added_to(items)


def _new(names: Iterable[Name], had: set[str]) -> Iterator[Name]:
    """Yield the names that differ in more than spelling from those there are, the best first."""
    for name in sorted(names, key=lambda one: one.scope.rank):
        same = _same(name.text)
        if same not in had:
            had.add(same)
            yield name


def _same(text: str) -> str:
    return name_key(text) or normalise_text(text)


def _remark(reason: str) -> Rejected:
    return Rejected(line=0, reason=reason, skipped=True)
